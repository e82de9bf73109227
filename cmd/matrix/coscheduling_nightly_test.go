//go:build nightly

package main

import (
	_ "embed"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/infra/stack"
)

const coschedulingRegistry = `  - name: scheduler-plugins
    displayName: scheduler-plugins
    helm: {defaultRepository: "https://scheduler-plugins.sigs.k8s.io", defaultChart: scheduler-plugins/scheduler-plugins, defaultVersion: 0.34.7, defaultNamespace: scheduler-plugins}
    nodeScheduling:
      system:
        nodeSelectorPaths: [scheduler.nodeSelector, controller.nodeSelector]
        tolerationPaths: [scheduler.tolerations, controller.tolerations]
`

// coschedulingProbe is a gang with a pod on each node, each with all of its GPUs.
//
//go:embed testdata/objects/coscheduling_probe.yaml
var coschedulingProbe string

// TestNightlyCoschedulingInCells: a recipe's own coscheduling, of its original chart, runs as its pod and places the
// gang of a probe. A gang that never is complete is not placed, for which its own sentence is the reason.
func TestNightlyCoschedulingInCells(t *testing.T) {
	t.Parallel()
	paths := needSchedulers(t, stack.GroupCoscheduling)
	p := newProgram(t, buildProgram(t), paths)
	charts := t.TempDir()
	moduleChart(t, charts, "sigs.k8s.io/scheduler-plugins", "manifests/install/charts/as-a-second-scheduler", "scheduler-plugins")
	crds := t.TempDir() // which the chart has as a link
	moduleChart(t, crds, "sigs.k8s.io/scheduler-plugins", "config/crd/bases", "crds")
	if err := os.MkdirAll(filepath.Join(charts, "scheduler-plugins", "crds"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"scheduling.x-k8s.io_podgroups.yaml", "scheduling.x-k8s.io_elasticquotas.yaml"} {
		text, err := os.ReadFile(filepath.Join(crds, "crds", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(charts, "scheduler-plugins", "crds", name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	recipes := func() string {
		return onlyRecipe(t, "scheduler-plugins", coschedulingRegistry, `source: "https://scheduler-plugins.sigs.k8s.io", version: 0.34.7`, "plugins: {enabled: [Coscheduling]}\n", coschedulingProbe)
	}
	args := func(dir string, more ...string) []string {
		return append([]string{"run", "trains", "--recipes-dir", dir, "--charts", charts, "--probes", "--operators", "real", "--deployer", "helm"}, more...)
	}
	p.run(t, 10*time.Minute, nil, args(recipes(), "--deployer", "argocd-oci,flux-oci", "--parallel", "1", "-o", "json")...).
		want(t, 0, "operator coscheduling (Deployment scheduler-plugins/scheduler-plugins-scheduler): real, v0.34.7", "4 pods on 4 nodes, by scheduler-plugins-scheduler")
	dir := recipes()
	edit(t, filepath.Join(dir, "probes", "scheduler-plugins.yaml"), "minMember: {{ .Nodes }}", "minMember: 64")
	p.run(t, 5*time.Minute, nil, args(dir)...).want(t, 65, "0 of 4 pods placed", "cannot find enough sibling pods")
}
