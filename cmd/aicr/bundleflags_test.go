package main

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"sigs.k8s.io/yaml"
)

// yamlFile reads the only document of a bundle's file.
func yamlFile(t *testing.T, files map[string]string, name string) map[string]any {
	t.Helper()
	o := map[string]any{}
	if err := yaml.Unmarshal([]byte(files[name]), &o); err != nil || len(o) == 0 {
		t.Fatalf("%s: %v\n%s", name, err, files[name])
	}
	return o
}

func at(o map[string]any, path string) any {
	var v any = o
	for _, key := range strings.Split(path, ".") {
		m, _ := v.(map[string]any)
		v = m[key]
	}
	return v
}

// summed fails unless checksums.txt lists every file, as it is.
func summed(t *testing.T, files map[string]string) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(files["checksums.txt"]), "\n")
	if len(lines) != len(files)-1 {
		t.Errorf("%d checksums of %d files", len(lines), len(files))
	}
	for _, line := range lines {
		sum, name, _ := strings.Cut(line, "  ")
		if sum != fmt.Sprintf("%x", sha256.Sum256([]byte(files[name]))) {
			t.Errorf("the checksum of %s does not hold", name)
		}
	}
}

// Since July AICR's CLI makes bundles that tolerate every taint unless a flag says which: the components of
// such a recipe get what it would give them.
func TestBundleToleratesEveryTaint(t *testing.T) {
	made := recipeFile(t)
	july := write(t, "july.yaml", strings.Replace(read(t, made), "apiVersion: aicr.nvidia.com/v1alpha1", "apiVersion: aicr.run/v1alpha2", 1))
	every := []any{map[string]any{"operator": "Exists"}}
	one := []any{map[string]any{"key": "a", "operator": "Exists", "effect": "NoSchedule"}}
	for name, c := range map[string]struct {
		args                []string
		system, accelerated any
	}{
		"March":               {[]string{"-r", made}, nil, nil},
		"July":                {[]string{"-r", july}, every, every},
		"a flag for one":      {[]string{"-r", july, "--system-node-toleration", "a:NoSchedule"}, one, every},
		"a value of any type": {[]string{"-r", july, "--set-json", "gpuoperator:operator.tolerations=[]"}, []any{}, every},
		"a value beside":      {[]string{"-r", july, "--set", "gpuoperator:daemonsets.tolerations[0].key=a"}, every, []any{map[string]any{"key": "a"}, every[0]}},
		"a star in March":     {[]string{"-r", made, "--accelerated-node-toleration", "*"}, nil, every},
	} {
		files, _ := bundled(t, c.args...)
		gpu := values(t, files, "gpu-operator")
		for path, want := range map[string]any{"operator.tolerations": c.system, "daemonsets.tolerations": c.accelerated} {
			if got := at(gpu, path); !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %s: got %v, want %v", name, path, got, want)
			}
		}
	}
}

