package monitoring

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/template/parse"

	"github.com/prometheus/prometheus/promql/parser"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// rules finds the first mistake of each rule of an object.
func (f *finder) rules(o *bundle.Object) {
	groups, _, _ := unstructured.NestedSlice(o.Object.Object, "spec", "groups")
	for _, g := range groups {
		group, _ := g.(map[string]any)
		all, _ := group["rules"].([]any)
		for _, r := range all {
			rule, _ := r.(map[string]any)
			if m := wrong(rule); m != nil {
				m.text = fmt.Sprintf("rule %s of group %v %s", title(rule), group["name"], m.text)
				f.add(o, m, "prometheus-operator's webhook refuses it; without the webhook, Prometheus never gets any rule of this object")
			}
		}
	}
}

// mistake is what is wrong with a rule, and the text of it that the recipe sets. It may be right for a later
// Prometheus if that is unsure.
type mistake struct {
	name, text string
	unsure     bool
}

func title(rule map[string]any) string {
	for _, key := range []string{"alert", "record"} {
		if name, _ := rule[key].(string); name != "" {
			return name
		}
	}
	return "without a name"
}

// wrong is what Prometheus would say of a rule; nil if that is nothing. A field of another type is the API
// server's to refuse.
func wrong(rule map[string]any) *mistake {
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
		return &mistake{name: title(rule), text: "has no expression"}
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
			return &mistake{name: strings.TrimSpace(expr), text: "has an expression that is no PromQL: " + err.Error(), unsure: later(err)}
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

// later reports whether an error may come from what only another version of Prometheus, or an experimental
// feature of it, has: a function.
func later(err error) bool {
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
