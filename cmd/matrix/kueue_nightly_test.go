//go:build nightly

package main

import (
	_ "embed"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/infra/stack"
)

// moduleChart copies a chart of a module of kwok/schedulers/go.mod, the one whose program is
// compiled from it, into a directory of charts.
func moduleChart(t *testing.T, charts, module, path, name string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", module)
	cmd.Dir = "../../kwok/schedulers"
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("find the module %s: %v", module, err)
	}
	if err := os.CopyFS(filepath.Join(charts, name), os.DirFS(filepath.Join(strings.TrimSpace(string(out)), path))); err != nil {
		t.Fatal(err)
	}
}

const recipeHead = "kind: RecipeMetadata\napiVersion: aicr.nvidia.com/v1alpha1\nmetadata: "

// noRecipes is a recipes directory without overlays, and without probes but one.
func noRecipes(t *testing.T, probe string) string {
	t.Helper()
	dir := fewRecipes(t)
	for _, pattern := range []string{"overlays/*.yaml", "probes/*.yaml"} {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if filepath.Base(f) == probe {
				continue
			}
			if err := os.Remove(f); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

// onlyRecipe has one recipe, trains, with one component, and one probe of the same name.
func onlyRecipe(t *testing.T, component, registry, ref, values, probe string) string {
	t.Helper()
	dir := noRecipes(t, "")
	old, err := os.ReadFile(filepath.Join(dir, "registry.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"registry.yaml": strings.TrimRight(string(old), "\n") + "\n" + registry,
		"components/" + component + "/values.yaml": values,
		"overlays/base.yaml":                       recipeHead + "{name: base}\nspec:\n  componentRefs:\n    - {name: " + component + ", type: Helm, " + ref + ", valuesFile: components/" + component + "/values.yaml}\n",
		"overlays/trains.yaml":                     recipeHead + "{name: trains}\nspec:\n  base: base\n  criteria: {service: eks, accelerator: h100, intent: training}\n",
		"probes/" + component + ".yaml":            probe,
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const kueueRegistry = `  - name: kueue
    displayName: Kueue
    helm: {defaultRepository: "oci://registry.k8s.io/kueue/charts", defaultChart: kueue, defaultVersion: 0.15.0, defaultNamespace: kueue-system}
    nodeScheduling:
      system: {nodeSelectorPaths: [controllerManager.nodeSelector], tolerationPaths: [controllerManager.tolerations]}
`

const kueueValues = `controllerManager:
  manager:
    image: {repository: registry.k8s.io/kueue/kueue, tag: v0.15.0, pullPolicy: IfNotPresent}
`

// kueueProbe is a Job with all GPUs, in a queue that has as many.
//
//go:embed testdata/objects/kueue_probe.yaml
var kueueProbe string

func kueueRecipes(t *testing.T) string {
	t.Helper()
	return onlyRecipe(t, "kueue", kueueRegistry, `source: "oci://registry.k8s.io/kueue/charts", version: 0.15.0`, kueueValues, kueueProbe)
}

// TestNightlyKueueInCells: a recipe's own Kueue, of its original chart, runs as its pod: it admits
// the Job of a probe through its webhooks. A queue without quota, a flavor that does not exist and
// what its webhooks reject fail the probe in Kueue's words.
func TestNightlyKueueInCells(t *testing.T) {
	t.Parallel()
	paths := needSchedulers(t, stack.GroupKueue)
	p := newProgram(t, buildProgram(t), paths)
	charts := t.TempDir()
	moduleChart(t, charts, "sigs.k8s.io/kueue", "charts/kueue", "kueue")
	args := func(dir string, more ...string) []string {
		return append([]string{"run", "trains", "--recipes-dir", dir, "--charts", charts, "--probes", "--operators", "real", "--deployer", "helm"}, more...)
	}
	green := p.run(t, 10*time.Minute, nil, args(kueueRecipes(t), "--deployer", "argocd-oci,flux-oci", "--parallel", "1", "-o", "json")...)
	green.want(t, 0, "operator kueue (Deployment kueue-system/kueue-controller-manager): real, v0.15.0", "4 pods on 4 nodes, by default-scheduler (the real one)")
	if strings.Contains(green.stdout.String(), "kueue-mutating-webhook-configuration (kueue): not called") {
		t.Errorf("Kueue runs, and its webhooks are not called:\n%s", green.stdout)
	}
	for _, c := range []struct{ name, from, to, want string }{
		{"without quota", "nominalQuota: {{ .GPUs }}", "nominalQuota: 0", "Job train is not admitted by Kueue: couldn't assign flavors to pod set main"},
		{"unknown flavor", "- name: gpus\n", "- name: other\n", "Job train is not admitted by Kueue: ClusterQueue all is inactive: Can't admit new workloads: "},
		{"unknown queue", "queue-name: mine", "queue-name: other", "Job train is not admitted by Kueue: LocalQueue other doesn't exist"},
		{"refused by its webhook", "queue-name: mine", "queue-name: Not_A_Name", "Job aicr-probes/train: the API server rejects it: admission webhook"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := kueueRecipes(t)
			edit(t, filepath.Join(dir, "probes", "kueue.yaml"), c.from, c.to)
			p.run(t, 5*time.Minute, nil, args(dir)...).want(t, 65, c.want)
		})
	}
	for _, c := range []struct {
		name, from, to string
		code           int
		want           string
	}{
		{"the recipe's queues", "", "", 0, "1 passed"},
		{"a Job of the recipe in a queue without its flavor", "{name: gpus}\n---", "{name: others}\n---", 1, "Job teams/train (kueue): it is not admitted by Kueue: ClusterQueue all is inactive: Can't admit new workloads: references missing ResourceFlavor(s)"},
		{"a queue of the recipe without its flavor", kueueFlavor + "---\n", "", 51, "ClusterQueue.kueue.x-k8s.io all is not Active: Can't admit new workloads: references missing ResourceFlavor(s)"},
		{"a queue that is stopped", "spec: {namespaceSelector: {},", "spec: {stopPolicy: Hold, namespaceSelector: {},", 1, "is not admitted by Kueue: "},
		{"a Job of the recipe in a queue without quota", "nominalQuota: 8", "nominalQuota: 0", 1, "Job teams/train (kueue): it is not admitted by Kueue: couldn't assign flavors to pod set main"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := onlyRecipe(t, "kueue", kueueRegistry, `source: "oci://registry.k8s.io/kueue/charts", version: 0.15.0, manifestFiles: [components/kueue/manifests/queues.yaml]`, kueueValues, kueueProbe)
			file := filepath.Join(dir, "components", "kueue", "manifests", "queues.yaml")
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(kueueQueues), 0o644); err != nil {
				t.Fatal(err)
			}
			if c.from != "" {
				edit(t, file, c.from, c.to)
			}
			if c.code == 51 {
				edit(t, file, kueueJob, "")
			}
			p.run(t, 5*time.Minute, nil, "run", "trains", "--recipes-dir", dir, "--charts", charts, "--operators", "real", "--deployer", "helm").want(t, c.code, c.want)
		})
	}
}

// kueueQueues are a recipe's own queues, and a Job in them.
var kueueQueues = "apiVersion: v1\nkind: Namespace\nmetadata: {name: teams}\n---\n" + kueueFlavor + `---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: all}
spec: {namespaceSelector: {}, resourceGroups: [{coveredResources: [nvidia.com/gpu], flavors: [{name: gpus, resources: [{name: nvidia.com/gpu, nominalQuota: 8}]}]}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: mine, namespace: teams}
spec: {clusterQueue: all}
` + kueueJob

const kueueFlavor = "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata: {name: gpus}\n"

//go:embed testdata/objects/kueue_job.yaml
var kueueJob string