// The flags of July that put values into components, each over the one before it.
func TestBundleValues(t *testing.T) {
	made := recipeFile(t)
	env := write(t, "env.yaml", "- {name: A, value: \"1\"}\n")
	files, _ := bundled(t, "-r", made,
		"--set", "gpuoperator:driver.version=1", "--set-json", `gpuoperator:driver={"version":"570.86.16","rdma":{"enabled":true}}`, "--set-file", "gpuoperator:driver.env="+env,
		"--storage-class", "gp3", "--workload-selector", "workload-type=training", "--workload-gate", "runtime=required:NoSchedule")
	gpu := values(t, files, "gpu-operator")
	for path, want := range map[string]any{
		"driver.version": "570.86.16", "driver.rdma.enabled": true, "driver.enabled": true, "driver.env": []any{map[string]any{"name": "A", "value": "1"}},
	} {
		if got := at(gpu, path); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v, want %v", path, got, want)
		}
	}
	if got := at(values(t, files, "kube-prometheus-stack"), "prometheus.prometheusSpec.storageSpec.volumeClaimTemplate.spec.storageClassName"); got != "gp3" {
		t.Errorf("got the StorageClass %v", got)
	}
	if got := at(values(t, files, "skyhook-operator"), "controllerManager.manager.env.runtimeRequiredTaint"); got != "runtime=required:NoSchedule" {
		t.Errorf("got the taint %v", got)
	}
	if got := at(yamlFile(t, files, "skyhook-customizations/chart/values.yaml"), "skyhook-customizations.workloadSelector"); !reflect.DeepEqual(got, map[string]any{"workload-type": "training"}) {
		t.Errorf("got the selector %v", got)
	}
	for _, part := range []string{"- gpu-operator: --set-file driver.env=" + env + "\n", "- kube-prometheus-stack: --storage-class gp3 at prometheus.", "- skyhook-customizations: --workload-selector workload-type=training at workloadSelector\n"} {
		if !strings.Contains(asRead(files["README.md"]), part) {
			t.Errorf("README.md lacks %q:\n%s", part, files["README.md"])
		}
	}
	// --set has the last word on a path that --storage-class sets.
	files, _ = bundled(t, "-r", made, "--storage-class", "gp3", "--set", "prometheus:prometheus.prometheusSpec.storageSpec.volumeClaimTemplate.spec.storageClassName=mine")
	if got := at(values(t, files, "kube-prometheus-stack"), "prometheus.prometheusSpec.storageSpec.volumeClaimTemplate.spec.storageClassName"); got != "mine" {
		t.Errorf("got the StorageClass %v", got)
	}
}

// A dynamic value is in a file that is to be filled in, and in no other.
func TestBundleDynamic(t *testing.T) {
	made := recipeFile(t)
	dynamic := []string{"-r", made, "--dynamic", "gpuoperator:driver.version", "--dynamic", "gpuoperator:cluster.name", "--dynamic", "skyhook-customizations:nodeCount"}
	files, _ := bundled(t, dynamic...)
	summed(t, files)
	if got := at(values(t, files, "gpu-operator"), "driver.version"); got != nil {
		t.Errorf("the version is in the values: %v", got)
	}
	if got := yamlFile(t, files, "gpu-operator/cluster-values.yaml"); !reflect.DeepEqual(got, map[string]any{"driver": map[string]any{"version": "580.105.08"}, "cluster": map[string]any{"name": ""}}) {
		t.Errorf("got %v", got)
	}
	if got := yamlFile(t, files, "skyhook-customizations/cluster-values.yaml"); at(got, "skyhook-customizations.nodeCount") == nil {
		t.Errorf("got %v", got)
	}
	for file, part := range map[string]string{
		"deploy.sh":              ` -f "${here}/gpu-operator/values.yaml" -f "${here}/gpu-operator/cluster-values.yaml"` + "\n",
		"gpu-operator/README.md": " -f values.yaml -f cluster-values.yaml\n",
		"README.md":              "- gpu-operator: --dynamic driver.version: fill it in before the bundle is installed\n",
	} {
		if !strings.Contains(asRead(files[file]), part) {
			t.Errorf("%s lacks %q:\n%s", file, part, files[file])
		}
	}
	if !strings.Contains(files["deploy.sh"], `"${here}/skyhook-customizations/chart" -f "${here}/skyhook-customizations/cluster-values.yaml"`) {
		t.Errorf("deploy.sh:\n%s", files["deploy.sh"])
	}
	deploys(t, files) // the release of the component's manifests has the values too
	flux, r := bundled(t, append(dynamic, "--deployer", "flux-oci", "--repo", "oci://registry.example.com/a/b")...)
	summed(t, flux)
	release := yamlFile(t, flux, "gpu-operator/helmrelease.yaml")
	if at(release, "spec.values.driver.version") != nil || at(release, "spec.values.driver.enabled") != true {
		t.Errorf("got values %v", at(release, "spec.values"))
	}
	if got := at(release, "spec.valuesFrom"); !reflect.DeepEqual(got, []any{map[string]any{"kind": "ConfigMap", "name": "gpu-operator-values", "valuesKey": "values.yaml"}}) {
		t.Errorf("got valuesFrom %v", got)
	}
	config := yamlFile(t, flux, "gpu-operator/configmap-values.yaml")
	if got := at(config, "data"); !reflect.DeepEqual(got, map[string]any{"values.yaml": "cluster:\n  name: \"\"\ndriver:\n  version: 580.105.08\n"}) || at(config, "metadata.namespace") != "flux-system" {
		t.Errorf("got %v", config)
	}
	list, _ := at(yamlFile(t, flux, "kustomization.yaml"), "resources").([]any)
	if !strings.Contains(fmt.Sprint(list), "gpu-operator/configmap-values.yaml gpu-operator/helmrelease.yaml") {
		t.Errorf("got %v", list)
	}
	if strings.Contains(flux["gpu-post/helmrelease.yaml"], "valuesFrom") || r.code != 0 {
		t.Error("a component without dynamic values has valuesFrom")
	}
	// Another bundle has another tag.
	plain, _ := bundled(t, "-r", made, "--deployer", "flux-oci", "--repo", "oci://registry.example.com/a/b")
	if flux["flux-root.yaml"] == plain["flux-root.yaml"] {
		t.Error("both bundles have the same tag")
	}
	for _, deployer := range []string{"argocd-oci", "argocd-appset"} {
		invoke(t, append([]string{"bundle", "-o", filepath.Join(t.TempDir(), "b"), "-d", deployer, "--repo", "oci://registry.example.com/a/b"}, dynamic...)...).want(t, 2, "--dynamic is not for "+deployer)
	}
}

