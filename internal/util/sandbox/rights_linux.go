package sandbox

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
	"kernel.org/pub/linux/libs/security/libcap/psx"
)

// lastCapability is above every capability that a kernel knows; there are 41 in Linux 6.18, and
// room for 64.
const lastCapability = 63

// firstOpenPort is the first port that a process may listen on without a capability, unless the
// machine's administrator says otherwise.
const firstOpenPort = 1024

// kept are the capabilities that the process has left, as bits: none, except that a port below 1024
// of its profile takes one, and those over files of any owner where the profile says so. Landlock
// says which ports and which paths.
func (p Profile) kept() (keep uint64) {
	if slices.ContainsFunc(p.Bind, func(port int) bool { return port < firstOpenPort }) {
		keep = 1 << unix.CAP_NET_BIND_SERVICE
	}
	if p.AnyOwner {
		keep |= 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_DAC_READ_SEARCH | 1<<unix.CAP_FOWNER | 1<<unix.CAP_CHOWN
	}
	return keep
}

// dropCapabilities takes all capabilities but those to keep from this thread, and from every
// program that it becomes. As root that is what tells a process from the machine's administrator:
// it can no longer read other users' files, the packets of a network interface or the memory of
// other processes. An ordinary user's process has none.
func dropCapabilities(keep uint64) error {
	left, some, err := capabilities(keep)
	if err != nil || !some {
		return err
	}
	// Ambient ones would survive the start of a program. A kernel before 4.3 has none.
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil && !errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("clear the ambient capabilities: %w", err)
	}
	if err := dropBounding(keep); err != nil {
		return err
	}
	if err := unix.Capset(capabilityHeader(), &left[0]); err != nil {
		return fmt.Errorf("drop the capabilities: %w", err)
	}
	return nil
}

// dropCapabilitiesOfAll takes all capabilities from all threads of this process, which goes on. It
// becomes no program.
func dropCapabilitiesOfAll() error {
	none, some, err := capabilities(0)
	if err != nil || !some {
		return err
	}
	header := capabilityHeader()
	if _, _, errno := psx.Syscall3(unix.SYS_CAPSET, uintptr(unsafe.Pointer(header)), uintptr(unsafe.Pointer(&none[0])), 0); errno != 0 {
		return fmt.Errorf("drop the capabilities: %w", errno)
	}
	return nil
}

// capabilities are those that this thread has of the ones to keep; and whether it has any at all.
func capabilities(keep uint64) (left [2]unix.CapUserData, some bool, err error) {
	var have [2]unix.CapUserData
	if err := unix.Capget(capabilityHeader(), &have[0]); err != nil {
		return left, false, fmt.Errorf("read the capabilities: %w", err)
	}
	for i := range left {
		left[i].Permitted = have[i].Permitted & uint32(keep>>(32*i))
		left[i].Effective = left[i].Permitted
	}
	return left, have != [2]unix.CapUserData{}, nil
}

func capabilityHeader() *unix.CapUserHeader {
	return &unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
}

// dropBounding takes from what a program of root can have. It takes a capability itself, which a
// container may not have: then no_new_privs alone keeps a program from having more than its parent.
func dropBounding(keep uint64) error {
	for c := uintptr(0); c <= lastCapability; c++ {
		if keep&(1<<c) != 0 {
			continue
		}
		switch err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); {
		case errors.Is(err, unix.EINVAL), errors.Is(err, unix.EPERM): // the kernel does not know that one; there is no capability to drop it with
			return nil
		case err != nil:
			return fmt.Errorf("drop the capability %d from the bounding set: %w", c, err)
		}
	}
	return nil
}

// forbidNewRights rules out that a program gains rights when it starts, as set-user-ID programs do.
// filterCalls needs it.
func forbidNewRights() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("rule out programs that gain rights: %w", err)
	}
	return nil
}

// barred explains that root, once it has no capabilities, is refused what it owns neither.
func barred(path string, err error) error {
	if os.Geteuid() != 0 || !errors.Is(err, unix.EACCES) {
		return err
	}
	return fmt.Errorf("%w: in its sandbox a program has no capabilities, so root's too must be allowed to read it: check the owner and the mode of %s and of the directories above it, "+
		"or set AICR_ACTION_CACHE to a directory of root's", err, path)
}
