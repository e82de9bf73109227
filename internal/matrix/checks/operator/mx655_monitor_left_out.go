package operator

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// endpoints are where monitors have their endpoints, and the field of a Prometheus that selects them.
var endpoints = []struct{ kind, list, field string }{
	{"ServiceMonitor", "endpoints", "serviceMonitor"},
	{"PodMonitor", "podMetricsEndpoints", "podMonitor"},
}

var monitorLeftOut = judge.Check{
	ID: "MX655", Name: "monitor-left-out", Needs: judge.Rendered, Kinds: judge.KindsOf(monitoring, "ServiceMonitor", "PodMonitor"), Gives: reason.DeployFailed,
	Title: "prometheus-operator takes the endpoints of a monitor",
	Why: "prometheus-operator checks each monitor that a Prometheus selects, and leaves out one whose scrapeTimeout is longer than its interval or whose relabelings Prometheus would not read " +
		"(https://github.com/prometheus-operator/prometheus-operator/blob/main/pkg/prometheus/resource_selector.go). It says so in an event and a metric. A warning where the bundle has no prometheus-operator.",
	Fix:  "Correct the field that the finding names.",
	Says: "%s (%s)", Then: "prometheus-operator leaves the object out, and %[3]s scrapes nothing of it",
	Run: func(s *judge.Scope) {
		for _, in := range endpoints {
			for _, o := range s.OfKind(judge.KindsOf(monitoring, in.kind)...) {
				by := selectedBy(s, o, in.field)
				if by == nil {
					continue // another check's
				}
				all, _, _ := unstructured.NestedSlice(o.Object.Object, "spec", in.list)
				for i, e := range all {
					endpoint, _ := e.(map[string]any)
					if m := misread(endpoint, cmp.Or(facts.Text(by.Object, "spec.scrapeInterval"), "30s")); m != nil {
						path := fmt.Sprintf("spec.%s[%d]", in.list, i)
						operated(s, s.Report(o, path, m.text, path, by.Ref()).SetBy(m.name).OneCause(o.Ref().String()), reason.DeployFailed)
						break
					}
				}
			}
		}
	},
}

// selectedBy is the first Prometheus that may select a monitor; nil if none does.
func selectedBy(s *judge.Scope, o *bundle.Object, field string) *bundle.Object {
	for _, p := range s.OfKind(judge.KindsOf(monitoring, "Prometheus")...) {
		if facts.Chooses(p.Object, o.Object, field) {
			return p
		}
	}
	return nil
}

// misread is what the operator would say of an endpoint; nil if that is nothing.
func misread(endpoint map[string]any, usual string) *mistake {
	interval, _ := endpoint["interval"].(string)
	timeout, _ := endpoint["scrapeTimeout"].(string)
	each, ok := promDuration(cmp.Or(interval, usual))
	waits, given := promDuration(timeout)
	if ok && given && waits > each {
		return &mistake{name: timeout, text: fmt.Sprintf("waits %s for an answer (scrapeTimeout), and scrapes every %s", timeout, cmp.Or(interval, usual))}
	}
	for _, list := range []string{"relabelings", "metricRelabelings"} {
		all, _, _ := unstructured.NestedSlice(endpoint, list)
		for i, r := range all {
			rule, _ := r.(map[string]any)
			if name, why := relabels(rule); why != "" {
				return &mistake{name: name, text: fmt.Sprintf("has a rule for labels %s: %s[%d]", why, list, i)}
			}
		}
	}
	return nil
}

// relabels is what is wrong with a rule for labels, and the text that the recipe sets.
func relabels(rule map[string]any) (name, why string) {
	action, _ := rule["action"].(string)
	target, _ := rule["targetLabel"].(string)
	regex, _ := rule["regex"].(string)
	if _, err := regexp.Compile("^(?s:" + regex + ")$"); err != nil {
		return regex, fmt.Sprintf("with the regular expression %q, which is none", regex)
	}
	switch action = strings.ToLower(cmp.Or(action, "replace")); action {
	case "replace", "hashmod", "lowercase", "uppercase", "keepequal", "dropequal":
		if target == "" {
			return action, "with the action " + action + " and no targetLabel"
		}
	}
	if n, _, _ := unstructured.NestedInt64(rule, "modulus"); action == "hashmod" && n == 0 {
		return action, "with the action hashmod and no modulus"
	}
	return "", ""
}

func promDuration(text string) (time.Duration, bool) {
	d, err := model.ParseDuration(text)
	return time.Duration(d), err == nil
}
