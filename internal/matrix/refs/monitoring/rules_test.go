package monitoring

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/refs/problem/problemtest"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

func TestFind_Rules(t *testing.T) {
	alert := func(more string) string { return "alert: Hot, expr: up == 0" + more }
	for name, c := range map[string]struct {
		rule, want string
		without    bool // prometheus-operator
		warning    bool
	}{
		"an alert":                 {rule: alert(", for: 5m, labels: {severity: warning}, annotations: {summary: '{{ $labels.gpu }} has {{ $value | humanize }}'}")},
		"a record":                 {rule: "record: 'job:up:sum', expr: sum by (job) (up)"},
		"a record with for: 0":     {rule: "record: a, expr: up, for: 0s"},
		"a number":                 {rule: "record: a, expr: 1"},
		"no PromQL":                {rule: "alert: Hot, expr: 'max by (gpu (x) > 85'", want: "rule Hot of group g has an expression that is no PromQL: "},
		"an operator without text": {rule: "alert: Hot, expr: 'up =='", want: "unexpected end of input"},
		"a vector in place of one": {rule: "alert: Hot, expr: rate(up)", want: "expected type range vector"},
		"of another program":       {rule: "alert: Hot, expr: rate(up)", want: "expected type range vector", without: true, warning: true},
		"a function of later":      {rule: "alert: Hot, expr: brew(up)", want: `unknown function with name "brew"`, warning: true},
		"an experimental function": {rule: "alert: Hot, expr: 'limitk(2, up)'", want: "experimental", warning: true},
		"no expression":            {rule: "alert: Hot, expr: ' '", want: "rule Hot of group g has no expression"},
		"no name":                  {rule: "expr: up", want: "rule without a name of group g is neither an alert nor a record"},
		"two names":                {rule: "alert: A, record: b, expr: up", want: "is both an alert and a record"},
		"a record with for":        {rule: "record: a, expr: up, for: 5m", want: "is a record, and has for"},
		"a record with annotation": {rule: "record: a, expr: up, annotations: {a: b}", want: "is a record, and has annotations"},
		"a record of a query":      {rule: "record: 'up{job=\"a\"}', expr: up", want: "whose name has braces"},
		"a template that is open":  {rule: alert(", annotations: {summary: '{{ $labels.gpu is hot'}"), want: "has a text summary that is no template: "},
		"a variable of nothing":    {rule: alert(", labels: {severity: '{{ $label.gpu }}'}"), want: `undefined variable "$label"`},
	} {
		t.Run(name, func(t *testing.T) {
			e := &bundle.Expectation{Objects: problemtest.Objects(t, "c", "apiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule\nmetadata: {name: r, namespace: x}\nspec: {groups: [{name: g, rules: [{"+c.rule+"}]}]}\n")}
			if !c.without {
				e.Workloads = []bundle.Workload{{Kind: "Deployment", PodSpec: corev1.PodSpec{Containers: []corev1.Container{{Image: "quay.io/prometheus-operator/prometheus-operator:v0.89.0"}}}}}
			}
			got := Find(e)
			if c.want == "" {
				if len(got) > 0 {
					t.Errorf("got %+v", got)
				}
				return
			}
			if len(got) != 1 || !strings.Contains(got[0].Text, c.want) {
				t.Fatalf("got %+v, want %q", got, c.want)
			}
			if want := map[bool]reason.Reason{false: reason.DeployFailed}[c.warning]; got[0].Reason != want || got[0].Name == "" || got[0].Then == "" {
				t.Errorf("got %+v, want the reason %q", got[0], want)
			}
		})
	}
}
