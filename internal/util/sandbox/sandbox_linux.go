package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

const wraps = true

// The first versions of the kernel's interface that can enforce the parts of a profile. Before ABI
// 2 a restricted process cannot move a file from one directory to another, which Helm and the
// controllers do.
const (
	filesABI   = 2
	portsABI   = 4
	signalsABI = 6
)

func abi() int {
	v, err := ll.LandlockGetABIVersion()
	if err != nil {
		return 0
	}
	return v
}

func available() bool { return abi() >= filesABI }

// Support says what the kernel enforces, for people: "landlock ABI 4: files, TCP ports", or "none:
// " and why.
func Support() string { return support(abi()) }

func support(v int) string {
	switch {
	case v == 0:
		return "none: the kernel has no Landlock, or it is off"
	case v < filesABI:
		return fmt.Sprintf("none: the kernel's Landlock is too old (ABI %d; ABI %d is needed)", v, filesABI)
	}
	enforced := []string{"files"}
	if v >= portsABI {
		enforced = append(enforced, "TCP ports")
	}
	if v >= signalsABI {
		enforced = append(enforced, "signals")
	}
	return fmt.Sprintf("landlock ABI %d: %s", v, strings.Join(enforced, ", "))
}

// become restricts this process and turns it into the program args[0]. It returns only if that
// fails.
func become(text string, args []string) error {
	runtime.LockOSThread() // the program is what this thread is when it starts
	var p Profile
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return fmt.Errorf("read the profile: %w", err)
	}
	if len(p.Binds) > 0 {
		if err := bind(p); err != nil {
			return err
		}
	}
	if p.Root != nil {
		if err := enter(p.Root, p.Overlay); err != nil {
			return err
		}
		program, err := p.Root.program(args[0])
		if err != nil {
			return err
		}
		args[0] = program
		p.rightsInRoot()
	}
	if err := errors.Join(restrictPaths(p), forbidNewRights(), dropCapabilities(p.kept()), filterCalls(p)); err != nil {
		return err
	}
	return fmt.Errorf("%s: %w", args[0], barred(args[0], syscall.Exec(args[0], args, os.Environ())))
}

// restrict puts all threads of this process under the profile.
func restrict(p Profile) error {
	return errors.Join(restrictPaths(p), forbidNewRights(), dropCapabilitiesOfAll(), filterCalls(p))
}

// restrictPaths is what Landlock does, for all threads: files, ports, signals. It is nothing where
// the kernel has none.
func restrictPaths(p Profile) error {
	if !available() {
		return nil
	}
	const read = landlock.AccessFSSet(ll.AccessFSReadFile | ll.AccessFSReadDir)
	rules := []landlock.Rule{
		landlock.RWDirs(p.ReadWrite...).WithRefer(),
		landlock.RODirs(slices.DeleteFunc(slices.Clone(p.Execute), regular)...),
		landlock.PathAccess(ll.AccessFSReadFile|ll.AccessFSExecute, files(p.Execute)...),
		landlock.PathAccess(ll.AccessFSReadFile, files(p.Read)...),
		landlock.PathAccess(read, directories(p.Read)...),
		landlock.PathAccess(ll.AccessFSReadFile, files(system)...),
		landlock.PathAccess(read, directories(system)...),
		landlock.PathAccess(ll.AccessFSReadFile|ll.AccessFSWriteFile, files(devices)...),
	}
	for _, b := range p.Binds {
		rules = append(rules, landlock.PathAccess(read, directories([]string{b.Target})...))
	}
	const scratch = landlock.AccessFSSet(ll.AccessFSReadFile | ll.AccessFSWriteFile | ll.AccessFSTruncate | ll.AccessFSMakeReg | ll.AccessFSRemoveFile)
	rules = append(rules, landlock.PathAccess(scratch, directories(p.Scratch)...))
	for _, port := range p.Connect {
		rules = append(rules, landlock.ConnectTCP(uint16(port)))
	}
	for _, port := range p.Bind {
		rules = append(rules, landlock.BindTCP(uint16(port)))
	}
	return landlock.V6.BestEffort().Restrict(rules...)
}

// regular reports whether a path is that of a file.
func regular(path string) bool { return len(files([]string{path})) > 0 }

// files and directories are those of the paths that exist: the kernel takes no right of directories
// for a file.
func files(paths []string) []string       { return ofKind(paths, false) }
func directories(paths []string) []string { return ofKind(paths, true) }

func ofKind(paths []string, dir bool) []string {
	var kept []string
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil && info.IsDir() == dir {
			kept = append(kept, path)
		}
	}
	return kept
}
