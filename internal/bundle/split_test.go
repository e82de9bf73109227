package bundle

import (
	"slices"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/recipe"
)

// A split bundle for Argo CD has a root Application for each class, in a directory of its own with the Applications of the
// class, all with retry; nothing leads from one half to the other.
func TestSplit(t *testing.T) {
	for _, d := range []Deployer{argoOCI{}, argoGit{}} {
		t.Run(d.Name(), func(t *testing.T) {
			in := fixture()
			whole := mustBundle(t, d, in)
			in.Split = map[string]string{"gpu": "ops", "tuning": "ops", "web": "core", "monitor": ""}
			b := mustBundle(t, d, in)
			var got []string
			for _, e := range b.Expectation.Delivered {
				got = append(got, e.Of+" "+e.Name)
				if e.Root != strings.HasPrefix(e.Name, ArgoRootApplication) {
					t.Errorf("%s is a root: %t", e.Name, e.Root)
				}
			}
			want := []string{" nvidia-stack-core", " nvidia-stack-ops", "nvidia-stack-core web", "nvidia-stack-core monitor", "nvidia-stack-ops gpu", "nvidia-stack-ops gpu-post", "nvidia-stack-ops tuning"}
			if !slices.Equal(got, want) {
				t.Errorf("delivered:\n%q, want\n%q", got, want)
			}
			for file, texts := range map[string][]string{
				"core/app-of-apps.yaml": {"name: nvidia-stack-core\n", "path: core\n"}, "ops/app-of-apps.yaml": {"name: nvidia-stack-ops\n", "path: ops\n"},
				"core/web/application.yaml": {`sync-wave: "0"`}, "core/monitor/application.yaml": {`sync-wave: "1"`}, "ops/gpu/application.yaml": {`sync-wave: "0"`},
				"ops/tuning/application.yaml": {"path: ops/tuning/chart\n"},
			} {
				for _, text := range append(texts, "retry:\n", "limit: -1\n", "prune: true\n") {
					if !strings.Contains(content(t, b, file), text) {
						t.Errorf("%s has no %q:\n%s", file, text, content(t, b, file))
					}
				}
			}
			if d.Name() == ArgoCDGit && !strings.Contains(content(t, b, "core/web/application.yaml"), "$values/core/web/values.yaml") {
				t.Errorf("the values are not those of the half:\n%s", content(t, b, "core/web/application.yaml"))
			}
			for _, f := range b.Files {
				if strings.HasSuffix(f.Path, "application.yaml") && !strings.HasPrefix(f.Path, "core/") && !strings.HasPrefix(f.Path, "ops/") {
					t.Errorf("%s is in no half", f.Path)
				}
			}
			if roots := ArgoRoots(placed(d, in)); len(roots) != 2 || roots[1].GetName() != "nvidia-stack-ops" || RootPath(in, "nvidia-stack-ops") != "ops" {
				t.Errorf("the roots are %v", roots)
			}
			if at := slices.IndexFunc(b.Expectation.Releases, func(r Release) bool { return r.Name == "tuning" }); b.Expectation.Releases[at].PathOr("") != "ops/tuning/chart" || whole.Expectation.Releases[at].PathOr("") != "" {
				t.Errorf("tuning is at %s, and in a whole bundle at %s", b.Expectation.Releases[at].PathOr(""), whole.Expectation.Releases[at].PathOr(""))
			}
			if Revision(in) == Revision(fixture()) {
				t.Error("both halves are published under the tag of the whole")
			}
			if strings.Contains(content(t, whole, "app-of-apps.yaml"), "retry") || RootPath(fixture(), ArgoRootApplication) != "." {
				t.Error("a whole bundle has something of a split one")
			}
			if !slices.ContainsFunc(b.Expectation.Overrides, func(s string) bool {
				return strings.Contains(s, "2 components of core by Application nvidia-stack-core and")
			}) {
				t.Errorf("the overrides do not say so: %q", b.Expectation.Overrides)
			}
		})
	}
}

// What cannot be split by classes is refused, with the place of what has to be corrected.
func TestCheckSplit(t *testing.T) {
	in := fixture()
	off := slices.Clone(in.Components)
	for i := range off {
		if off[i].Name == "gpu" {
			off[i].Overrides = map[string]any{"enabled": false}
		}
	}
	for name, c := range map[string]struct {
		components []recipe.Component
		classes    map[string]string
		want       string
	}{
		"one way":               {in.Components, map[string]string{"gpu": "ops", "tuning": "ops"}, ""},
		"no ops":                {in.Components, nil, "no component of the recipe is of the class ops"},
		"no core":               {in.Components, map[string]string{"web": "ops", "monitor": "ops", "gpu": "ops", "tuning": "ops"}, "of the class core in registry.yaml"},
		"ops is left out":       {off, map[string]string{"gpu": "ops"}, "no component of the recipe is of the class ops"},
		"core depends on ops":   {in.Components, map[string]string{"web": "ops"}, "recipes/overlays/base.yaml:20: component monitor is of the class core and depends on web"},
		"ops depends on itself": {in.Components, map[string]string{"monitor": "ops", "gpu": "ops", "tuning": "ops"}, ""},
	} {
		err := CheckSplit(c.components, c.classes)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}
