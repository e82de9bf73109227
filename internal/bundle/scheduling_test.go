package bundle

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/recipe"
)

func TestInject(t *testing.T) {
	kwok := map[string]any{"key": "kwok.x-k8s.io/node", "operator": "Equal", "value": "fake", "effect": "NoSchedule"}
	gpu := map[string]any{"key": "nvidia.com/gpu", "operator": "Equal", "value": "present", "effect": "NoSchedule"}
	system := map[string]any{NodeTypeLabel: "system"}
	for _, test := range []struct {
		name      string
		values    map[string]any
		paths     recipe.NodeScheduling
		want      map[string]any
		overrides []string
		problem   string
	}{
		{
			name:      "nothing there yet",
			paths:     recipe.NodeScheduling{System: recipe.SchedulingPaths{NodeSelectorPaths: []string{"a.nodeSelector"}, TolerationPaths: []string{"a.tolerations"}}},
			want:      map[string]any{"a": map[string]any{"nodeSelector": system, "tolerations": []any{kwok}}},
			overrides: []string{"x: system nodeSelector aicr.nvidia.com/node-type=system at a.nodeSelector", "x: system tolerations kwok.x-k8s.io/node=fake:NoSchedule at a.tolerations"},
		},
		{
			name:      "the recipe's own key wins, a missing one is added",
			values:    map[string]any{"s": map[string]any{NodeTypeLabel: "mine"}, "o": map[string]any{"zone": "a"}},
			paths:     recipe.NodeScheduling{System: recipe.SchedulingPaths{NodeSelectorPaths: []string{"s", "o"}}},
			want:      map[string]any{"s": map[string]any{NodeTypeLabel: "mine"}, "o": map[string]any{"zone": "a", NodeTypeLabel: "system"}},
			overrides: []string{"x: system nodeSelector aicr.nvidia.com/node-type=system at o"},
		},
		{
			name:      "tolerations are appended, once",
			values:    map[string]any{"t": []any{map[string]any{"key": "mine", "operator": "Exists"}, map[string]any{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}}},
			paths:     recipe.NodeScheduling{Accelerated: recipe.SchedulingPaths{TolerationPaths: []string{"t"}}},
			want:      map[string]any{"t": []any{map[string]any{"key": "mine", "operator": "Exists"}, map[string]any{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}, kwok}},
			overrides: []string{"x: accelerated tolerations kwok.x-k8s.io/node=fake:NoSchedule,nvidia.com/gpu=present:NoSchedule at t"},
		},
		{
			name:      "a path of both kinds",
			paths:     recipe.NodeScheduling{System: recipe.SchedulingPaths{TolerationPaths: []string{"t"}}, Accelerated: recipe.SchedulingPaths{TolerationPaths: []string{"t"}}},
			want:      map[string]any{"t": []any{kwok, gpu}},
			overrides: []string{"x: system tolerations kwok.x-k8s.io/node=fake:NoSchedule at t", "x: accelerated tolerations kwok.x-k8s.io/node=fake:NoSchedule,nvidia.com/gpu=present:NoSchedule at t"},
		},
		{
			name:      "null on the way and at the end",
			values:    map[string]any{"a": nil, "b": nil},
			paths:     recipe.NodeScheduling{System: recipe.SchedulingPaths{NodeSelectorPaths: []string{"a.nodeSelector", "b"}}},
			want:      map[string]any{"a": map[string]any{"nodeSelector": system}, "b": system},
			overrides: []string{"x: system nodeSelector aicr.nvidia.com/node-type=system at a.nodeSelector, b"},
		},
		{
			name:      "a taint as text, unless the recipe has one",
			values:    map[string]any{"mine": "own=x:NoSchedule"},
			paths:     recipe.NodeScheduling{Accelerated: recipe.SchedulingPaths{TaintStrPaths: []string{"mine", "taint"}}},
			want:      map[string]any{"mine": "own=x:NoSchedule", "taint": "nvidia.com/gpu=present:NoSchedule"},
			overrides: []string{"x: accelerated taint nvidia.com/gpu=present:NoSchedule at taint"},
		},
		{
			name:    "not a map on the way",
			values:  map[string]any{"a": "text"},
			paths:   recipe.NodeScheduling{System: recipe.SchedulingPaths{NodeSelectorPaths: []string{"a.nodeSelector"}}},
			problem: "recipes/x.yaml:3: component x: the value at a is not a map but text, so nothing can be set at a.nodeSelector",
		},
		{
			name:    "a selector that is no map",
			values:  map[string]any{"s": "text"},
			paths:   recipe.NodeScheduling{System: recipe.SchedulingPaths{NodeSelectorPaths: []string{"s"}}},
			problem: "recipes/values.yaml:9: component x: s must be a map of node labels, not text",
		},
		{
			name:    "tolerations that are no list",
			values:  map[string]any{"t": map[string]any{"a": 1}},
			paths:   recipe.NodeScheduling{System: recipe.SchedulingPaths{TolerationPaths: []string{"t"}}},
			problem: "t must be a list of tolerations",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := &recipe.Component{
				ComponentRef: recipe.ComponentRef{Name: "x"}, NodeScheduling: test.paths, Values: test.values,
				Origins:  map[string]recipe.Origin{"s": {File: "recipes/values.yaml", Line: 9}},
				Declared: recipe.Origin{File: "recipes/x.yaml", Line: 3},
			}
			before := copyMap(test.values)
			got, overrides, err := inject(c, KwokScheduling(), recipe.March)
			if test.problem != "" {
				var ce *ComponentError
				if !errors.As(err, &ce) || !strings.Contains(err.Error(), test.problem) {
					t.Fatalf("got %v, want a ComponentError with %q", err, test.problem)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("got  %v\nwant %v", got, test.want)
			}
			if !reflect.DeepEqual(overrides, test.overrides) {
				t.Errorf("overrides %q, want %q", overrides, test.overrides)
			}
			if len(test.values) > 0 && !reflect.DeepEqual(before, test.values) {
				t.Error("the recipe's own values were changed")
			}
		})
	}
}

func TestInject_NoScheduling(t *testing.T) {
	in := fixture()
	in.Scheduling = Scheduling{}
	b := mustBundle(t, helmDeployer{}, in)
	if len(b.Expectation.Overrides) != 0 {
		t.Errorf("overrides without any scheduling: %q", b.Expectation.Overrides)
	}
}

func TestFormatTolerations(t *testing.T) {
	for want, tolerations := range map[string][]corev1.Toleration{
		"":                                 nil,
		"a=b:NoSchedule":                   {{Key: "a", Operator: "Equal", Value: "b", Effect: "NoSchedule"}},
		"a:NoExecute,c=d:PreferNoSchedule": {{Key: "a", Operator: "Exists", Effect: "NoExecute"}, {Key: "c", Value: "d", Effect: "PreferNoSchedule"}},
	} {
		if got := formatAll(tolerations); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestOriginOf(t *testing.T) {
	c := &recipe.Component{
		Origins:  map[string]recipe.Origin{"a": {File: "a", Line: 1}, "b.z": {File: "bz", Line: 2}, "b.c": {File: "bc", Line: 3}, "bx": {File: "no"}},
		Declared: recipe.Origin{File: "declared", Line: 9},
	}
	for path, want := range map[string]string{"a": "a:1", "b": "bc:3", "c": "declared:9"} {
		if got := originOf(c, path).String(); got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
}
