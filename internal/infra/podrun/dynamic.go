package podrun

import (
	"debug/elf"
	"path/filepath"
	"strings"

	"github.com/nvidia/aicr-action/internal/infra/host"
)

// libraries are where a program that is linked dynamically finds its libraries.
var libraries = []string{"/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache"}

// loaderDirectory is where a program's dynamic linker is, which the kernel starts in place of the
// program (execve(2)). It is empty for a program that is linked statically, and for a file that is
// no ELF.
func loaderDirectory(program string) string {
	f, err := elf.Open(program)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }() // it is only read
	for _, p := range f.Progs {
		if p.Type != elf.PT_INTERP || p.Filesz > 4096 {
			continue
		}
		name := make([]byte, p.Filesz)
		if _, err := p.ReadAt(name, 0); err != nil {
			return ""
		}
		linker, err := filepath.EvalSymlinks(strings.TrimRight(string(name), "\x00"))
		if err != nil {
			return ""
		}
		return filepath.Dir(linker)
	}
	return ""
}

// interpreters are the programs that run a script, as the files that they are.
func interpreters(program string) []string {
	var all []string
	for _, name := range host.Interpreters(program) {
		if file, err := filepath.EvalSymlinks(name); err == nil {
			all = append(all, file)
		}
	}
	return all
}
