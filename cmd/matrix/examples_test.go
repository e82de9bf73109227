package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every recipe of examples/ can be bundled for a simulated cluster, so that `matrix run` has
// something to deploy.
func TestExamples(t *testing.T) {
	overlays, err := filepath.Glob("../../examples/*/overlays/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, overlay := range overlays {
		name := strings.TrimSuffix(filepath.Base(overlay), ".yaml")
		if name == "base" {
			continue
		}
		seen++
		t.Run(name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "bundle")
			r := invoke(t, nil, "bundle", name, "--recipes-dir", filepath.Dir(filepath.Dir(overlay)), "--charts", "../../charts", "--simulated-nodes", "-o", out)
			if r.code != 0 {
				t.Fatalf("got code %d; stderr:\n%s", r.code, r.stderr)
			}
			if _, err := os.Stat(filepath.Join(out, "deploy.sh")); err != nil {
				t.Error(err)
			}
		})
	}
	if seen < 2 {
		t.Errorf("found %d recipes in examples/", seen)
	}
}
