package stack

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The copy of a module has the change, and the module is as before. A module whose statement is not
// there once, as another version's may be, is refused.
func TestCopyChanged(t *testing.T) {
	p := Part{Name: "kwok", Change: change{File: "pkg/a.go", Old: "x = 1", New: "x = 2"}}
	for name, tc := range map[string]struct{ source, want string }{
		"once":  {"package a\n\nfunc f() { x = 1 }\n", ""},
		"never": {"package a\n\nfunc f() { x = 3 }\n", `pkg/a.go has "x = 1" 0 times`},
		"twice": {"package a\n\nfunc f() { x = 1; x = 1 }\n", `pkg/a.go has "x = 1" 2 times`},
	} {
		t.Run(name, func(t *testing.T) {
			from, to := t.TempDir(), filepath.Join(t.TempDir(), "changed", "kwok")
			file := filepath.Join(from, "pkg", "a.go")
			if err := os.Mkdir(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(tc.source), 0o444); err != nil { // as in Go's cache
				t.Fatal(err)
			}
			for range 2 { // the second build finds the copy of the first
				err := copyChanged(from, to, p)
				if tc.want != "" {
					if err == nil || !strings.Contains(err.Error(), tc.want) {
						t.Errorf("got %v, want %s", err, tc.want)
					}
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				got, err := os.ReadFile(filepath.Join(to, "pkg", "a.go"))
				if err != nil || string(got) != "package a\n\nfunc f() { x = 2 }\n" {
					t.Errorf("the copy is %q, %v", got, err)
				}
			}
			if kept, err := os.ReadFile(file); err != nil || string(kept) != tc.source {
				t.Errorf("the module has become %q, %v", kept, err)
			}
		})
	}
}
