package host

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// longestShebang is what the kernel reads of a script's first line (BINPRM_BUF_SIZE).
const longestShebang = 256

// Interpreters are the programs that the kernel starts in place of a script (execve(2)): that of its first
// line, and for /usr/bin/env the one that this looks up. There are none for another file.
func Interpreters(path string) []string {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()                                               // it was only read
	line, _ := bufio.NewReader(io.LimitReader(f, longestShebang)).ReadString('\n') // the last line may have no end
	line, script := strings.CutPrefix(line, "#!")
	words := strings.Fields(line)
	if !script || len(words) == 0 {
		return nil
	}
	all := words[:1]
	if filepath.Base(words[0]) != "env" || len(words) < 2 {
		return all
	}
	named := words[1]
	if found, err := exec.LookPath(named); err == nil {
		named = found
	}
	return append(all, named)
}
