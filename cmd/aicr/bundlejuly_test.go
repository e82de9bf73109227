package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// gated is a data directory in which the GPU operator has a readiness.yaml.
func gated(t *testing.T) string {
	t.Helper()
	data := t.TempDir()
	for name, text := range map[string]string{
		"registry.yaml":                          "apiVersion: aicr.nvidia.com/v1alpha1\nkind: ComponentRegistry\ncomponents: []\n",
		"components/gpu-operator/readiness.yaml": "apiVersion: chainsaw.kyverno.io/v1alpha1\nkind: Test\nmetadata: {name: ready}\n",
	} {
		file := filepath.Join(data, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return data
}

// The flags that change what a bundle has besides values.
func TestBundleForms(t *testing.T) {
	made, repo := recipeFile(t), []string{"--repo", "oci://registry.example.com/a/b"}
	plain, _ := bundled(t, append(repo, "-r", made, "-d", "argocd-oci")...)

	files, r := bundled(t, "-r", made, "--vendor-charts", "--charts", "simulated")
	summed(t, files)
	r.want(t, 0)
	wrapper := yamlFile(t, files, "gpu-operator/chart/Chart.yaml")
	if got := at(wrapper, "dependencies"); !reflect.DeepEqual(got, []any{map[string]any{"name": "gpu-operator", "version": "v25.10.1", "repository": ""}}) {
		t.Errorf("got %v", got)
	}
	if at(yamlFile(t, files, "gpu-operator/chart/values.yaml"), "gpu-operator.driver.version") != "580.105.08" || files["gpu-operator/chart/charts/gpu-operator-v25.10.1.tgz"] == "" || files["gpu-operator/values.yaml"] != "" {
		t.Error("the chart of the GPU operator is not in the bundle with its values")
	}
	if strings.Contains(files["deploy.sh"], "https://") || !strings.Contains(files["deploy.sh"], `release gpu-operator gpu-operator "${here}/gpu-operator/chart"`+"\n") || !strings.Contains(files["provenance.yaml"], "tarballName: gpu-operator-v25.10.1.tgz") {
		t.Errorf("deploy.sh:\n%s\n%s", files["deploy.sh"], files["provenance.yaml"])
	}
	dynamic, _ := bundled(t, "-r", made, "--vendor-charts", "--charts", "simulated", "--dynamic", "gpuoperator:driver.version")
	if got := yamlFile(t, dynamic, "gpu-operator/cluster-values.yaml"); at(got, "gpu-operator.driver.version") != "580.105.08" {
		t.Errorf("got %v", got)
	}

	// To Flux a null in a chart's own values is none, so that the values are in the HelmRelease too.
	flux, _ := bundled(t, append(repo, "-r", made, "-d", "flux-oci", "--vendor-charts", "--charts", "simulated", "--dynamic", "gpuoperator:driver.version")...)
	release := yamlFile(t, flux, "gpu-operator/helmrelease.yaml")
	if at(release, "spec.values.gpu-operator.driver.enabled") != true || at(release, "spec.values.gpu-operator.driver.version") != nil || !strings.Contains(flux["gpu-operator/configmap-values.yaml"], "gpu-operator:") {
		t.Errorf("got %v\n%s", at(release, "spec.values"), flux["gpu-operator/configmap-values.yaml"])
	}
	// helmfile would look for the charts in a repository.
	helmfile, _ := bundled(t, "-r", made, "-d", "helmfile", "--vendor-charts", "--charts", "simulated")
	if !strings.Contains(helmfile["level-0.yaml"], "skipDeps: true") {
		t.Errorf("got\n%s", helmfile["level-0.yaml"])
	}

	files, r = bundled(t, append(repo, "-r", made, "-d", "argocd-oci", "--data", gated(t), "--readiness-hooks")...)
	r.want(t, 0, "no published image: name that of your AICR release with --gate-image")
	if at(yamlFile(t, files, "gpu-operator-readiness/application.yaml"), "spec.source.path") != "gpu-operator-readiness/chart" || !strings.Contains(files["README.md"], "--readiness-hooks with ghcr.io/nvidia/aicr-gate:dev") {
		t.Errorf("nothing waits for the GPU operator:\n%s", files["README.md"])
	}
	files, r = bundled(t, "-r", made, "--data", gated(t), "--readiness-hooks", "--gate-image", "example.com/gate:1")
	if strings.Contains(r.stderr, "--gate-image") || !strings.Contains(files["deploy.sh"], `"${here}/gpu-operator-readiness/chart" --wait --wait-for-jobs --timeout `) || !strings.Contains(files["gpu-operator-readiness/README.md"], "--wait-for-jobs") {
		t.Errorf("%s\n%s", r.stderr, files["deploy.sh"])
	}
	_, r = bundled(t, "-r", made, "--readiness-hooks")
	r.want(t, 0, "warning: --readiness-hooks has no effect")

	files, _ = bundled(t, append(repo, "-r", made, "-d", "flux-oci", "--serial")...)
	order, _ := at(yamlFile(t, files, "recipe.yaml"), "deploymentOrder").([]any)
	for i := 1; i < len(order); i++ {
		name, before := order[i].(string), order[i-1].(string)
		text := files[name+"/helmrelease.yaml"]
		if _, pre := files[name+"-pre/helmrelease.yaml"]; pre {
			text = files[name+"-pre/helmrelease.yaml"]
		}
		if !strings.Contains(text, "- name: "+before+"\n") {
			t.Errorf("%s does not wait for %s:\n%s", name, before, text)
		}
	}
	parallel, _ := bundled(t, append(repo, "-r", made, "-d", "flux-oci")...)
	if parallel["flux-root.yaml"] == files["flux-root.yaml"] {
		t.Error("both bundles have the same tag")
	}

	for _, deployer := range []string{"argocd-oci", "argocd-helm-oci"} {
		files, _ = bundled(t, append(repo, "-r", made, "-d", deployer, "--set", "deployer:namePrefix=t-", "--set", "deployer:project=true", "--set", "deployer:destinationServer=https://a.example.com", "--set", "deployer:cascadeDelete=false")...)
		summed(t, files)
		child, root := files["gpu-operator/application.yaml"], files["app-of-apps.yaml"]
		if deployer == "argocd-helm-oci" {
			child, root = files["templates/children/gpu-operator.yaml"], files["templates/root-application.yaml"]
		}
		for _, part := range []string{"\n  name: t-gpu-operator\n", "\n      releaseName: t-gpu-operator\n", "\n    server: https://a.example.com\n", "\n  project: \"true\"\n"} {
			if !strings.Contains(child, part) || strings.Contains(root, part) {
				t.Errorf("%s: %q in\n%s\n%s", deployer, part, child, root)
			}
		}
		if strings.Contains(child+root, "finalizers") || !strings.Contains(plain["app-of-apps.yaml"], "finalizers") {
			t.Errorf("%s: the Applications delete what they deployed", deployer)
		}
	}

	files, _ = bundled(t, "-r", made, "--dra-eviction-node-label", "a=b")
	if at(values(t, files, "nvidia-dra-driver-gpu"), "kubeletPlugin.nodeSelector.a") != "b" || !strings.Contains(files["gpu-operator/values.yaml"], "value: a\n") {
		t.Error("the label is not in the values")
	}
	_, r = bundled(t, "-r", made, "--dra-eviction-node-label", "a=b", "--set", "dradriver:enabled=false")
	r.want(t, 0, "warning: --dra-eviction-node-label has no effect: it needs both nvidia-dra-driver-gpu and gpu-operator")
	_, r = bundled(t, "-r", made, "--shared-storage-class", "efs")
	r.want(t, 0, "warning: --shared-storage-class has no effect")

	for want, args := range map[string][]string{
		"is not for flux-oci, which would not wait":           append(repo, "-d", "flux-oci", "--readiness-hooks"),
		"neither with --chart-repository":                     {"--vendor-charts", "--charts", "simulated", "--chart-repository", "oci://example.com/a"},
		"a bundle of helm has none that it could change":      {"--set", "deployer:project=a"},
		"would have the name of the root Application, t-root": append(repo, "-d", "argocd-oci", "--set", "deployer:namePrefix=t-", "--app-name", "t-gpu-operator"),
		"more than 53 characters":                             append(repo, "-d", "argocd-oci", "--set", "deployer:namePrefix="+strings.Repeat("a", 50)),
		"decides the value driver.manager.env":                {"--dra-eviction-node-label", "a=b", "--dynamic", "gpuoperator:driver.manager"},
		"--shared-storage-class \"A\"":                        {"--shared-storage-class", "A"},
	} {
		want = strings.Replace(want, "t-root", "t-gpu-operator", 1)
		invoke(t, append([]string{"bundle", "-r", made, "-o", filepath.Join(t.TempDir(), "b")}, args...)...).want(t, 2, want)
	}
}

// A registry may name where the class of shared file systems goes.
func TestBundleSharedStorageClass(t *testing.T) {
	made, data := recipeFile(t), t.TempDir()
	var registry struct{ Components []map[string]any }
	if err := yaml.Unmarshal([]byte(read(t, march+"/registry.yaml")), &registry); err != nil {
		t.Fatal(err)
	}
	for _, c := range registry.Components {
		if c["name"] == "gpu-operator" {
			c["sharedStorageClassPaths"] = []any{"shared.class"}
			text, err := yaml.Marshal(map[string]any{"apiVersion": "aicr.nvidia.com/v1alpha1", "kind": "ComponentRegistry", "components": []any{c}})
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(data, "registry.yaml"), text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	files, _ := bundled(t, "-r", made, "--data", data, "--shared-storage-class", "efs", "--storage-class", "gp3")
	if got := at(values(t, files, "gpu-operator"), "shared.class"); got != "efs" {
		t.Errorf("got %v", got)
	}
}
