package operator

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

const nfd = "nfd.k8s-sigs.io"

var featureRule = judge.Check{
	ID: "MX650", Name: "feature-rule-does-nothing", Needs: judge.Rendered, Kinds: judge.KindsOf(nfd, "NodeFeatureRule", "NodeFeatureGroup"),
	Title: "Node Feature Discovery can evaluate its rules, and may set their labels",
	Why: "nfd-master checks the number and the type of an expression's values when it evaluates a rule, and takes labels of kubernetes.io only below two of its own domains. It says so in its log, and in no status " +
		"(https://kubernetes-sigs.github.io/node-feature-discovery/stable/usage/customization-guide.html#nodefeaturerule-custom-resource). It does not run in a cell.",
	Fix:  "Give the operator the values that it takes; use a label of feature.node.kubernetes.io or of a domain of your own.",
	Says: "rule %v %s", Then: "nfd-master says so in its log, and labels no node by it",
	Run: func(s *judge.Scope) {
		for _, k := range [][2]string{{"NodeFeatureRule", "rules"}, {"NodeFeatureGroup", "featureGroupRules"}} {
			kind, list := k[0], k[1]
			for _, o := range s.OfKind(judge.KindsOf(nfd, kind)...) {
				all, _, _ := unstructured.NestedSlice(o.Object.Object, "spec", list)
				for i, r := range all {
					rule, _ := r.(map[string]any)
					if name, why := unevaluated(rule); why != "" {
						s.Report(o, fmt.Sprintf("spec.%s[%d]", list, i), rule["name"], why).SetBy(name)
					}
				}
			}
		}
	},
}

// unevaluated is why nfd-master does nothing of a rule, and the text that the recipe sets.
func unevaluated(rule map[string]any) (name, why string) {
	alternatives, _ := rule["matchAny"].([]any)
	for _, m := range append([]any{rule}, alternatives...) {
		matcher, _ := m.(map[string]any)
		features, _ := matcher["matchFeatures"].([]any)
		for _, f := range features {
			feature, _ := f.(map[string]any)
			expressions, _ := feature["matchExpressions"].(map[string]any)
			for _, key := range slices.Sorted(maps.Keys(expressions)) {
				if why := badExpression(expressions[key]); why != "" {
					return key, fmt.Sprintf("compares %s of %v %s", key, feature["feature"], why)
				}
			}
			if why := badExpression(feature["matchName"]); why != "" {
				return "matchName", fmt.Sprintf("compares the names of %v %s", feature["feature"], why)
			}
		}
	}
	labels, _, _ := unstructured.NestedStringMap(rule, "labels")
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if domain, _, ok := strings.Cut(key, "/"); ok && ofKubernetes(domain) {
			return key, fmt.Sprintf("is to set the label %s, and Node Feature Discovery sets none of kubernetes.io but feature.node.kubernetes.io and profile.node.kubernetes.io", key)
		}
	}
	return "", ""
}

// ofKubernetes reports whether labels of a domain are Kubernetes' own, which nfd-master leaves alone.
func ofKubernetes(domain string) bool {
	of := func(parent string) bool { return domain == parent || strings.HasSuffix(domain, "."+parent) }
	return of("kubernetes.io") && !of("feature.node.kubernetes.io") && !of("profile.node.kubernetes.io")
}

// badExpression is why an expression cannot be evaluated. The operators themselves are the API server's to check.
func badExpression(v any) string {
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
