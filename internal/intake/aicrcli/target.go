package aicrcli

// target.go says for which machine a program was made. It reads files only, and runs nothing.

import (
	"debug/elf"
	"debug/macho"
	"encoding/binary"
	"io"
	"os"
	"runtime"
	"strings"
)

// otherTarget says what machine a program is for, if it is not one like this; empty for a program for
// this machine, and for a script. It is asked when a program does not run: a kernel may be set up to
// run those of other machines. It reads the first bytes only, since the rest may be missing.
func otherTarget(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }() // opened for reading
	head := make([]byte, 20)
	n, err := io.ReadFull(f, head)
	if err != nil && n == 0 {
		return "it is an empty file"
	}
	system, cpu := "", ""
	switch magic := string(head[:4]); {
	case magic == elf.ELFMAG:
		order := binary.ByteOrder(binary.LittleEndian)
		if elf.Data(head[elf.EI_DATA]) == elf.ELFDATA2MSB {
			order = binary.BigEndian
		}
		system, cpu = "linux", strings.ToLower(strings.TrimPrefix(elf.Machine(order.Uint16(head[18:])).String(), "EM_"))
	case binary.LittleEndian.Uint32(head) == macho.Magic64:
		system, cpu = "darwin", strings.ToLower(strings.TrimPrefix(macho.Cpu(binary.LittleEndian.Uint32(head[4:])).String(), "Cpu"))
	case strings.HasPrefix(magic, "MZ"):
		system, cpu = "windows", "an unknown CPU"
	case !strings.HasPrefix(magic, "#!"):
		return "it is neither a program nor a script"
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
