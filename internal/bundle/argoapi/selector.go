package argoapi

import (
	"slices"

	yamlv3 "go.yaml.in/yaml/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// selectorOf reads a selector of labels.
func selectorOf(n *yamlv3.Node) (s metav1.LabelSelector, err error) {
	content, err := yamlx.Encode([]*yamlv3.Node{n})
	if err == nil {
		err = yaml.UnmarshalStrict(content, &s)
	}
	if err != nil {
		return s, bad(n, "selector: %w", err)
	}
	for _, e := range s.MatchExpressions {
		known := []metav1.LabelSelectorOperator{metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist}
		if !slices.Contains(known, e.Operator) {
			return s, bad(n, "selector: operator %q is none of %v", e.Operator, known)
		}
	}
	return s, nil
}

// selected keeps the sets whose parameters a selector selects. Unlike those of labels, values may be any
// text, e.g. addresses of clusters: Argo CD has its own copy of the rules for that.
func selected(n *yamlv3.Node, sets []map[string]any) ([]map[string]any, error) {
	if n == nil {
		return sets, nil
	}
	s, err := selectorOf(n)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(sets, func(params map[string]any) bool { return !matchesGenerator(s, flattened(params)) }), nil
}

func matchesGenerator(s metav1.LabelSelector, have map[string]string) bool {
	for key, value := range s.MatchLabels {
		if had, ok := have[key]; !ok || had != value {
			return false
		}
	}
	for _, e := range s.MatchExpressions {
		value, ok := have[e.Key]
		in := ok && slices.Contains(e.Values, value)
		switch e.Operator {
		case metav1.LabelSelectorOpIn:
			ok = in
		case metav1.LabelSelectorOpNotIn:
			ok = !in
		case metav1.LabelSelectorOpDoesNotExist:
			ok = !ok
		}
		if !ok {
			return false
		}
	}
	return true
}

// labelsOf are the labels that something has to have for a selector to select it, of several values the first.
func labelsOf(n *yamlv3.Node) (map[string]any, error) {
	if n == nil {
		return nil, nil
	}
	s, err := selectorOf(n)
	if err != nil {
		return nil, err
	}
	all := map[string]any{}
	for _, e := range s.MatchExpressions {
		if e.Operator == metav1.LabelSelectorOpIn && len(e.Values) > 0 {
			all[e.Key] = e.Values[0]
		}
	}
	for key, value := range s.MatchLabels {
		all[key] = value
	}
	return all, nil
}

// selects reports whether a selector of clusters selects one with these labels; of those that nothing is said of,
// it has what the selector wants.
func selects(n *yamlv3.Node, wanted map[string]any, said map[string]string) bool {
	if n == nil || len(said) == 0 {
		return true
	}
	s, err := selectorOf(n)
	if err != nil {
		return true // which labelsOf has said
	}
	have := flattened(wanted)
	for key, value := range said {
		have[key] = value
	}
	return matchesGenerator(s, have)
}
