// Package features finds rules of Node Feature Discovery that its master cannot evaluate, and labels that it never
// writes. It says so only in its log, and does not run here. It must not know which features a node has.
package features

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/refs/problem"
)

// Find returns the rules that do nothing, of kinds whose operator says so in no status.
func Find(e *bundle.Expectation) []problem.Problem {
	var found []problem.Problem
	for i := range e.Objects {
		o := &e.Objects[i]
		gvk := o.Object.GroupVersionKind()
		list := map[string]string{"NodeFeatureRule": "rules", "NodeFeatureGroup": "featureGroupRules"}[gvk.Kind]
		if gvk.Group != "nfd.k8s-sigs.io" || list == "" {
			continue
		}
		all, _, _ := unstructured.NestedSlice(o.Object.Object, "spec", list)
		for _, r := range all {
			rule, _ := r.(map[string]any)
			name, why := wrong(rule)
			if why == "" {
				continue
			}
			p := problem.Of(o)
			p.Name, p.Text, p.Then = name, fmt.Sprintf("rule %v %s", rule["name"], why), "nfd-master says so in its log, and labels no node by it"
			found = append(found, p)
		}
	}
	return found
}

// wrong is why nfd-master does nothing of a rule, and the text that the recipe sets.
func wrong(rule map[string]any) (name, why string) {
	alternatives, _ := rule["matchAny"].([]any)
	for _, m := range append([]any{rule}, alternatives...) {
		matcher, _ := m.(map[string]any)
		features, _ := matcher["matchFeatures"].([]any)
		for _, f := range features {
			feature, _ := f.(map[string]any)
			expressions, _ := feature["matchExpressions"].(map[string]any)
			for _, key := range slices.Sorted(maps.Keys(expressions)) {
				if why := mistake(expressions[key]); why != "" {
					return key, fmt.Sprintf("compares %s of %v %s", key, feature["feature"], why)
				}
			}
			if why := mistake(feature["matchName"]); why != "" {
				return "matchName", fmt.Sprintf("compares the names of %v %s", feature["feature"], why)
			}
		}
	}
	labels, _, _ := unstructured.NestedStringMap(rule, "labels")
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if domain, _, ok := strings.Cut(key, "/"); ok && kubernetes(domain) {
			return key, fmt.Sprintf("is to set the label %s, and Node Feature Discovery sets none of kubernetes.io but feature.node.kubernetes.io and profile.node.kubernetes.io", key)
		}
	}
	return "", ""
}

// kubernetes reports whether labels of a domain are Kubernetes' own, which nfd-master leaves alone.
func kubernetes(domain string) bool {
	of := func(parent string) bool { return domain == parent || strings.HasSuffix(domain, "."+parent) }
	return of("kubernetes.io") && !of("feature.node.kubernetes.io") && !of("profile.node.kubernetes.io")
}

// mistake is why an expression cannot be evaluated. The operators themselves are the API server's to check.
func mistake(v any) string {
	expression, _ := v.(map[string]any)
	op, _ := expression["op"].(string)
	values, _, err := unstructured.NestedStringSlice(expression, "value")
	if op == "" || err != nil {
		return ""
	}
	kind, _ := expression["type"].(string) // of the values, e.g. version
	switch op {
	case "In", "NotIn", "InRegexp":
		if len(values) == 0 {
			return "by " + op + " with no value"
		}
		for _, text := range values {
			if _, err := regexp.Compile(text); op == "InRegexp" && err != nil {
				return fmt.Sprintf("with the regular expression %q, which is none", text)
			}
		}
	case "Exists", "DoesNotExist", "IsTrue", "IsFalse":
		if len(values) > 0 {
			return "by " + op + ", which takes no value"
		}
	case "Gt", "Ge", "Lt", "Le":
		if len(values) != 1 {
			return fmt.Sprintf("by %s, which takes one value, with %d", op, len(values))
		}
	case "GtLt", "GeLe":
		if len(values) != 2 {
			return fmt.Sprintf("by %s, which takes two values, with %d", op, len(values))
		}
	default:
		return ""
	}
	if strings.ContainsAny(op[:1], "GL") && kind != "version" {
		for _, text := range values {
			if _, err := strconv.Atoi(text); err != nil {
				return fmt.Sprintf("by %s with %q, which is no number", op, text)
			}
		}
	}
	return ""
}
