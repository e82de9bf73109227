package bundle

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle/july"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// today is the fixture as a recipe of July.
func today() Input {
	in := fixture()
	in.Recipe.APIVersion = "aicr.run/v1alpha2"
	return in
}

func releaseOf(t *testing.T, b *Bundle, name string) Release {
	t.Helper()
	for _, r := range b.Expectation.Releases {
		if r.Name == name {
			return r
		}
	}
	t.Fatalf("there is no release %s", name)
	return Release{}
}

func TestPreManifests(t *testing.T) {
	in := today()
	in.Components[2].PreManifests = []recipe.Manifest{{Path: "components/gpu/manifests/module.yaml", Content: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: module\n")}}
	for _, d := range Deployers() {
		b := mustBundle(t, d, in)
		var names []string
		for _, r := range b.Expectation.Releases {
			names = append(names, r.Name)
		}
		if want := []string{"web", "monitor", "gpu-pre", "gpu", "gpu-post", "tuning"}; !slices.Equal(names, want) {
			t.Errorf("%s: releases %v, want %v", d.Name(), names, want)
		}
		for name, want := range map[string][]string{"gpu-pre": {"monitor", "web"}, "gpu": {"gpu-pre"}, "gpu-post": {"gpu"}, "tuning": {"gpu", "gpu-post"}} {
			if got := releaseOf(t, b, name).DependsOn; !slices.Equal(got, want) {
				t.Errorf("%s: %s depends on %v, want %v", d.Name(), name, got, want)
			}
		}
		if !slices.ContainsFunc(b.Expectation.Objects, func(o Object) bool { return o.Release == "gpu-pre" && o.Object.GetName() == "module" }) {
			t.Errorf("%s: the object of the manifest is not expected", d.Name())
		}
	}
	one, other := Revision(in), ""
	in.Components[2].PreManifests[0].Content = []byte("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: another\n")
	if other = Revision(in); one == other {
		t.Error("the revision does not depend on them")
	}
}

func TestPreManifests_Alone(t *testing.T) {
	in := today()
	in.Components[3].PreManifests, in.Components[3].Manifests = in.Components[3].Manifests, nil
	if r := releaseOf(t, mustBundle(t, helmDeployer{}, in), "tuning"); !r.Local {
		t.Errorf("got %+v", r)
	}
}

func TestCriticalQuota(t *testing.T) {
	for _, test := range []struct {
		service string
		nodes   int
		march   bool
		want    string
	}{
		{"gke", 0, false, "32"},
		{"gke", 3, false, "96"},
		{"eks", 3, false, ""},
		{"gke", 3, true, ""},
	} {
		in := today()
		if test.march {
			in = fixture()
		}
		in.Recipe.Criteria.Service, in.Recipe.Criteria.Nodes = test.service, test.nodes
		in.Components[2].GKECriticalPriority = true
		b := mustBundle(t, helmDeployer{}, in)
		got := ""
		for _, o := range b.Expectation.Objects {
			if o.Object.GetKind() == "ResourceQuota" && o.Release == "gpu-pre" {
				got = o.Object.Object["spec"].(map[string]any)["hard"].(map[string]any)["pods"].(string)
			}
		}
		if got != test.want {
			t.Errorf("%+v: got %q pods", test, got)
		}
	}
}

func TestInject_TolerationsOfToday(t *testing.T) {
	own := map[string]any{"key": "own", "operator": "Exists"}
	c := &recipe.Component{
		ComponentRef: recipe.ComponentRef{Name: "x", Overrides: map[string]any{"overlay": []any{own}, "none": []any{}}},
		NodeScheduling: recipe.NodeScheduling{
			System:      recipe.SchedulingPaths{TolerationPaths: []string{"file", "overlay", "none", "unset"}},
			Accelerated: recipe.SchedulingPaths{TolerationPaths: []string{"file"}, TaintStrPaths: []string{"taint"}},
		},
		Values: map[string]any{"file": []any{own}, "overlay": []any{own}, "none": []any{}},
	}
	values, _, err := inject(c, KwokScheduling(), recipe.July)
	if err != nil {
		t.Fatal(err)
	}
	kwok, gpu := tolerationMap(KwokScheduling().SystemTolerations[0]), tolerationMap(KwokScheduling().AcceleratedTolerations[1])
	want := map[string]any{"file": []any{kwok, gpu}, "overlay": []any{own, kwok}, "none": []any{}, "unset": []any{kwok}}
	if !reflect.DeepEqual(values, want) {
		t.Errorf("got  %v\nwant %v", values, want)
	}
}

func TestStripHooks(t *testing.T) {
	const text = `apiVersion: v1
kind: ConfigMap
metadata:
  name: one
  annotations:
    "helm.sh/hook": post-install,post-upgrade # after the chart
    helm.sh/hook-weight: "5"
    'helm.sh/hook-delete-policy': before-hook-creation
    kept: "yes"
---
kind: Job
metadata:
  annotations:
    helm.sh/hook: pre-delete
    helm.sh/hook-weight: "1"
`
	got := string(july.WithoutHooks(today().Recipe, []recipe.Manifest{{Content: []byte(text)}})[0].Content)
	if strings.Count(got, "\n") != strings.Count(text, "\n") {
		t.Errorf("lines moved:\n%s", got)
	}
	docs, err := yamlx.Documents([]byte(got))
	if err != nil || len(docs) != 2 {
		t.Fatal(err, got)
	}
	first, second, _ := strings.Cut(got, "---")
	if strings.Contains(first, "hook") || !strings.Contains(first, `kept: "yes"`) || !strings.Contains(second, "helm.sh/hook: pre-delete") || !strings.Contains(second, "weight") {
		t.Errorf("got\n%s", got)
	}
	in := fixture()
	manifests := []recipe.Manifest{{Path: "a.yaml", Content: []byte(text)}}
	if got := july.WithoutHooks(in.Recipe, manifests); string(got[0].Content) != text {
		t.Error("a recipe of March loses its hooks")
	}
	if got := july.WithoutHooks(today().Recipe, manifests); string(got[0].Content) == text || string(manifests[0].Content) != text {
		t.Error("a recipe of July keeps its hooks, or the recipe's own manifest was changed")
	}
}

func TestNodeKindOf(t *testing.T) {
	for want, labels := range map[NodeKind]map[string]string{
		NodeSystem: {NodeTypeLabel: "system"}, NodeAccelerated: {TodaysNodeTypeLabel: "accelerated"}, NodeAny: {TodaysNodeTypeLabel: "other"},
	} {
		if got := NodeKindOf(labels); got != want {
			t.Errorf("%v: got %q", labels, got)
		}
	}
}
