package monitoring

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/refs/problem/problemtest"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

func TestFind_Receivers(t *testing.T) {
	for name, c := range map[string]struct{ spec, secret, config, want string }{
		"a route":             {config: "{route: {receiver: a, routes: [{receiver: b}, {matchers: [x=y]}]}, receivers: [{name: a}, {name: b}]}"},
		"to nowhere":          {config: "{route: {receiver: pager}, receivers: [{name: a}]}", want: "is the configuration of Alertmanager.monitoring.coreos.com x/main, and has a route to receiver pager, which it does not have"},
		"below another":       {config: "{route: {receiver: a, routes: [{routes: [{receiver: b}]}]}, receivers: [{name: a}]}", want: "has a route to receiver b"},
		"no receiver":         {config: "{route: {}, receivers: [{name: a}]}", want: "its first route has no receiver"},
		"no route":            {config: "{receivers: [{name: a}]}", want: "has no route"},
		"two of one name":     {config: "{route: {receiver: a}, receivers: [{name: a}, {name: a}]}", want: "has two receivers a"},
		"no YAML":             {config: "{"},
		"a Secret of its own": {spec: "configSecret: mine", secret: "mine", config: "{route: {receiver: b}}", want: "has a route to receiver b"},
		"of another":          {spec: "configSecret: mine", config: "{route: {receiver: b}}"},
	} {
		t.Run(name, func(t *testing.T) {
			secret := c.secret
			if secret == "" {
				secret = "alertmanager-main"
			}
			e := &bundle.Expectation{
				Objects: problemtest.Objects(t, "c", "apiVersion: monitoring.coreos.com/v1\nkind: Alertmanager\nmetadata: {name: main, namespace: x}\nspec: {"+c.spec+"}\n---\n"+
					"apiVersion: v1\nkind: Secret\nmetadata: {name: "+secret+", namespace: x}\nstringData: {alertmanager.yaml: '"+c.config+"'}\n"),
				Workloads: []bundle.Workload{{Kind: "Deployment", PodSpec: corev1.PodSpec{Containers: []corev1.Container{{Image: "quay.io/prometheus-operator/prometheus-operator:v0.89.0"}}}}},
			}
			got := Find(e)
			if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || !strings.Contains(got[0].Text, c.want) || got[0].Reason != reason.WorkloadFailed) {
				t.Errorf("got %+v, want %q", got, c.want)
			}
		})
	}
}

// TestFind_Routed: an AlertmanagerConfig has its receivers itself.
func TestFind_Routed(t *testing.T) {
	for spec, want := range map[string]string{
		"route: {receiver: a, routes: [{receiver: b}]}, receivers: [{name: a}, {name: b}]": "",
		"route: {receiver: pager}, receivers: [{name: a}]":                                 "has a route to receiver pager, which it does not have",
		"route: {receiver: a, routes: [{receiver: b}]}, receivers: [{name: a}]":            "has a route to receiver b",
		"inhibitRules: []": "",
	} {
		e := &bundle.Expectation{
			Objects:   problemtest.Objects(t, "c", "apiVersion: monitoring.coreos.com/v1alpha1\nkind: AlertmanagerConfig\nmetadata: {name: team, namespace: x}\nspec: {"+spec+"}\n"),
			Workloads: []bundle.Workload{{Kind: "Deployment", PodSpec: corev1.PodSpec{Containers: []corev1.Container{{Image: "quay.io/prometheus-operator/prometheus-operator:v0.89.0"}}}}},
		}
		got := Find(e)
		if want == "" && len(got) > 0 || want != "" && (len(got) != 1 || !strings.Contains(got[0].Text, want) || got[0].Reason != reason.DeployFailed) {
			t.Errorf("%s: got %+v, want %q", spec, got, want)
		}
	}
}
