package monitoring

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/refs/problem/problemtest"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

func TestFind_Monitors(t *testing.T) {
	const prometheus = "apiVersion: monitoring.coreos.com/v1\nkind: Prometheus\nmetadata: {name: p, namespace: x}\nspec: {scrapeInterval: 20s, serviceMonitorSelector: {matchLabels: {read: \"1\"}}, serviceMonitorNamespaceSelector: {}, podMonitorSelector: {}}\n---\n"
	for name, c := range map[string]struct {
		endpoint, want string
		kind, label    string
	}{
		"a port":                     {endpoint: "interval: 1m, scrapeTimeout: 1m"},
		"no interval":                {endpoint: "scrapeTimeout: 20s"},
		"a long timeout":             {endpoint: "interval: 10s, scrapeTimeout: 30s", want: "waits 30s for an answer (scrapeTimeout), and scrapes every 10s (spec.endpoints[0])"},
		"longer than Prometheus'":    {endpoint: "scrapeTimeout: 25s", want: "and scrapes every 20s"},
		"one that nothing selects":   {endpoint: "interval: 10s, scrapeTimeout: 30s", label: "0"},
		"rules":                      {endpoint: "relabelings: [{sourceLabels: [a], targetLabel: b}, {action: labelmap, regex: 'a(.*)'}, {action: Drop, regex: x}]"},
		"no regular expression":      {endpoint: "metricRelabelings: [{action: drop, regex: '(a'}]", want: `with the regular expression "(a", which is none: metricRelabelings[0]`},
		"no target":                  {endpoint: "relabelings: [{sourceLabels: [a], regex: a}]", want: "with the action replace and no targetLabel: relabelings[0]"},
		"no modulus":                 {endpoint: "relabelings: [{action: HashMod, targetLabel: a}]", want: "with the action hashmod and no modulus"},
		"no target of a pod monitor": {kind: "PodMonitor", endpoint: "relabelings: [{action: uppercase}]", want: "with the action uppercase and no targetLabel: relabelings[0] (spec.podMetricsEndpoints[0])"},
	} {
		t.Run(name, func(t *testing.T) {
			kind, list, label := "ServiceMonitor", "endpoints", "1"
			if c.kind != "" {
				kind, list = c.kind, "podMetricsEndpoints"
			}
			if c.label != "" {
				label = c.label
			}
			e := &bundle.Expectation{
				Objects:   problemtest.Objects(t, "c", prometheus+"apiVersion: monitoring.coreos.com/v1\nkind: "+kind+"\nmetadata: {name: m, namespace: x, labels: {read: \""+label+"\"}}\nspec: {selector: {}, "+list+": [{port: a, "+c.endpoint+"}]}\n"),
				Workloads: []bundle.Workload{{Kind: "Deployment", PodSpec: corev1.PodSpec{Containers: []corev1.Container{{Image: "quay.io/prometheus-operator/prometheus-operator:v0.89.0"}}}}},
			}
			got := Find(e)
			if c.want == "" {
				if len(got) > 0 {
					t.Errorf("got %+v", got)
				}
				return
			}
			if len(got) != 1 || !strings.Contains(got[0].Text, c.want) || got[0].Reason != reason.DeployFailed || got[0].Name == "" {
				t.Errorf("got %+v, want %q", got, c.want)
			}
		})
	}
}
