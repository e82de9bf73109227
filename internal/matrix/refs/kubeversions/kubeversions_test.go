package kubeversions

import (
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
)

func TestFind(t *testing.T) {
	const version = "v1.36.4"
	node := func(label string) []corev1.Node {
		n := corev1.Node{}
		n.Labels = map[string]string{"kubernetes.io/os": "linux", label: "x"}
		return []corev1.Node{{}, n}
	}
	eks, gke, aks := node("eks.amazonaws.com/nodegroup"), node("cloud.google.com/gke-nodepool"), node("kubernetes.azure.com/cluster")
	made := func(constraint string, templates ...string) *chart.Chart {
		ch := &chart.Chart{Metadata: &chart.Metadata{Name: "b", Version: "1.0.0", KubeVersion: constraint}}
		ch.Raw = []*chart.File{{Name: "Chart.yaml", Data: []byte("name: b\nkubeVersion: x\n")}}
		for _, text := range templates {
			ch.Templates = append(ch.Templates, &chart.File{Name: "templates/_h.tpl", Data: []byte(text)})
		}
		return ch
	}
	inner := made("")
	inner.AddDependency(made(">= 1.25.0", "\n{{ if (semverCompare `>=1.25` $.Capabilities.KubeVersion.GitVersion) }}"))
	for name, c := range map[string]struct {
		chart *chart.Chart
		nodes []corev1.Node
		asks  bool
		want  string
		where string
	}{
		"EKS":                    {made(">= 1.21.0"), eks, true, `DEPLOY_FAILED: is of chart b 1.0.0, whose kubeVersion is ">= 1.21.0", and to that the API server of EKS, e.g. v1.36.4-eks-3025e55, is a pre-release; Helm does not install the chart there, also in Flux (Argo CD does): write ">= 1.21.0-0"`, "b/Chart.yaml:2"},
		"GKE":                    {made(">=1.21.0 <2.0.0"), gke, true, `the API server of GKE, e.g. v1.36.4-gke.1386000, is a pre-release`, "b/Chart.yaml:2"},
		"where no one asks":      {made(">= 1.21.0"), eks, false, ": is of chart b 1.0.0, whose kubeVersion", "b/Chart.yaml:2"},
		"a provider without":     {made(">= 1.21.0"), aks, true, "", ""},
		"with pre-releases":      {made(">= 1.21.0-0"), eks, true, "", ""},
		"none at all":            {made(""), eks, true, "", ""},
		"another's fault":        {made(">= 1.99.0"), eks, true, "", ""},
		"a template":             {made("", "a\n{{- if semverCompare \">=1.21.0\" .Capabilities.KubeVersion.Version -}}"), eks, true, `: is of chart b 1.0.0, of which a template compares the version with ">=1.21.0"`, "b/templates/_h.tpl:2"},
		"a template that takes":  {made("", "{{- if semverCompare \">=1.21-0\" .Capabilities.KubeVersion.Version -}}"), eks, true, "", ""},
		"one for older versions": {made("", "{{- if semverCompare \"<1.21\" .Capabilities.KubeVersion.Version -}}"), eks, true, "", ""},
		"of another version":     {made("", "{{- if semverCompare \">=1.21.0\" .Values.version -}}"), eks, true, "", ""},
		"of a chart in it":       {inner, eks, true, `of which a template compares the version with ">=1.25"`, "b/charts/b/templates/_h.tpl:2"},
	} {
		t.Run(name, func(t *testing.T) {
			o := bundle.Object{Component: "b", Template: "b/templates/x.yaml", Chart: c.chart, Object: testkit.Parsed(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}")}
			e := &bundle.Expectation{Objects: []bundle.Object{o, o}}
			if Any(e) != (c.chart.Metadata.KubeVersion != "") {
				t.Errorf("Any: got %v", Any(e))
			}
			var got, where string
			found := Find(e, c.nodes, version, c.asks)
			for _, p := range found {
				got, where = string(p.Reason)+": "+p.Text+"; "+p.Then, p.Template
				if p.Reason != "" && p.Reason != reason.DeployFailed {
					t.Errorf("got reason %s", p.Reason)
				}
			}
			if len(found) > 1 || (len(found) > 0) != (c.want != "") || !strings.Contains(got, c.want) || where != c.where {
				t.Errorf("got %d, the last %q at %s, want %q at %s", len(found), got, where, c.want, c.where)
			}
		})
	}
}
