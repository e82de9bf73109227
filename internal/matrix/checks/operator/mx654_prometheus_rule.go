package operator

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/template/parse"

	"github.com/prometheus/prometheus/promql/parser"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var prometheusRule = judge.Check{
	ID: "MX654", Name: "prometheus-rule-refused", Needs: judge.Rendered, Kinds: judge.KindsOf(monitoring, "PrometheusRule"), Gives: reason.DeployFailed,
	Title: "Prometheus can read each rule of a PrometheusRule",
	Why: "prometheus-operator checks rules by Prometheus' own code (https://prometheus-operator.dev/docs/platform/webhook/), and leaves out an object with one that is wrong. Expressions are read by Prometheus' parser here too; " +
		"a function that it does not know may be one of a later version. A warning where the bundle has no prometheus-operator.",
	Fix:  "Correct the rule; promtool check rules says the same.",
	Says: "rule %s of group %v %s", Then: "prometheus-operator's webhook refuses it; without the webhook, Prometheus never gets any rule of this object",
	Run: func(s *judge.Scope) {
		for _, o := range s.OfKind(judge.KindsOf(monitoring, "PrometheusRule")...) {
			groups, _, _ := unstructured.NestedSlice(o.Object.Object, "spec", "groups")
			for i, g := range groups {
				group, _ := g.(map[string]any)
				all, _ := group["rules"].([]any)
				for j, r := range all {
					rule, _ := r.(map[string]any)
					m := wrongRule(rule)
					if m == nil {
						continue
					}
					found := s.Report(o, fmt.Sprintf("spec.groups[%d].rules[%d]", i, j), ruleName(rule), group["name"], m.text).SetBy(m.name).OneCause(o.Ref().String())
					if operated(s, found, reason.DeployFailed); m.unsure {
						found.Warning()
					}
				}
			}
		}
	},
}

func ruleName(rule map[string]any) string {
	for _, key := range []string{"alert", "record"} {
		if name, _ := rule[key].(string); name != "" {
			return name
		}
	}
	return "without a name"
}

// wrongRule is what Prometheus would say of a rule; nil if that is nothing. A field of another type is the API
// server's to refuse.
func wrongRule(rule map[string]any) *mistake {
	alert, _ := rule["alert"].(string)
	record, _ := rule["record"].(string)
	annotations, _, _ := unstructured.NestedStringMap(rule, "annotations")
	labels, _, _ := unstructured.NestedStringMap(rule, "labels")
	expr, isText := rule["expr"].(string)
	switch {
	case alert == "" && record == "":
		return &mistake{name: expr, text: "is neither an alert nor a record"}
	case alert != "" && record != "":
		return &mistake{name: record, text: "is both an alert and a record"}
	case isText && strings.TrimSpace(expr) == "":
		return &mistake{name: ruleName(rule), text: "has no expression"}
	case record != "" && len(annotations) > 0:
		return &mistake{name: record, text: "is a record, and has annotations"}
	case record != "" && strings.ContainsAny(record, "{}"):
		return &mistake{name: record, text: "is a record whose name has braces"}
	}
	for _, field := range []string{"for", "keep_firing_for"} {
		if v, _ := rule[field].(string); record != "" && strings.Trim(v, "0ywdhms") != "" {
			return &mistake{name: record, text: "is a record, and has " + field}
		}
	}
	if isText {
		if _, err := parser.ParseExpr(expr); err != nil {
			return &mistake{name: strings.TrimSpace(expr), text: "has an expression that is no PromQL: " + err.Error(), unsure: ofLater(err)}
		}
	}
	for _, texts := range []map[string]string{labels, annotations} {
		for _, key := range slices.Sorted(maps.Keys(texts)) {
			if err := templated(texts[key]); err != nil {
				return &mistake{name: texts[key], text: fmt.Sprintf("has a text %s that is no template: %v", key, err)}
			}
		}
	}
	return nil
}

// ofLater reports whether an error may come from what only another version of Prometheus, or an experimental
// feature of it, has: a function.
func ofLater(err error) bool {
	return strings.Contains(err.Error(), "unknown function") || strings.Contains(err.Error(), "experimental")
}

// templated reads a text as Prometheus does, which defines some variables first. Which functions there are, its
// version says.
func templated(text string) error {
	const head = "{{$labels := .Labels}}{{$externalLabels := .ExternalLabels}}{{$externalURL := .ExternalURL}}{{$value := .Value}}"
	t := parse.New("text")
	t.Mode = parse.SkipFuncCheck
	_, err := t.Parse(head+text, "", "", map[string]*parse.Tree{})
	return err
}
