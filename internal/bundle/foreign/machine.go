package foreign

import (
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"runtime"
	"strings"
)

// otherMachine says what machine a program is for, if it is not one like this; empty for a program for
// this machine, and for a script. It is asked when a program does not run: a kernel may be set up to
// run those of other machines.
func otherMachine(path string) string {
	system, cpu := "", ""
	if f, err := elf.Open(path); err == nil {
		system, cpu = "linux", strings.ToLower(strings.TrimPrefix(f.Machine.String(), "EM_"))
		_ = f.Close() // opened for reading
	} else if f, err := macho.Open(path); err == nil {
		system, cpu = "darwin", strings.ToLower(strings.TrimPrefix(f.Cpu.String(), "Cpu"))
		_ = f.Close()
	} else if f, err := pe.Open(path); err == nil {
		system, cpu = "windows", "an unknown CPU"
		_ = f.Close()
	}
	switch cpu {
	case "x86_64":
		cpu = "amd64"
	case "aarch64":
		cpu = "arm64"
	}
	if system == "" || system == runtime.GOOS && cpu == runtime.GOARCH {
		return ""
	}
	return "it is a program for " + system + " on " + cpu
}
