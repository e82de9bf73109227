package monitoring

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
)

// monitor finds the first mistake of a monitor for which a Prometheus of the bundle leaves it out. One that none
// selects is another check's.
func (f *finder) monitor(o *bundle.Object, endpoints, field string) {
	var by *bundle.Object
	for i := range f.e.Objects {
		p := &f.e.Objects[i]
		if p.Object.GetKind() == "Prometheus" && p.Object.GroupVersionKind().Group == o.Object.GroupVersionKind().Group && facts.Chooses(p.Object, o.Object, field) {
			by = p
			break
		}
	}
	if by == nil {
		return
	}
	usual, _, _ := unstructured.NestedString(by.Object.Object, "spec", "scrapeInterval")
	all, _, _ := unstructured.NestedSlice(o.Object.Object, "spec", endpoints)
	for i, e := range all {
		endpoint, _ := e.(map[string]any)
		if m := misread(endpoint, cmp.Or(usual, "30s")); m != nil {
			m.text += fmt.Sprintf(" (spec.%s[%d])", endpoints, i)
			f.add(o, m, fmt.Sprintf("prometheus-operator leaves the object out, and %s scrapes nothing of it", by.Ref()))
			return
		}
	}
}

// misread is what the operator would say of an endpoint; nil if that is nothing.
func misread(endpoint map[string]any, usual string) *mistake {
	interval, _ := endpoint["interval"].(string)
	timeout, _ := endpoint["scrapeTimeout"].(string)
	each, ok := duration(cmp.Or(interval, usual))
	waits, given := duration(timeout)
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

func duration(text string) (time.Duration, bool) {
	d, err := model.ParseDuration(text)
	return time.Duration(d), err == nil
}
