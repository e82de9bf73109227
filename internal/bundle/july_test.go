package bundle

import (
	"reflect"
	"slices"
	"strings"
	"testing"

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
		ComponentRef: recipe.ComponentRef{Name: "x", Overrides: map[string]any{"overlay": []any{own}, "none": []any{}, "null": nil, "nowhere": map[string]any{}}},
		NodeScheduling: recipe.NodeScheduling{
			System:      recipe.SchedulingPaths{TolerationPaths: []string{"file", "overlay", "none", "null", "unset", "both"}, NodeSelectorPaths: []string{"nowhere"}},
			Accelerated: recipe.SchedulingPaths{TolerationPaths: []string{"file", "both"}, TaintStrPaths: []string{"taint"}},
		},
		Values: map[string]any{"file": []any{own}, "overlay": []any{own}, "none": []any{}, "nowhere": map[string]any{}},
	}
	s := KwokScheduling()
	kwok, gpu := tolerationMap(s.SystemTolerations[0]), tolerationMap(s.AcceleratedTolerations[1])
	s.AcceleratedTolerations = s.AcceleratedTolerations[1:]
	values, _, err := inject(c, s, recipe.July)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"file": []any{gpu}, "overlay": []any{own, kwok}, "none": []any{}, "unset": []any{kwok}, "both": []any{gpu}, "nowhere": map[string]any{}}
	if !reflect.DeepEqual(values, want) {
		t.Errorf("got  %v\nwant %v", values, want)
	}
}

func TestDerive(t *testing.T) {
	version := map[string]any{"aicr.run/gpu-operator-chart-version": "v2"}
	private := []any{"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"}
	for name, test := range map[string]struct {
		component    string
		operator     map[string]any // its overrides
		march        bool
		values, want map[string]any
		lines        int
		err          string
	}{
		"driver": {"nvidia-dra-driver-gpu", nil, false, map[string]any{"controller": map[string]any{"a": 1, "podAnnotations": map[string]any{"b": "c", "aicr.run/gpu-operator-chart-version": "v1"}}},
			map[string]any{"controller": map[string]any{"a": 1, "podAnnotations": map[string]any{"b": "c", "aicr.run/gpu-operator-chart-version": "v2"}}, "kubeletPlugin": map[string]any{"podAnnotations": version}}, 1, ""},
		"driver in March":          {"nvidia-dra-driver-gpu", nil, true, map[string]any{}, map[string]any{}, 0, ""},
		"driver without operator":  {"nvidia-dra-driver-gpu", map[string]any{"enabled": false}, false, map[string]any{}, map[string]any{}, 0, ""},
		"operator not installed":   {"nvidia-dra-driver-gpu", map[string]any{"install": false}, false, map[string]any{}, map[string]any{}, 0, ""},
		"gateway":                  {"agentgateway", nil, false, map[string]any{}, map[string]any{"allowedSourceRanges": private}, 1, ""},
		"gateway of an empty list": {"agentgateway", nil, false, map[string]any{"allowedSourceRanges": []any{}}, map[string]any{"allowedSourceRanges": private}, 1, ""},
		"gateway with networks":    {"agentgateway", nil, false, map[string]any{"allowedSourceRanges": []any{"0.0.0.0/0"}}, map[string]any{"allowedSourceRanges": []any{"0.0.0.0/0"}}, 0, ""},
		"gateway with a text":      {"agentgateway", nil, false, map[string]any{"allowedSourceRanges": "10.0.0.0/8"}, nil, 0, "must be a list of networks"},
		"gateway with no network":  {"agentgateway", nil, false, map[string]any{"allowedSourceRanges": []any{"10.0.0.1"}}, nil, 0, "has 10.0.0.1, which is not a network"},
		"gateway with a number":    {"agentgateway", nil, false, map[string]any{"allowedSourceRanges": []any{7}}, nil, 0, "has 7, which is not a network"},
		"another component":        {"web", nil, false, map[string]any{}, map[string]any{}, 0, ""},
	} {
		r := *today().Recipe
		if test.march {
			r = *fixture().Recipe
		}
		r.ComponentRefs = []recipe.ComponentRef{{Name: "gpu-operator", Version: "v2", Overrides: test.operator}}
		lines, err := postprocess(&r, &recipe.Component{ComponentRef: recipe.ComponentRef{Name: test.component}}, test.values)
		switch {
		case test.err != "":
			if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("%s: got %v", name, err)
			}
		case err != nil || len(lines) != test.lines || !reflect.DeepEqual(test.values, test.want):
			t.Errorf("%s: got %v, %v, %v", name, test.values, lines, err)
		}
	}
	in := today()
	in.Components[0].Name, in.Components[0].Values = "agentgateway", map[string]any{"allowedSourceRanges": "all"}
	in.Recipe.ComponentRefs[0].Name = "agentgateway"
	if _, err := (helmDeployer{}).Bundle(t.Context(), in); err == nil || !strings.Contains(err.Error(), "must be a list of networks") {
		t.Errorf("a bundle of it: %v", err)
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
	got := string(withoutHooks(today().Recipe, []recipe.Manifest{{Content: []byte(text)}})[0].Content)
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
	if got := withoutHooks(in.Recipe, manifests); string(got[0].Content) != text {
		t.Error("a recipe of March loses its hooks")
	}
	if got := withoutHooks(today().Recipe, manifests); string(got[0].Content) == text || string(manifests[0].Content) != text {
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
