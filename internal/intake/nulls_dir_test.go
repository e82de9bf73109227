package intake

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// A null of an Application that is applied client-side is named; with ServerSideApply it arrives.
func TestWarnOfNulls(t *testing.T) {
	const option = "- ServerSideApply=true\n"
	change := func(t *testing.T, file, old, text string) {
		t.Helper()
		content, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(content), old) {
			t.Fatalf("%s: %v; want %q in\n%s", file, err, old, content)
		}
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(content), old, text)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		root, child string // what is in the place of the option and of the annotations' key
		warned      bool
	}{
		"by the root":          {option, "annotations:\n", false},
		"by nothing":           {"- Validate=true\n", "annotations:\n", true},
		"by the child":         {"- Validate=true\n", "annotations:\n    argocd.argoproj.io/sync-options: Validate=true,ServerSideApply=true\n", false},
		"by neither, although": {"- Validate=true\n", "annotations:\n    argocd.argoproj.io/sync-options: ServerSideApply=false\n", true},
	} {
		t.Run(name, func(t *testing.T) {
			own := ownInput(t, "kind")
			d := mustDeployer(t, bundle.ArgoCDOCI)
			dir := written(t, elsewhere(t, d, own))
			if err := os.Remove(filepath.Join(dir, checksumsFile)); err != nil {
				t.Fatal(err)
			}
			children, err := filepath.Glob(filepath.Join(dir, "*", "application.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			child := children[slices.IndexFunc(children, func(f string) bool { return strings.Contains(f, "cert-manager") })]
			change(t, filepath.Join(dir, rootFile), option, test.root)
			change(t, child, "annotations:\n", test.child)
			change(t, child, "\n        replicaCount: 1\n", "\n        replicaCount: null\n        noSuchKey: null\n")
			_, _, made := readBack(t, dir, d, own)
			warned := slices.ContainsFunc(made.Expectation.Warnings, func(w string) bool {
				return strings.HasPrefix(w, "cert-manager: replicaCount is null in valuesObject, and Argo CD drops it") && strings.Contains(w, "application.yaml:") && strings.Contains(w, "add ServerSideApply=true to spec.syncPolicy.syncOptions in ")
			})
			if warned != test.warned {
				t.Errorf("got the warnings %q, want the null among them: %v", made.Expectation.Warnings, test.warned)
			}
			if all := strings.Join(made.Expectation.Warnings, "\n"); strings.Contains(all, "noSuchKey is null") {
				t.Errorf("a null where the chart has nothing: %s", all)
			}
			for _, w := range made.Expectation.Workloads {
				if lost := slices.ContainsFunc(w.Values, func(s bundle.SteeringSource) bool { return s.Lost != "" }); lost && w.Release != "cert-manager" {
					t.Errorf("%s %s: a null of another release", w.Kind, w.Name)
				}
			}
		})
	}
}
