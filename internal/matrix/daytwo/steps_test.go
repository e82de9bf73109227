package daytwo

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

func stepsOf(t *testing.T, text string) (*Steps, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), stepsFile)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return StepsOf("", filepath.Dir(file))
}

func TestReadSteps(t *testing.T) {
	for text, want := range map[string]string{
		"": "",
		"before: [{chart: a}, {delete: DaemonSet/x/y, orphan: true}]\naccept: [{object: 'DaemonSet/x/*', path: 'spec.*', reason: r}]\n": "",
		"befor: []\n":                                                  `:1: unknown field "befor"; there are: before, accept`,
		"before:\n- {chrt: a}\n":                                       `:2: unknown field "chrt"`,
		"before:\n- {}\n":                                              ":2: a step has one of chart, apply, delete and annotate; this one has 0",
		"before:\n- {chart: a, apply: b}\n":                            "this one has 2",
		"before:\n- {delete: DaemonSet}\n":                             `"DaemonSet" is no object`,
		"before:\n- {annotate: Node/a}\n":                              "want both",
		"before:\n- {apply: ../x.yaml}\n":                              "is not in the directory of this file",
		"before:\n- {apply: /etc/passwd}\n":                            "is not in the directory of this file",
		"accept:\n- {object: A/b, path: '*'}\n":                        ":2: the entry for A/b has no reason",
		"accept:\n- {object: A/b, reason: r}\n":                        "want an object (Kind/namespace/name) and a path",
		"accept:\n- {object: A/b, path: p, reason: r, until: 1.0.0}\n": "until is a version of chart",
	} {
		if _, err := stepsOf(t, text); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

// Steps are carried out in their order, those of other recipes apart, and one that fails says so in its own words.
func TestCarry(t *testing.T) {
	crd := "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: widgets.x.y}\nspec: {scope: Namespaced}\n"
	ch := &chart.Chart{Metadata: &chart.Metadata{APIVersion: "v2", Name: "c", Version: "1.0.0"}, Files: []*chart.File{{Name: "crds/widgets.yaml", Data: []byte(crd)}}}
	now := &bundle.Bundle{Installs: []bundle.Install{{Release: bundle.Release{Name: "r", Chart: "c"}, Chart: ch}}}
	for text, want := range map[string]string{
		"before: [{chart: d}]\n":                "apply the crds/ of chart d: the upgrade has no chart of that name; it has c",
		"before: [{apply: none.yaml}]\n":        "apply none.yaml: ",
		"before: [{recipe: other, chart: d}]\n": "",
	} {
		s, err := stepsOf(t, text)
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Carry(t.Context(), envWith(t), now, result.Cell{Recipe: "mine"})
		if (err == nil) != (want == "") || err != nil && (reason.Of(err) != reason.UpgradeFailed || !strings.Contains(err.Error(), "step 1 before the upgrade (") || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
	if done, err := (*Steps)(nil).Carry(t.Context(), nil, now, result.Cell{}); err != nil || done != nil {
		t.Errorf("without steps: got %q, %v", done, err)
	}
}

// An entry counts for its recipe and until its version, and one that has hit nothing is told.
func TestAccepted(t *testing.T) {
	s, err := stepsOf(t, "accept:\n- {object: DaemonSet/x/y, path: 'spec.*', reason: a}\n- {recipe: other, object: A/b, path: '*', reason: b}\n- {object: A/c, path: '*', reason: c, chart: web, until: 2.0.0}\n")
	if err != nil {
		t.Fatal(err)
	}
	accepted, expired := s.Accepted("mine", []bundle.Release{{Chart: "web", ChartVersion: "v2.0.0"}})
	if len(accepted) != 1 || accepted[0].Object != "DaemonSet x/y" || len(expired) != 1 || !strings.Contains(expired[0], stepsFile+":4: * of A/c is accepted until web 2.0.0") {
		t.Errorf("got %+v, %q", accepted, expired)
	}
	if accepted, expired := s.Accepted("mine", []bundle.Release{{Chart: "web", ChartVersion: "1.9.0"}}); len(accepted) != 2 || len(expired) != 0 {
		t.Errorf("before that version: got %+v, %q", accepted, expired)
	}
	accepted[0].Used()
	if got := s.Unused(); len(got) != 1 || !strings.Contains(got[0], stepsFile+":3: accepts * of A/b") {
		t.Errorf("got %q", got)
	}
	if got := (*Steps)(nil).Unused(); !slices.Equal(got, nil) {
		t.Errorf("without a file: got %q", got)
	}
}
