package main

import (
	"runtime/debug"
	"slices"
	"testing"

	"golang.org/x/mod/modfile"

	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/kwok"
)

// TestSharedPackages holds what the first run's time depends on: a module that both matrix and the
// stack need has one version in both, so that Go's build cache has its packages compiled when the
// stack is built. One module far down, of another version, is enough to compile nearly all of them
// twice. To mend it, raise the lower one with `go get` (in kwok/stack, GOFLAGS=-mod=mod), and
// `make generate`.
func TestSharedPackages(t *testing.T) {
	mod, err := modfile.Parse("kwok/stack/go.mod", kwok.StackMod, nil)
	if err != nil {
		t.Fatal(err)
	}
	version := map[string]string{}
	for _, r := range mod.Require {
		version[r.Mod.Path] = r.Mod.Version
	}
	for _, r := range mod.Replace {
		version[r.Old.Path] = r.New.Version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || len(info.Deps) == 0 {
		t.Fatal("this test's binary does not say which modules it was built from")
	}
	for _, module := range stack.Apart() {
		if version[module] == "" {
			t.Errorf("%s: compiled with flags of its own, and the stack has no such module", module)
		}
		if slices.ContainsFunc(info.Deps, func(d *debug.Module) bool { return d.Path == module }) {
			t.Errorf("%s: compiled with flags of its own for the stack, and matrix has it too", module)
		}
	}
	both := 0
	for _, dep := range info.Deps {
		v, needed := version[dep.Path]
		if !needed {
			continue
		}
		both++
		if v != dep.Version {
			t.Errorf("%s: matrix has %s, the stack %s", dep.Path, dep.Version, v)
		}
	}
	if both < 100 {
		t.Errorf("%d modules in both: this test looks at the wrong list", both)
	}
}
