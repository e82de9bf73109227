package checks

import (
	"path/filepath"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

// dirs are the packages with checks.
func dirs(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob("*/testdata")
	if err != nil || len(all) == 0 {
		t.Fatal(err)
	}
	all = append(all, "../daytwo/testdata", "../intact/testdata")
	for i := range all {
		all[i] = filepath.Dir(all[i])
	}
	return all
}

// orders are what the lanes of cases wait for. Package matrix has the table of lanes, and a test that they are equal.
func order(lane string) judge.Order {
	switch lane {
	case "helm":
		return judge.Order{InOrder: true, Uninstalls: true}
	case "helm-template":
		return judge.Order{AtOnce: true}
	case "argocd-oci":
		return judge.Order{ArgoCD: true, Ready: true, Heals: true}
	case "flux-oci":
		return judge.Order{Flux: true, Ready: true, Releases: true, Within: bundle.FluxTimeout}
	case "helmfile":
		return judge.Order{Ready: true, Needs: true}
	}
	return judge.Order{}
}

func TestList(t *testing.T) {
	for _, line := range judge.Validate(All()) {
		t.Error(line)
	}
	for _, line := range caseLacking(All(), readCase(t, dirs(t)...)) {
		t.Error(line)
	}
}

// Every check runs over every case: a good case of one is a good case of all, and false alarms show there.
func TestCases(t *testing.T) {
	first, judged := map[string]bool{}, 0
	cases := readCase(t, dirs(t)...)
	for _, c := range cases {
		t.Run(c.File, func(t *testing.T) {
			for _, line := range c.Compare(c.Find(t, All(), order)) {
				t.Error(line)
			}
			for id := range c.first {
				first[id] = true
			}
			judged++
		})
	}
	for _, c := range All() {
		if judged == len(cases) && c.Last() > c.Needs && !first[c.ID] {
			t.Errorf("check %s finds nothing at the stage %s in any case: it needs a case, or a later stage", c.ID, c.Needs)
		}
	}
}
