package release

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// copyOfPins is the file as it is on a branch.
func copyOfPins(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile("../../../" + PinsFile)
	if err != nil {
		t.Fatal(err)
	}
	empty, err := WritePins(string(raw), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "pins")
	if err := os.WriteFile(file, []byte(empty), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// pinsOf are the lines that are no comment.
func pinsOf(t *testing.T, file string) []string {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n"), func(line string) bool { return strings.HasPrefix(line, "#") })
}

func TestPin(t *testing.T) {
	file := copyOfPins(t)
	if err := Pin(file, "v1.2.3", dist(t, "v1.2.3")); err != nil {
		t.Fatal(err)
	}
	lines := pinsOf(t, file)
	if len(lines) != 1+2*len(platforms()) || lines[0] != "v1.2.3" {
		t.Fatalf("pins: %q", lines)
	}
	for _, line := range lines[1:] {
		digest, name, _ := strings.Cut(line, "  ")
		if len(digest) != 64 || !strings.HasPrefix(name, "matrix_v1.2.3_") && !strings.HasPrefix(name, "stack_") {
			t.Errorf("pin %q", line)
		}
	}
	first, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	// Again the same, another version, and back: nothing but the pins ever changes.
	for _, version := range []string{"v1.2.3", "v1.3.0", "v1.2.3"} {
		if err := Pin(file, version, dist(t, version)); err != nil {
			t.Fatal(err)
		}
	}
	if again, err := os.ReadFile(file); err != nil || !bytes.Equal(again, first) {
		t.Errorf("pinning again changed the file (%v):\n%s", err, again)
	}
	original, err := os.ReadFile(copyOfPins(t))
	if err != nil {
		t.Fatal(err)
	}
	empty, err := WritePins(string(original), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	if back, err := WritePins(string(first), "", nil); err != nil || back != empty {
		t.Errorf("without the pins the file is not the one before (%v):\n%s", err, back)
	}
}

func TestPin_Invalid(t *testing.T) {
	for name, test := range map[string]struct {
		version string
		without []string
		content string
		want    string
	}{
		"a missing program":  {"v1.2.3", []string{"matrix_v1.2.3_darwin_arm64"}, "", "matrix_v1.2.3_darwin_arm64"},
		"a missing stack":    {"v1.2.3", []string{"linux_arm64.tar"}, "", "_linux_arm64.tar.zst"},
		"everything missing": {"v1.2.3", []string{""}, "", "matrix_v1.2.3_linux_amd64"},
		"no version":         {"v1", nil, "", "vX.Y.Z"},
		"another file":       {"v1.2.3", nil, "inputs: {}\n", "want a file of pins"},
	} {
		t.Run(name, func(t *testing.T) {
			file := copyOfPins(t)
			if test.content != "" {
				if err := os.WriteFile(file, []byte(test.content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			before, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := Pin(file, test.version, dist(t, test.version, test.without...)); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
			if after, err := os.ReadFile(file); err != nil || !bytes.Equal(after, before) {
				t.Errorf("the file was changed (%v)", err)
			}
		})
	}
}