// deploys runs a bundle's deploy.sh with a helm that only notes what it is called with.
func deploys(t *testing.T, files map[string]string) {
	t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal("deploy.sh is for bash, which this machine does not have")
	}
	dir := t.TempDir()
	files["bin/helm"] = "#!/bin/sh\nfor file in \"$@\"; do case $file in /*.yaml) test -f \"$file\" || exit 9; echo \"$file\";; esac; done\n"
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	delete(files, "bin/helm")
	cmd := exec.Command(bash, filepath.Join(dir, "deploy.sh"))
	cmd.Env = append(os.Environ(), "PATH="+filepath.Join(dir, "bin")+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Count(string(out), "/cluster-values.yaml\n") != 3 {
		t.Errorf("deploy.sh: %v\n%s", err, out)
	}
}

// Root objects have the names that the flags give them, wherever they are named.
func TestBundleNames(t *testing.T) {
	made := recipeFile(t)
	flux, _ := bundled(t, "-r", made, "-d", "flux-oci", "--repo", "oci://registry.example.com/a/b", "--flux-namespace", "gitops", "--flux-oci-source-name", "my-source", "--dynamic", "gpuoperator:driver.version")
	summed(t, flux)
	for name, text := range flux {
		if name != "recipe.yaml" && !strings.Contains(name, "/chart/") && (strings.Contains(text, "flux-system") || strings.Contains(text, "aicr-bundle")) {
			t.Errorf("%s has a usual name:\n%s", name, text)
		}
	}
	for name, path := range map[string]string{"gpu-operator/helmrelease.yaml": "metadata.namespace", "gpu-operator/configmap-values.yaml": "metadata.namespace", "skyhook-customizations/artifactgenerator.yaml": "metadata.namespace"} {
		if got := at(yamlFile(t, flux, name), path); got != "gitops" {
			t.Errorf("%s: got %s %v", name, path, got)
		}
	}
	if n := strings.Count(flux["flux-root.yaml"], "name: my-source\n"); n != 2 {
		t.Errorf("flux-root.yaml names the source %d times:\n%s", n, flux["flux-root.yaml"])
	}
	argo, _ := bundled(t, "-r", made, "-d", "argocd-oci", "--repo", "oci://registry.example.com/a/b", "--app-name", "tenant-a")
	summed(t, argo)
	if got := at(yamlFile(t, argo, "app-of-apps.yaml"), "metadata.name"); got != "tenant-a" || strings.Contains(argo["README.md"], "nvidia-stack") {
		t.Errorf("got %v\n%s", got, argo["README.md"])
	}
	wrapper, _ := bundled(t, "-r", made, "-d", "argocd-helm-oci", "--app-name", "tenant-a")
	summed(t, wrapper)
	if root := wrapper["templates/root-application.yaml"]; !strings.Contains(root, "\n  name: tenant-a\n") || strings.Contains(root, "aicr-stack") {
		t.Errorf("got\n%s", root)
	}
	for want, args := range map[string][]string{
		"--app-name x: a bundle of helm has no root Application of Argo CD": {"--app-name", "x"},
		"--flux-namespace x: a bundle of helm has no objects of Flux":       {"--flux-namespace", "x"},
		`--app-name "A_B": `: {"-d", "argocd-oci", "--repo", "oci://a/b", "--app-name", "A_B"},
		"--app-name gpu-operator: the Application of component gpu-operator has this name": {"-d", "argocd-oci", "--repo", "oci://a/b", "--app-name", "gpu-operator"},
	} {
		invoke(t, append([]string{"bundle", "-r", made, "-o", filepath.Join(t.TempDir(), "b")}, args...)...).want(t, 2, want)
	}
}

