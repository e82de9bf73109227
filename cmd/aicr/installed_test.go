package main

import (
	"errors"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	rspb "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// record puts Helm's record of a release into a cluster.
func record(t *testing.T, kube *fake.Clientset, namespace, name string, revision int, status rspb.Status, meta *chart.Metadata) {
	t.Helper()
	r := &rspb.Release{Name: name, Namespace: namespace, Version: revision, Info: &rspb.Info{Status: status}, Chart: &chart.Chart{Metadata: meta}}
	if err := driver.NewSecrets(kube.CoreV1().Secrets(namespace)).Create("sh.helm.release.v1."+name+".v"+string(rune('0'+revision)), r); err != nil {
		t.Fatal(err)
	}
}

func TestUpgradeFromCluster(t *testing.T) {
	made := recipeFile(t)
	kube := fake.NewSimpleClientset()
	at := func(version string) *chart.Metadata { return &chart.Metadata{Name: "gpu-operator", Version: version} }
	record(t, kube, "gpu-operator", "gpu-operator", 1, rspb.StatusSuperseded, at("v24.1.0"))
	record(t, kube, "gpu-operator", "gpu-operator", 2, rspb.StatusDeployed, at("v24.2.0"))
	record(t, kube, "cert-manager", "cert-manager", 1, rspb.StatusDeployed, &chart.Metadata{Name: "cert-manager", Version: "0.1.0", Dependencies: []*chart.Dependency{{Name: "cert-manager", Version: "v1.17.2"}}})
	record(t, kube, "skyhook", "skyhook-customizations", 1, rspb.StatusDeployed, &chart.Metadata{Name: "skyhook-customizations", Version: "0.1.0"})
	record(t, kube, "old", "kai-scheduler", 1, rspb.StatusUninstalled, &chart.Metadata{Name: "kai-scheduler", Version: "1.0.0"})
	record(t, kube, "monitoring", "monitoring-kube-prometheus-stack", 1, rspb.StatusDeployed, &chart.Metadata{Name: "kube-prometheus-stack", Version: "82.8.0"})
	b := bench{client: kube}
	check := func(b bench, args ...string) answer {
		return b.run(t, append([]string{"upgrade-check", "--from", "cluster", "--to", made}, args...)...)
	}
	r := check(b, "--deployer", "helm", "--fail-on-error=false", "--format", "json")
	r.want(t, 0)
	for _, part := range []string{`"from": "v24.2.0"`, `"change": "added"`} {
		if !strings.Contains(r.stdout, part) {
			t.Errorf("want %s in\n%s", part, r.stdout)
		}
	}
	rows := func(text, component string) string { // the part of a component
		_, after, _ := strings.Cut(text, `"component": "`+component+`"`)
		part, _, _ := strings.Cut(after, `"component": "`)
		return part
	}
	for component, changes := range map[string]bool{"cert-manager": false, "skyhook-customizations": false, "gpu-operator": true, "kai-scheduler": true, "kube-prometheus-stack": true} {
		if part := rows(r.stdout, component); (part != "") != changes {
			t.Errorf("%s: got %s", component, part)
		}
	}
	if flux := check(b, "--deployer", "flux", "--fail-on-error=false", "--format", "json"); rows(flux.stdout, "kube-prometheus-stack") != "" {
		t.Errorf("Flux: got %s", rows(flux.stdout, "kube-prometheus-stack"))
	}
	record(t, kube, "elsewhere", "gpu-operator", 1, rspb.StatusDeployed, at("v24.1.0"))
	check(b, "--deployer", "helm").want(t, 2, "gpu-operator is installed 2 times, in the namespaces elsewhere, gpu-operator")

	app := func(name, source string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": map[string]any{"name": name, "namespace": "argocd"},
			"spec": map[string]any{"destination": map[string]any{"namespace": name}, "sources": []any{
				map[string]any{"repoURL": "https://helm.ngc.nvidia.com/nvidia", "chart": "gpu-operator", "targetRevision": source}, map[string]any{"repoURL": "https://example.com/x.git", "targetRevision": "main", "ref": "values"},
			}},
		}}
	}
	kinds := map[schema.GroupVersionResource]string{{Group: "argoproj.io", Version: "v1alpha1", Resource: "applications"}: "ApplicationList"}
	argo := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, app("gpu-operator", "v24.3.0"), app("something-else", "1"))
	if r := check(bench{client: kube, objects: argo}, "--deployer", "argocd", "--fail-on-error=false", "--format", "json"); !strings.Contains(rows(r.stdout, "gpu-operator"), `"from": "v24.3.0"`) {
		t.Errorf("Argo CD: got %s\n%s", r.stdout, r.stderr)
	}

	for want, args := range map[string][]string{
		"name --to and --deployer":          {"upgrade-check", "--from", "cluster", "--to", made},
		"--evidence is of one recipe's":     {"upgrade-check", "--from", "cluster", "--to", made, "-d", "helm", "--evidence", "x"},
		"name --to and --deployer (a direc": {"upgrade-check", "--from", "cluster", "-d", "helm"},
	} {
		b.run(t, args...).want(t, 2, want)
	}
	check(bench{client: fake.NewSimpleClientset()}, "--deployer", "helm").want(t, 3, "helm has installed none of the components")
	for code, err := range map[int]error{4: apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "", errors.New("no")), 6: errors.New("connection refused")} {
		denied := fake.NewSimpleClientset()
		denied.PrependReactor("list", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, err })
		check(bench{client: denied}, "--deployer", "helm").want(t, code, "--from cluster: ")
	}
}
