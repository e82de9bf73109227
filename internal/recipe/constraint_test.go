package recipe

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestConstraints(t *testing.T) {
	for constraint, holds := range map[string]bool{
		">= 1.30": true, ">=1.36.1": true, ">= 1.36.2": false, ">= 1.37": false, ">= 2": false, ">= v1.36": true,
		"<= 1.36": true, "<= 1.36.0": false, "<= 1.35": false,
		"> 1.36": false, "> 1.35": true, "> 1.36.0": true, "< 1.36": false, "< 1.36.2": true, "< 1.37": true,
		"== 1.36": true, "== 1.36.1": true, "==1.36.2": false, "1.36": true, "1": true, "1.35": false, " v1.36.1 ": true,
		"!= 1.36": false, "!= 1.35": true, ">= 1.9": true,
	} {
		r := &Result{Constraints: []Constraint{{Name: "OS.release.ID", Value: "ubuntu"}, {Name: kubeVersionConstraint, Value: constraint, Origin: Origin{File: "overlays/o.yaml", Line: 7}}}}
		err := r.CheckKubeVersion("v1.36.1")
		if (err == nil) != holds {
			t.Errorf("%q of v1.36.1: got %v, want that it holds: %v", constraint, err, holds)
		}
		var at *FileError
		if err != nil && (!errors.As(err, &at) || at.Line != 7 || !strings.Contains(err.Error(), "the cell's API server is v1.36.1")) {
			t.Errorf("%q: got %v, want the line, and the version", constraint, err)
		}
		if got := r.Unevaluated(); !slices.Equal(got, []string{"constraint OS.release.ID ubuntu is not evaluated: a simulated cluster has nothing to measure it by"}) {
			t.Errorf("not evaluated: got %q", got)
		}
	}
	for _, bad := range []string{"~1.30", "new", ">= 1.30.1.2", ">= 1.30, < 1.40", ""} {
		r := &Result{Constraints: []Constraint{{Name: kubeVersionConstraint, Value: bad}}}
		if err := r.CheckKubeVersion("v1.36.1"); err == nil || !strings.Contains(err.Error(), "correct it") {
			t.Errorf("%q: got %v, want that it cannot be read", bad, err)
		}
	}
}