// The file stands for the flags of the bundle.
func TestBundleConfig(t *testing.T) {
	made := recipeFile(t)
	out := filepath.Join(t.TempDir(), "b")
	config := write(t, "c.yaml", configHead+"  bundle:\n    input: {recipe: "+made+"}\n    output: {target: "+out+"}\n    deployment: {set: [\"gpuoperator:driver.version=1.2.3\"]}\n    scheduling:\n      nodes: 4\n      acceleratedNodeSelector: {gpu: \"true\"}\n")
	invoke(t, "bundle", "--config", config).want(t, 0, "injected scheduling for accelerated components: nodeSelector gpu=true")
	files := tree(t, out)
	if got := at(values(t, files, "gpu-operator"), "driver.version"); got != "1.2.3" || !strings.Contains(files["README.md"], "--nodes 4 at nodeCount") {
		t.Errorf("got %v\n%s", got, files["README.md"])
	}
	over, _ := bundled(t, "--config", config, "--set", "gpuoperator:driver.enabled=true")
	if got := at(values(t, over, "gpu-operator"), "driver.version"); got != "580.105.08" {
		t.Errorf("a flag adds to the file: got %v", got)
	}
	bad := write(t, "c.yaml", configHead+"  bundle:\n    deployment:\n      deployer: fleet\n")
	invoke(t, "bundle", "--config", bad, "-r", made).want(t, 2, "c.yaml:6: spec.bundle.deployment.deployer: --deployer \"fleet\": want one of helm")
}

func TestBundleValuesRefused(t *testing.T) {
	made := recipeFile(t)
	broken := write(t, "v.yaml", "a: 1\nb: [\n")
	for want, args := range map[string][]string{
		"v.yaml:":                                {"--set-file", "gpuoperator:a=" + broken},
		`--storage-class "A B"`:                  {"--storage-class", "A B"},
		`--workload-gate: toleration "x" is not`: {"--workload-gate", "x"},
		"want one taint":                         {"--workload-gate", "a:NoSchedule,b:NoSchedule"},
		`--workload-gate "*": want one taint`:    {"--workload-gate", "*"},
		`--workload-selector: pod selector "x" is not KEY=VALUE`:             {"--workload-selector", "x"},
		`--dynamic "nosuch:a": no component of this recipe is called nosuch`: {"--dynamic", "nosuch:a"},
	} {
		invoke(t, append([]string{"bundle", "-r", made, "-o", filepath.Join(t.TempDir(), "b")}, args...)...).want(t, 2, want)
	}
}

