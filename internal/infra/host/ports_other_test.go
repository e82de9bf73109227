//go:build !linux

package host

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/nvidia/aicr-action/internal/result/reason"
)

func TestPorts_NoDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p := NewPorts(filepath.Join(file, "ports"))
	if _, err := p.Take(1); err == nil {
		t.Error("Take without a directory for its locks")
	}
	if err := p.TakeExact(firstPort); err == nil || reason.Of(err) == reason.PortTaken {
		t.Errorf("TakeExact without a directory for its locks: %v", err)
	}
}
