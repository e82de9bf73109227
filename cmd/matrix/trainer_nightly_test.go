//go:build nightly

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/infra/stack"
)

// trainerRecipes has one recipe, trains, with only Kubeflow Trainer, and one probe, with a
// TrainJob.
func trainerRecipes(t *testing.T) string {
	t.Helper()
	dir := noRecipes(t, "kubeflow-trainjob.yaml")
	for name, text := range map[string]string{
		"base": recipeHead + "{name: base}\nspec:\n  componentRefs:\n    - name: kubeflow-trainer\n      type: Helm\n      source: oci://ghcr.io/kubeflow/charts\n      version: 2.1.0\n" +
			"      valuesFile: components/kubeflow-trainer/values.yaml\n      manifestFiles: [components/kubeflow-trainer/manifests/torch-distributed.yaml]\n",
		"trains": recipeHead + "{name: trains}\nspec:\n  base: base\n  criteria: {service: eks, accelerator: h100, intent: training}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, "overlays", name+".yaml"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestNightlyTrainerInCells: the TrainJob of a recipe's users is reconciled by the real Trainer and
// the real JobSet, by the recipe's runtime and through webhooks that only they have. What they
// reject, and a pod that fits nowhere, fails the probe with file and line; a program that cannot
// work with the recipe's definitions, or ends, is no fault of the recipe.
func TestNightlyTrainerInCells(t *testing.T) {
	t.Parallel()
	paths := needSchedulers(t, stack.GroupJobSet, stack.GroupTrainer)
	p := newProgram(t, buildProgram(t), paths)
	args := func(dir string, more ...string) []string {
		return append([]string{"run", "trains", "--recipes-dir", dir, "--deployer", "helm", "--probes", "--controller", "trainer"}, more...)
	}
	probe := func(dir string) string { return filepath.Join(dir, "probes", "kubeflow-trainjob.yaml") }

	artifacts := filepath.Join(t.TempDir(), "artifacts")
	green := p.run(t, 5*time.Minute, nil, args(trainerRecipes(t), "--deployer", "flux-oci", "--parallel", "1", "--artifacts", artifacts, "-o", "json")...)
	green.want(t, 0, "4 pods on 4 nodes, by default-scheduler (the real one); made by Kubeflow Trainer v2.1.0 and JobSet v0.10.1 (the real ones): Job trainjob-node-0 of JobSet trainjob",
		"podTemplateOverrides add a toleration of kwok.x-k8s.io/node", "JobSet v0.10.1, Kubeflow Trainer v2.1.0 run as their own programs", "ValidatingWebhookConfiguration validator.trainer.kubeflow.org (kubeflow-trainer): not called")
	for _, unwanted := range []string{"Kubeflow Trainer is simulated", "does not install the definitions"} {
		if strings.Contains(green.stdout.String(), unwanted) {
			t.Errorf("the result says %q:\n%s", unwanted, green.stdout)
		}
	}
	for _, program := range []string{"jobset", "trainer", "kube-apiserver-webhooks", "etcd-webhooks"} {
		for _, lane := range []string{"helm", "flux-oci"} {
			logs, err := filepath.Glob(filepath.Join(artifacts, "kwok-logs-trains-"+lane+"-*", "logs", program+".log"))
			if err != nil || len(logs) != 1 {
				t.Errorf("logs of %s in the artifacts of %s: %q, %v", program, lane, logs, err)
			}
		}
	}

	own := p.run(t, 10*time.Minute, nil, "run", "trains", "--recipes-dir", trainerRecipes(t), "--deployer", "helm", "--probes", "--operators", "real", "-o", "json")
	own.want(t, 0, "operator kubeflow-trainer (Deployment kubeflow/kubeflow-trainer-controller-manager): real, v2.1.0", "operator jobset (Deployment kubeflow/jobset-controller): real, v0.10.1",
		"made by Kubeflow Trainer v2.1.0 and JobSet v0.10.1 (of the recipe's own pods): Job trainjob-node-0 of JobSet trainjob")
	if strings.Contains(own.stdout.String(), "validator.trainer.kubeflow.org (kubeflow-trainer): not called") {
		t.Errorf("Trainer runs, and its webhook is not called:\n%s", own.stdout)
	}
	unknown := trainerRecipes(t)
	edit(t, probe(unknown), "name: torch-distributed", "name: no-such-runtime")
	p.run(t, 5*time.Minute, nil, "run", "trains", "--recipes-dir", unknown, "--deployer", "helm", "--probes", "--operators", "real").
		want(t, 65, "probe kubeflow-trainjob: TrainJob aicr-probes/trainjob: the API server rejects it: admission webhook", `"no-such-runtime" not found`)

	without := trainerRecipes(t)
	edit(t, filepath.Join(without, "components", "kubeflow-trainer", "values.yaml"), "install: true", "install: false")
	p.run(t, 5*time.Minute, nil, args(without, "-o", "json")...).
		want(t, 0, "(the real ones): Job trainjob-node-0 of JobSet trainjob", "the recipe does not install the definitions jobsets.jobset.x-k8s.io; the programs' own were installed")

	missing := trainerRecipes(t)
	edit(t, probe(missing), "name: torch-distributed", "name: no-such-runtime")
	p.run(t, 5*time.Minute, nil, args(missing)...).
		want(t, 65, "probe kubeflow-trainjob: TrainJob aicr-probes/trainjob: the API server rejects it: admission webhook", `"no-such-runtime" not found`, "kubeflow-trainjob.yaml:11")

	charts := t.TempDir()
	if err := os.CopyFS(charts, os.DirFS("../../kwok/charts")); err != nil {
		t.Fatal(err)
	}
	edit(t, filepath.Join(charts, "kubeflow-trainer", "crds", "trainjobs.trainer.kubeflow.org.yaml"), "name: v1alpha1", "name: v1beta1")
	p.run(t, 5*time.Minute, nil, args(trainerRecipes(t), "--charts", charts)...).
		want(t, 67, "the recipe's definition trainjobs.trainer.kubeflow.org does not serve trainer v2.1.0, which needs: version v1alpha1")

	big := trainerRecipes(t)
	edit(t, probe(big), "nvidia.com/gpu: {{ .GPUsPerNode }}", "nvidia.com/gpu: {{ mul .GPUsPerNode 2 }}")
	p.run(t, 5*time.Minute, nil, args(big)...).
		want(t, 65, "probe kubeflow-trainjob: 0 of 4 pods placed; pod aicr-probes/trainjob-node-0-", "Insufficient nvidia.com/gpu", "kubeflow-trainjob.yaml:11")

	killed := p.start(t, nil, args(big)...)                    // whose pods wait for ten seconds
	killed.until(t, "Starting the controllers of users' jobs") // they have started, and the probes start
	if err := syscall.Kill(p.find(t, "jobs/trainer/kubeconfig.yaml"), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	killed.wait(t, time.Minute)
	killed.want(t, 67, "controller trainer ended unexpectedly (signal: killed)", "last lines of its log:")
}
