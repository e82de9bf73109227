package app

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// Who waits is told which directories Kustomize builds, before it does.
func TestTelling(t *testing.T) {
	var told []string
	ctx := Telling(t.Context(), func(dir string) { told = append(told, filepath.Base(dir)) })
	a, err := FindApp(ctx, filepath.Join(repo(t, flux(nil)), "cluster"), nil)
	if err != nil {
		t.Fatal(err)
	}
	d, err := bundle.ByName([]string{a.Deployer})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Open(ctx, d[0]); err != nil {
		t.Fatal(err)
	}
	if slices.Sort(told); !slices.Equal(told, []string{"apps", "base"}) {
		t.Errorf("told: %q", told)
	}
	if _, err := a.Open(t.Context(), d[0]); err != nil || len(told) != 2 { // nobody waits
		t.Error(err, told)
	}
}
