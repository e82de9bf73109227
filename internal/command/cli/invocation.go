package cli

import (
	"crypto/rand"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
)

// Invocation is how the user called this program.
func Invocation() string {
	if self, err := os.Executable(); err == nil && strings.Contains(filepath.ToSlash(self), "/go-build") {
		return "go run ./cmd/matrix" // a temporary binary, which no longer exists when the user reads this
	}
	return DisplayName(os.Args[0])
}

// DisplayName is what the user types for a program: a plugin of kubectl is called through it.
func DisplayName(program string) string {
	if name, plugin := strings.CutPrefix(filepath.Base(program), "kubectl-"); plugin && name == "matrix" {
		return "kubectl matrix"
	}
	return "matrix"
}

// NewRunID makes the name of a run, which those of its clusters have too.
func NewRunID() string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return hex.EncodeToString(b[:])
}