// rendered are the objects that a bundle which is a chart makes, by name.
func rendered(t *testing.T, files map[string]string, values map[string]any) map[string]map[string]any {
	t.Helper()
	var buffers []*loader.BufferedFile
	for name, text := range files {
		buffers = append(buffers, &loader.BufferedFile{Name: name, Data: []byte(text)})
	}
	c, err := loader.LoadFiles(buffers)
	if err != nil {
		t.Fatal(err)
	}
	all, err := chartutil.ToRenderValues(c, values, chartutil.ReleaseOptions{Name: "stack", Namespace: "argocd"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	texts, err := engine.Render(c, all)
	if err != nil {
		t.Fatal(err)
	}
	objects := map[string]map[string]any{}
	for _, text := range texts {
		o := map[string]any{}
		if err := yaml.Unmarshal([]byte(text), &o); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if name, ok := at(o, "metadata.name").(string); ok {
			objects[name] = o
		}
	}
	return objects
}

// The wrapper chart takes the values of the cluster when it is installed, and passes them on.
func TestBundleDynamicWrapper(t *testing.T) {
	files, _ := bundled(t, "-r", recipeFile(t), "-d", "argocd-helm-oci", "--dynamic", "gpuoperator:driver.version", "--dynamic", "skyhook-customizations:nodeCount", "--dynamic", "certmanager:cluster.name", "--dynamic", "gpuoperator:driver.rdma.enabled")
	summed(t, files)
	given := map[string]any{"repoURL": "oci://a/b", "targetRevision": "1.0.0", "gpu-operator": map[string]any{"driver": map[string]any{"version": "1.2.3", "rdma": map[string]any{"enabled": false}}}, "skyhook-customizations": map[string]any{"nodeCount": 9}}
	root := rendered(t, files, given)["aicr-stack"]
	passed, _ := at(root, "spec.source.helm.valuesObject").(map[string]any)
	if at(passed, "gpu-operator.driver.version") != "1.2.3" || at(passed, "cert-manager.cluster.name") != "" || passed["render"] != "children" {
		t.Fatalf("the root passes on %v", passed)
	}
	children := rendered(t, files, passed)
	gpu, _ := at(children["gpu-operator"], "spec.source.helm.valuesObject").(map[string]any)
	if at(gpu, "driver.version") != "1.2.3" || at(gpu, "driver.enabled") != true || at(gpu, "driver.rdma.enabled") != false || at(children["cert-manager"], "spec.source.helm.valuesObject.cluster.name") != "" {
		t.Errorf("gpu-operator has %v", gpu["driver"])
	}
	tuning, _ := at(children["skyhook-customizations"], "spec.source.helm.valuesObject").(map[string]any)
	if got := at(tuning, "skyhook-customizations.nodeCount"); got != float64(9) {
		t.Errorf("skyhook-customizations has %v", tuning)
	}
	plain, _ := bundled(t, "-r", recipeFile(t), "-d", "argocd-helm-oci")
	before := rendered(t, plain, map[string]any{"repoURL": "oci://a/b", "targetRevision": "1.0.0", "render": "children"})
	for name, app := range before {
		if name == "gpu-operator" || name == "gpu-operator-post" || name == "skyhook-customizations" || name == "cert-manager" {
			continue
		}
		if !reflect.DeepEqual(at(app, "spec.source.helm"), at(children[name], "spec.source.helm")) {
			t.Errorf("%s has other values than without --dynamic", name)
		}
	}
	if v, _ := at(children["gpu-operator"], "spec.source.helm.valuesObject.driver").(map[string]any); !reflect.DeepEqual(without(v, "version", "rdma"), without(at(before["gpu-operator"], "spec.source.helm.valuesObject.driver").(map[string]any), "version", "rdma")) {
		t.Errorf("the driver's other values changed: %v", v)
	}
}

func without(m map[string]any, keys ...string) map[string]any {
	m = maps.Clone(m)
	for _, key := range keys {
		delete(m, key)
	}
	return m
}

// AICR's own names of deployers are those here that suit the addresses.
func TestDeployerFor(t *testing.T) {
	for _, c := range [][4]string{
		{"flux", "./bundles", "", "flux-git"}, {"flux", "oci://example.com/a:1", "", "flux-oci"}, {"flux", "./bundles", "oci://example.com/a", "flux-oci"},
		{"argocd", "./bundles", "https://example.com/a.git", "argocd-git"}, {"argocd", "oci://example.com/a", "", "argocd-oci"},
		{"argocd-helm", "./bundles", "", "argocd-helm-oci"}, {"helm", "oci://example.com/a", "", "helm"}, {"fleet", ".", "", "fleet"},
	} {
		if got := deployerFor(c[0], c[1], c[2]); got != c[3] {
			t.Errorf("%s to %s for %s: got %s, want %s", c[0], c[1], c[2], got, c[3])
		}
	}
	files, _ := bundled(t, "-r", recipeFile(t), "--deployer", "flux", "--repo", "https://example.com/a.git")
	if files["helmrepositories.yaml"] == "" {
		t.Error("the bundle for flux is none for Flux")
	}
}
