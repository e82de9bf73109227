//go:build nightly

package matrix

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/testkit/infratest"
)

// unchangedRecipes chooses the recipes of TestNightlyUnchanged: names with commas between them, or
// "all". unchangedLanes chooses the lanes in the same way.
const unchangedRecipes, unchangedLanes = "AICR_ACTION_UNCHANGED_RECIPES", "AICR_ACTION_UNCHANGED_LANES"

// TestNightlyUnchanged: an upgrade to the same recipe is none. Nothing rolls, nothing differs, and
// the end is that of a first installation. A night has time for recipes that have little in common;
// all of them take hours.
func TestNightlyUnchanged(t *testing.T) {
	t.Parallel()
	base := stackRunner(t)
	names := []string{"eks-training", "gb200-oke-ol-training-kueue", "b200-gke-cos-inference-dynamo", "h100-aks-ubuntu-training-kubeflow"}
	switch chosen := os.Getenv(unchangedRecipes); chosen {
	case "":
	case "all":
		names = slices.DeleteFunc(base.Store.Names(), func(name string) bool {
			o, ok := base.Store.Overlay(name)
			return !ok || o.Effective.Service == ""
		})
	default:
		names = strings.Split(chosen, ",")
	}
	lanes := []string{bundle.Helm, bundle.FluxOCI}
	if chosen := os.Getenv(unchangedLanes); chosen != "" {
		lanes = strings.Split(chosen, ",")
	}
	for _, name := range names {
		for _, lane := range lanes {
			t.Run(name+"/"+lane, func(t *testing.T) {
				infratest.Slots(t, 1)
				r := *base
				r.From = &From{Name: "unchanged", Title: "unchanged", Inputs: r.Inputs}
				results, err := r.RunAll(t.Context(), plansOf(t, &r, name, deployers(t, lane)...), 1)
				if err != nil {
					t.Error(err)
				}
				for _, res := range results {
					isUnchanged(t, res)
				}
			})
		}
	}
}

func isUnchanged(t *testing.T, r result.Result) {
	t.Helper()
	t.Logf("%s after %.0fs: %s %s: %s\n%s\nwarnings %q\nnotes %q", r.Cell, r.Duration.Seconds(), r.Status, r.Reason, r.Cause, strings.Join(r.Details, "\n"), r.Warnings, r.Notes)
	if r.Status != result.Passed {
		t.Errorf("%s: got %s %s, want it to pass", r.Cell, r.Status, r.Reason)
		return
	}
	if r.From == "" {
		return
	}
	if r.Change == nil || !r.Change.Empty() {
		t.Errorf("%s: the same recipe once more changed %+v", r.Cell, r.Change)
	}
	if slices.ContainsFunc(r.Notes, func(n string) bool { return strings.HasPrefix(n, "differs from a first installation (allowed)") }) {
		t.Errorf("%s: the end is not that of a first installation: %q", r.Cell, r.Notes)
	}
}
