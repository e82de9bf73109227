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

// rowOf is the part of a report as JSON that is about a component.
func rowOf(text, component string) string {
	_, after, _ := strings.Cut(text, `"component": "`+component+`"`)
	part, _, _ := strings.Cut(after, `"component": "`)
	return part
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
	for component, changes := range map[string]bool{"cert-manager": false, "skyhook-customizations": false, "gpu-operator": true, "kai-scheduler": true, "kube-prometheus-stack": true} {
		if part := rowOf(r.stdout, component); (part != "") != changes {
			t.Errorf("%s: got %s", component, part)
		}
	}
	if flux := check(b, "--deployer", "flux", "--fail-on-error=false", "--format", "json"); rowOf(flux.stdout, "kube-prometheus-stack") != "" {
		t.Errorf("Flux: got %s", rowOf(flux.stdout, "kube-prometheus-stack"))
	}
	record(t, kube, "elsewhere", "gpu-operator", 1, rspb.StatusDeployed, at("v24.1.0"))
	check(b, "--deployer", "helm").want(t, 2, "gpu-operator is installed 2 times, in the namespaces elsewhere, gpu-operator")

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

// A release that is not deployed has no version: which one runs is not known, whatever its newest record has.
func TestUpgradeFromUnsettledRelease(t *testing.T) {
	made := recipeFile(t)
	for _, status := range []rspb.Status{rspb.StatusPendingInstall, rspb.StatusPendingUpgrade, rspb.StatusPendingRollback, rspb.StatusFailed, rspb.StatusUninstalling} {
		kube := fake.NewSimpleClientset()
		record(t, kube, "gpu-operator", "gpu-operator", 1, rspb.StatusDeployed, &chart.Metadata{Name: "gpu-operator", Version: "v25.9.0"})
		record(t, kube, "gpu-operator", "gpu-operator", 2, status, &chart.Metadata{Name: "gpu-operator", Version: "v25.10.1"})
		record(t, kube, "skyhook", "skyhook-customizations", 1, status, &chart.Metadata{Name: "skyhook-customizations", Version: "0.1.0"})
		r := bench{client: kube}.run(t, "upgrade-check", "--from", "cluster", "--to", made, "-d", "helm", "--fail-on-error=false", "--format", "json")
		table := bench{client: kube}.run(t, "upgrade-check", "--from", "cluster", "--to", made, "-d", "helm", "--fail-on-error=false")
		if want := "\nAT RISK (advisory)\n  left out, since their versions cannot be compared: gpu-operator, skyhook-customizations\n"; !strings.Contains(table.stdout, want) {
			t.Errorf("%s: want %q in\n%s", status, want, table.stdout)
		}
		for name, revision := range map[string]string{"gpu-operator": "revision 2 of the Helm release gpu-operator/gpu-operator is ", "skyhook-customizations": "revision 1 of the Helm release skyhook/skyhook-customizations is "} {
			if part := rowOf(r.stdout, name); !strings.Contains(part, `"verdict": "unversioned"`) || !strings.Contains(part, revision+string(status)) || strings.Contains(part, `"from": `) {
				t.Errorf("%s: %s: got %s%s", status, name, part, r.stderr)
			}
		}
	}
}

// A chart that the bundler made has the component's version in an annotation; its own is that of the bundler.
func TestUpgradeFromMadeChart(t *testing.T) {
	text := read(t, recipeFile(t))
	versioned := write(t, "recipe.yaml", strings.Replace(text, "  name: skyhook-customizations\n", "  name: skyhook-customizations\n  version: 1.2.0\n", 1))
	plain := write(t, "recipe.yaml", text)
	annotated := map[string]string{"aicr.run/component-version": "1.1.0"}
	for name, c := range map[string]struct {
		to, component string
		meta          *chart.Metadata
		want          string // empty: no row
	}{
		"annotation":              {versioned, "skyhook-customizations", &chart.Metadata{Version: "9.9.9", Annotations: annotated}, `"from": "1.1.0"`},
		"no annotation":           {versioned, "skyhook-customizations", &chart.Metadata{Version: "1.2.0"}, "a chart of the bundle without the annotation aicr.run/component-version"},
		"nothing to compare with": {plain, "skyhook-customizations", &chart.Metadata{Version: "9.9.9", Annotations: annotated}, ""},
		"of a vendored chart":     {plain, "gpu-operator", &chart.Metadata{Version: "9.9.9", Annotations: map[string]string{"aicr.run/component-version": "v25.9.0"}}, `"from": "v25.9.0"`},
		"no longer in the recipe": {plain, "kgateway", &chart.Metadata{Version: "9.9.9", Annotations: annotated}, `"from": "1.1.0"`},
	} {
		kube := fake.NewSimpleClientset()
		c.meta.Name = c.component
		record(t, kube, "skyhook", c.component, 1, rspb.StatusDeployed, c.meta)
		r := bench{client: kube}.run(t, "upgrade-check", "--from", "cluster", "--to", c.to, "-d", "helm", "--fail-on-error=false", "--format", "json")
		r.want(t, 0)
		if part := rowOf(r.stdout, c.component); !strings.Contains(part, c.want) || (part == "") != (c.want == "") {
			t.Errorf("%s: want %s in %s", name, c.want, part)
		}
	}
}

// What an Application's spec asks for may never have been deployed; the last sync says what was.
func TestUpgradeFromApplication(t *testing.T) {
	made := recipeFile(t)
	helm := func(version string) any {
		return map[string]any{"repoURL": "https://helm.ngc.nvidia.com/nvidia", "chart": "gpu-operator", "targetRevision": version}
	}
	values := map[string]any{"repoURL": "https://example.com/x.git", "targetRevision": "main", "ref": "values"}
	one := func(source any) map[string]any { return map[string]any{"source": source} }
	many := func(source any) map[string]any {
		return map[string]any{"source": map[string]any{"repoURL": ""}, "sources": []any{source, values}}
	}
	done := func(phase string, operation map[string]any, sync map[string]any) map[string]any {
		return map[string]any{"operationState": map[string]any{"phase": phase, "operation": map[string]any{"sync": operation}, "syncResult": sync}}
	}
	bundle := map[string]any{"repoURL": "https://example.com/bundle.git", "path": "gpu-operator/chart", "targetRevision": "v25.10.1"}
	none, empty := "the Application argocd/gpu-operator has completed no sync", map[string]any{}
	for name, c := range map[string]struct {
		status map[string]any
		want   string
	}{
		"synced":             {map[string]any{"sync": map[string]any{"status": "Synced", "comparedTo": one(helm("v24.3.0"))}, "history": []any{one(helm("v24.1.0"))}}, `"from": "v24.3.0"`},
		"several sources":    {map[string]any{"sync": map[string]any{"status": "Synced", "comparedTo": many(helm("v24.3.0"))}}, `"from": "v24.3.0"`},
		"an upgrade pending": {map[string]any{"sync": map[string]any{"status": "OutOfSync", "comparedTo": one(helm("v25.10.1"))}, "history": []any{many(helm("v24.1.0")), many(helm("v24.2.0"))}}, `"from": "v24.2.0"`},
		"no history kept":    {done("Succeeded", empty, one(helm("v24.3.0"))), `"from": "v24.3.0"`},
		"in a registry":      {map[string]any{"history": []any{many(map[string]any{"repoURL": "oci://registry.example.com/charts/gpu-operator", "path": ".", "targetRevision": "v24.3.0"})}}, `"from": "v24.3.0"`},
		"never synced":       {empty, none},
		"compared only":      {map[string]any{"sync": map[string]any{"status": "OutOfSync", "comparedTo": one(helm("v25.10.1"))}}, none},
		"failed":             {done("Failed", empty, one(helm("v25.10.1"))), none},
		"running":            {done("Running", empty, one(helm("v25.10.1"))), none},
		"some of it":         {done("Succeeded", map[string]any{"resources": []any{map[string]any{"kind": "Deployment"}}}, one(helm("v25.10.1"))), none},
		"a dry run":          {done("Succeeded", map[string]any{"dryRun": true}, one(helm("v25.10.1"))), none},
		"in the bundle":      {map[string]any{"history": []any{one(bundle)}}, "a chart of the bundle without the annotation"},
	} {
		app := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": map[string]any{"name": "gpu-operator", "namespace": "argocd"},
			"spec":   map[string]any{"destination": map[string]any{"namespace": "gpu-operator"}, "sources": []any{helm("v25.10.1"), values}},
			"status": c.status,
		}}
		other := app.DeepCopy()
		other.SetName("something-else")
		kinds := map[schema.GroupVersionResource]string{{Group: "argoproj.io", Version: "v1alpha1", Resource: "applications"}: "ApplicationList"}
		b := bench{client: fake.NewSimpleClientset(), objects: dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, app, other)}
		r := b.run(t, "upgrade-check", "--from", "cluster", "--to", made, "--deployer", "argocd", "--fail-on-error=false", "--format", "json")
		r.want(t, 0)
		part := rowOf(r.stdout, "gpu-operator")
		if !strings.Contains(part, c.want) || strings.Contains(part, "unversioned") == strings.HasPrefix(c.want, `"from"`) || strings.Contains(part, `"field": "chart"`) {
			t.Errorf("%s: want %s in %s", name, c.want, part)
		}
	}
}
