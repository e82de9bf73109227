package sandbox

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/nvidia/aicr-action/internal/testkit/workers"
)

// tryEnv makes the test binary try what a program in the sandbox might, with a Unix socket's path.
const tryEnv = "AICR_ACTION_SANDBOX_TEST_TRY"

func TestMain(m *testing.M) {
	workers.Serve(Hidden())
	if socket := os.Getenv(tryEnv); socket != "" {
		for _, line := range attempts(socket) {
			fmt.Println(line)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// attempts are what leads out of a sandbox, and what every program does.
func attempts(path string) []string {
	var said []string
	say := func(what string, err error) {
		answer := "allowed"
		if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPROTONOSUPPORT) {
			answer = "refused"
		}
		said = append(said, fmt.Sprintf("%s: %s (%v)", what, answer, err))
	}
	socket := func(what string, family, kind, protocol int) {
		fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, protocol)
		if err == nil {
			_ = unix.Close(fd)
		}
		say(what, err)
	}
	raw := func(what string, number uintptr, args ...uintptr) {
		args = append(args, make([]uintptr, 6)...)
		_, _, errno := unix.Syscall6(number, args[0], args[1], args[2], args[3], args[4], args[5])
		var err error
		if errno != 0 {
			err = errno
		}
		say(what, err)
	}
	socket("packets", unix.AF_PACKET, unix.SOCK_RAW, 0x0300)
	socket("packets of another kind", unix.AF_INET, unix.SOCK_PACKET, 0x0300)
	socket("raw", unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_TCP)
	socket("raw 6", unix.AF_INET6, unix.SOCK_RAW, unix.IPPROTO_TCP)
	socket("vsock", unix.AF_VSOCK, unix.SOCK_STREAM, 0)
	socket("alg", unix.AF_ALG, unix.SOCK_SEQPACKET, 0)
	socket("mptcp", unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP)
	socket("netlink audit", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT)
	_, err := net.Dial("unix", path)
	say("unix socket", err)
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	if err == nil {
		err = unix.Connect(pair[0], &unix.SockaddrUnix{Name: path + ".gram"})
	}
	say("unix datagram pair", err)
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err == nil {
		err = unix.Sendto(fd, []byte("x"), unix.MSG_FASTOPEN, &unix.SockaddrInet4{Port: 9, Addr: [4]byte{127, 0, 0, 1}})
	}
	say("fast open", err)
	// Of a process that does not exist: without the filter the answer is ESRCH, and no process is stopped.
	const absent = 1<<30 + 1
	raw("ptrace", unix.SYS_PTRACE, unix.PTRACE_ATTACH, absent)
	var b byte
	local := unix.Iovec{Base: &b, Len: 1}
	raw("read another process", unix.SYS_PROCESS_VM_READV, absent, uintptr(unsafe.Pointer(&local)), 1, uintptr(unsafe.Pointer(&local)), 1)
	raw("bpf", unix.SYS_BPF)
	raw("userfaultfd", unix.SYS_USERFAULTFD, 1)
	raw("io_uring", unix.SYS_IO_URING_SETUP, 1)
	raw("keys", unix.SYS_KEYCTL, 0, ^uintptr(2))
	raw("module", unix.SYS_INIT_MODULE)
	raw("kexec", unix.SYS_KEXEC_LOAD)
	raw("mount", unix.SYS_MOUNT)
	raw("mount, the new way", unix.SYS_FSOPEN)
	raw("namespace", unix.SYS_UNSHARE, unix.CLONE_NEWUSER)
	raw("namespace of another", unix.SYS_SETNS, ^uintptr(0))
	raw("clone3", unix.SYS_CLONE3)
	raw("clone with a namespace", unix.SYS_CLONE, unix.CLONE_NEWUSER|unix.CLONE_FS) // of which the kernel itself says that it is invalid
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		say("status", err)
	}
	for _, m := range regexp.MustCompile(`(?m)^((?:Cap\w+|NoNewPrivs|Seccomp):\s*\w+)`).FindAllString(string(status), -1) {
		said = append(said, strings.Join(strings.Fields(m), " "))
	}
	socket("tcp", unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_TCP)
	socket("tcp 6", unix.AF_INET6, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, 0)
	socket("udp", unix.AF_INET, unix.SOCK_DGRAM, 0)
	_, err = net.InterfaceAddrs()
	say("addresses", err)
	_, err = unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	say("pair", err)
	child := exec.Command(os.Args[0], "-test.run=^$")
	child.Env = []string{} // not this one again
	said = append(said, fmt.Sprintf("child: %v", child.Run()))
	return said
}

// tried is what a program in the sandbox says of its attempts.
func tried(t *testing.T, p Profile) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "aicr") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket := filepath.Join(dir, "socket")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	gram, err := net.ListenPacket("unixgram", socket+".gram")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = gram.Close() })
	cmd := exec.Command(self)
	cmd.Env = []string{tryEnv + "=" + socket}
	p.Execute = append(p.Execute, filepath.Dir(self))
	if err := Wrap(cmd, p); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// TestRights: a program in the sandbox has no capabilities, as root too, and none of the system
// calls that lead out of it; what programs live of it has.
func TestRights(t *testing.T) {
	t.Parallel()
	if !canFilter() {
		t.Fatal("this kernel has no filters of system calls; CONFIG_SECCOMP_FILTER is part of every distribution's")
	}
	said := tried(t, Profile{})
	for _, refused := range []string{
		"packets", "packets of another kind", "raw", "raw 6", "vsock", "alg", "mptcp", "netlink audit", "unix socket", "unix datagram pair", "fast open", "ptrace", "read another process", "bpf",
		"userfaultfd", "io_uring", "keys", "module", "kexec", "mount", "mount, the new way", "namespace", "namespace of another", "clone3", "clone with a namespace",
	} {
		if !strings.Contains(said, "\n"+refused+": refused") && !strings.HasPrefix(said, refused+": refused") {
			t.Errorf("%s is not refused", refused)
		}
	}
	for _, want := range []string{
		"tcp: allowed", "tcp 6: allowed", "udp: allowed", "addresses: allowed", "pair: allowed", "child: <nil>", "NoNewPrivs: 1", "Seccomp: 2",
		"CapInh: 0000000000000000", "CapPrm: 0000000000000000", "CapEff: 0000000000000000", "CapAmb: 0000000000000000",
	} {
		if !strings.Contains(said, "\n"+want) {
			t.Errorf("%q is missing", want)
		}
	}
	if os.Geteuid() == 0 && !strings.Contains(said, "\nCapBnd: 0000000000000000") {
		t.Error("a program of root can have capabilities again")
	}
	if t.Failed() {
		t.Log("it says:\n" + said)
	}
}

// TestRights_LeftByProfile: Unix sockets, and as root the one capability that a port below 1024
// takes.
func TestRights_LeftByProfile(t *testing.T) {
	t.Parallel()
	said := tried(t, Profile{Unix: true, Bind: []int{80}})
	capability := "CapEff: 0000000000000400"
	if os.Geteuid() != 0 {
		capability = "CapEff: 0000000000000000"
	}
	for _, want := range []string{"unix socket: allowed (<nil>)", capability, "packets: refused", "ptrace: refused"} {
		if !strings.Contains("\n"+said, "\n"+want) {
			t.Errorf("%q is missing in:\n%s", want, said)
		}
	}
}
