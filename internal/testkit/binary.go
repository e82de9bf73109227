package testkit

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// binaries is the directory of the programs that this package's tests have built.
var binaries string

// Main runs the tests of a package that have a Binary, for TestMain, and removes what they built.
// It returns the exit code.
func Main(m *testing.M) int {
	dir, err := os.MkdirTemp("", "aicr-program")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	binaries = dir
	code := m.Run()
	_ = os.RemoveAll(dir) // a leftover temporary directory does no harm
	return code
}

// Binary is a program that tests run. It is built once for all tests of a package, since to link it
// takes seconds. The package's TestMain calls Main.
type Binary struct {
	// Name is the file's.
	Name string
	// Build is the command that writes the program to path.
	Build func(path string) *exec.Cmd

	once sync.Once
	err  error
}

// Path builds the program if no test has, and gives its path.
func (b *Binary) Path(t testing.TB) string {
	t.Helper()
	path := filepath.Join(binaries, b.Name)
	b.once.Do(func() {
		cmd := b.Build(path)
		if out, err := cmd.CombinedOutput(); err != nil {
			b.err = fmt.Errorf("%s: %w\n%s", cmd, err, out)
		}
	})
	if b.err != nil {
		t.Fatal(b.err)
	}
	return path
}
