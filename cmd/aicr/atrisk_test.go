package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	rspb "helm.sh/helm/v3/pkg/release"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// affecting is a record of cert-manager that affects kinds of which the cluster of riskBench has two.
const affecting = manualRecord + "    affectedResources:\n      - {group: cert-manager.io, kinds: [Issuer, Certificate]}\n      - {group: gone.example.com, kinds: [Gone]}\n"

// riskBench is a cluster with objects, each of a kind, a namespace and a name, with labels and annotations.
func riskBench(objects ...*unstructured.Unstructured) (bench, *fake.Clientset, *dynamicfake.FakeDynamicClient) {
	kube := fake.NewSimpleClientset()
	kube.Resources = []*metav1.APIResourceList{
		{GroupVersion: "v1", APIResources: []metav1.APIResource{{Name: "secrets", Kind: "Secret", Namespaced: true}}},
		{GroupVersion: "cert-manager.io/v1alpha2", APIResources: []metav1.APIResource{{Name: "certificates", Kind: "Certificate", Namespaced: true}}},
		{GroupVersion: "cert-manager.io/v1", APIResources: []metav1.APIResource{
			{Name: "certificates/status", Kind: "Certificate"}, {Name: "certificates", Kind: "Certificate", Namespaced: true}, {Name: "issuers", Kind: "Issuer", Namespaced: true},
		}},
	}
	var all []runtime.Object
	for _, o := range objects {
		all = append(all, o)
	}
	group := schema.GroupVersion{Group: "cert-manager.io", Version: "v1"}
	dyn := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		group.WithResource("certificates"): "CertificateList", group.WithResource("issuers"): "IssuerList",
	}, all...)
	return bench{client: kube, objects: dyn}, kube, dyn
}

func certificate(kind, namespace, name string, labels, annotations map[string]string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "cert-manager.io/v1", "kind": kind, "metadata": map[string]any{"name": name}}}
	o.SetNamespace(namespace)
	o.SetLabels(labels)
	o.SetAnnotations(annotations)
	return o
}

// scanned is what a run says of objects at risk, as JSON. The exit code is that of a run without a scan.
func scanned(t *testing.T, b bench, args ...string) atRisk {
	t.Helper()
	r := b.run(t, append(args, "--format", "json")...)
	var report upgradeReport
	if err := json.Unmarshal([]byte(r.stdout), &report); err != nil || r.code != 2 || report.Summary.Failing == 0 {
		t.Fatalf("%v: code %d\n%s%s", err, r.code, r.stdout, r.stderr)
	}
	return report.AtRisk
}

func namesOfFindings(r atRisk) string {
	var all []string
	for _, f := range r.Findings {
		all = append(all, strings.TrimPrefix(f.Namespace+"/", "/")+f.Name)
	}
	return strings.Join(all, " ")
}

// Only what a deployer itself writes makes an object its own.
func TestScanOwners(t *testing.T) {
	helm, release := map[string]string{"app.kubernetes.io/managed-by": "Helm"}, map[string]string{"meta.helm.sh/release-name": "x"}
	of := func(name string, labels, annotations map[string]string) *unstructured.Unstructured {
		return certificate("Certificate", "a", name, labels, annotations)
	}
	b, _, _ := riskBench(
		of("owned-by-helm", helm, release),
		of("owned-by-argocd", nil, map[string]string{"argocd.argoproj.io/tracking-id": "x:cert-manager.io/Certificate:a/y"}),
		of("label-only", helm, nil), of("annotation-only", nil, release), of("empty-annotation", helm, map[string]string{"meta.helm.sh/release-name": ""}),
		of("other-manager", map[string]string{"app.kubernetes.io/managed-by": "me"}, release),
		of("empty-tracking", nil, map[string]string{"argocd.argoproj.io/tracking-id": ""}),
		of("instance-label", map[string]string{"app.kubernetes.io/instance": "x"}, nil),
		of("kustomization", map[string]string{"kustomize.toolkit.fluxcd.io/name": "x", "kustomize.toolkit.fluxcd.io/namespace": "y"}, nil),
		certificate("Certificate", "", "cluster-wide", nil, nil), certificate("Issuer", "b", "mine", nil, nil),
	)
	args := []string{"upgrade-check", "--from", recipeFile(t), "--recipes-dir", newer(t, affecting), "-d", "helm", "--scan-cluster"}
	r := scanned(t, b, args...)
	if want := "cluster-wide a/annotation-only a/empty-annotation a/empty-tracking a/instance-label a/kustomization a/label-only a/other-manager b/mine"; namesOfFindings(r) != want || !r.Scanned || r.Reason != "" {
		t.Errorf("got  %s\nwant %s\n%+v", namesOfFindings(r), want, r)
	}
	if got, want := fmt.Sprint(r.Kinds), "[{cert-manager.io Certificate [cert-manager] true 10 } {cert-manager.io Issuer [cert-manager] true 1 } {gone.example.com Gone [cert-manager] false 0 }]"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	table, doc := b.run(t, args...), b.run(t, append(args, "--format", "yaml")...)
	for _, part := range []string{
		"\nAT RISK (advisory)\n  Certificate.cert-manager.io (cert-manager): 10 objects\n", "  Gone.gone.example.com (cert-manager): the cluster does not have this kind\n",
		"  cert-manager   Issuer.cert-manager.io        b           mine\n", "  cert-manager   Certificate.cert-manager.io   -           cluster-wide\n", "  9 objects at risk: ", "1 component change, 1 need attention\n",
	} {
		if !strings.Contains(table.stdout, part) {
			t.Errorf("the report lacks %q:\n%s", part, table.stdout)
		}
	}
	for _, part := range []string{"atRisk:\n", "  scanned: true\n", "  findings:\n", "  kinds:\n", "examined: 10\n", "present: false\n", "namespace: b\n", "group: cert-manager.io\n"} {
		if !strings.Contains(doc.stdout, part) {
			t.Errorf("the report as YAML lacks %q:\n%s", part, doc.stdout)
		}
	}
}

// The section is always there, and says why it is empty. The exit code is the same in every case.
func TestScanSays(t *testing.T) {
	old := recipeFile(t)
	recipes := newer(t, affecting)
	args := []string{"upgrade-check", "--from", old, "--recipes-dir", recipes, "-d", "helm"}
	owned := certificate("Issuer", "b", "x", nil, map[string]string{"argocd.argoproj.io/tracking-id": "x"})
	b, kube, dyn := riskBench(owned)
	bare, _, _ := riskBench()
	for name, c := range map[string]struct {
		b    bench
		args []string
		want string
	}{
		"not asked":         {bench{}, args, "  not scanned: no access to a cluster was asked for"},
		"turned off":        {bench{}, append(slices.Clone(args), "--scan-cluster=false"), "  not scanned: --scan-cluster=false turned it off\n"},
		"nothing crossed":   {bench{}, []string{"upgrade-check", "--from", old, "--recipes-dir", newer(t, manualRecord), "-d", "helm", "--scan-cluster"}, "  nothing to look for: no crossed record names a kind"},
		"all owned":         {b, append(slices.Clone(args), "--scan-cluster"), "  nothing at risk: a Helm release or an Application owns each object\n"},
		"no objects":        {bare, append(slices.Clone(args), "--scan-cluster"), "  nothing at risk: there are no objects of these kinds\n"},
		"no cluster at all": {bench{}, append(slices.Clone(args), "--scan-cluster"), "  not scanned: the cluster cannot be read: "},
	} {
		r := c.b.run(t, c.args...)
		if _, section, ok := strings.Cut(r.stdout, "\nAT RISK (advisory)\n"); r.code != 2 || !ok || !strings.Contains(section, c.want) || strings.Contains(section, " at risk: no Helm") {
			t.Errorf("%s: code %d, want %q in\n%s%s", name, r.code, c.want, r.stdout, r.stderr)
		}
	}
	if none := invoke(t, "upgrade-check", "--from", old, "--to", old); none.code != 0 || !strings.Contains(none.stdout, "no component changes\n\nAT RISK (advisory)\n  not scanned: ") {
		t.Errorf("without changes: got %d\n%s", none.code, none.stdout)
	}
	// A safe record: findings leave the exit code 0.
	safe := newer(t, "  - from: \"<1.18.0\"\n    to: \">=1.18.0 <1.19.0\"\n    verdict: safe\n    verifiedBy: a run on KWOK\n    affectedResources: [{group: cert-manager.io, kinds: [Issuer]}]\n")
	found, _, _ := riskBench(certificate("Issuer", "b", "mine", nil, nil))
	if r := found.run(t, "upgrade-check", "--from", old, "--recipes-dir", safe, "--scan-cluster"); r.code != 0 || !strings.Contains(r.stdout, "1 object at risk") {
		t.Errorf("a finding beside a safe record: got %d\n%s", r.code, r.stdout)
	}

	// From a cluster it is on, and can be turned off.
	to := filepath.Join(t.TempDir(), "new.yaml")
	invoke(t, with("recipe", "--recipes-dir", recipes, "-o", to)...).want(t, 0)
	record(t, kube, "cert-manager", "cert-manager", 1, rspb.StatusDeployed, &chart.Metadata{Name: "cert-manager", Version: "v1.17.2"})
	from := []string{"upgrade-check", "--from", "cluster", "--to", to, "--recipes-dir", recipes, "-d", "helm"}
	if r := scanned(t, b, from...); !r.Scanned || len(r.Kinds) != 3 {
		t.Errorf("--from cluster: got %+v", r)
	}
	dyn.PrependReactor("list", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		t.Error("--scan-cluster=false: objects are listed")
		return false, nil, nil
	})
	if r := scanned(t, b, append(from, "--scan-cluster=false")...); r.Scanned || r.Reason != "--scan-cluster=false turned it off" {
		t.Errorf("--scan-cluster=false: got %+v", r)
	}
}

// A kind that cannot be read is named, the others are looked at, and the result does not pass for a whole scan.
func TestScanInPart(t *testing.T) {
	args := []string{"upgrade-check", "--from", recipeFile(t), "--recipes-dir", newer(t, affecting), "-d", "helm", "--scan-cluster"}
	mine := func() []*unstructured.Unstructured {
		return []*unstructured.Unstructured{certificate("Certificate", "a", "c", nil, nil), certificate("Issuer", "b", "i", nil, nil)}
	}
	fails := func(err error) func(clienttesting.Action) (bool, runtime.Object, error) {
		return func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, err }
	}
	resource := schema.GroupResource{Group: "cert-manager.io", Resource: "certificates"}

	b, _, dyn := riskBench(mine()...)
	dyn.PrependReactor("list", "certificates", fails(apierrors.NewForbidden(resource, "", errors.New("no"))))
	r := scanned(t, b, args...)
	if namesOfFindings(r) != "b/i" || r.Scanned || r.Reason != "1 of 3 kinds could not be read" || !r.Kinds[0].Present || !strings.Contains(r.Kinds[0].Error, "certificates.cert-manager.io") || !strings.Contains(r.Kinds[0].Error, "it needs list on this kind in all namespaces") {
		t.Errorf("forbidden: got %+v", r)
	}
	if table := b.run(t, args...); !strings.Contains(table.stdout, "  scanned in part: 1 of 3 kinds could not be read\n  Certificate.cert-manager.io (cert-manager): not read: ") {
		t.Errorf("forbidden: got\n%s", table.stdout)
	}

	b, _, dyn = riskBench(mine()...)
	dyn.PrependReactor("list", "certificates", fails(apierrors.NewNotFound(resource, "")))
	if r := scanned(t, b, args...); namesOfFindings(r) != "b/i" || !r.Scanned || r.Kinds[0].Present {
		t.Errorf("gone meanwhile: got %+v", r)
	}

	b, kube, _ := riskBench(mine()...)
	kube.PrependReactor("get", "resource", fails(errors.New("the server is currently unable")))
	if r := scanned(t, b, args...); r.Scanned || r.Reason != "2 of 3 kinds could not be read" || !strings.Contains(r.Kinds[1].Error, "the cluster does not say which kinds cert-manager.io/v1") || r.Kinds[2].Error != "" {
		t.Errorf("discovery: got %+v", r)
	}
	b, kube, _ = riskBench(mine()...)
	kube.PrependReactor("get", "group", fails(errors.New("connection refused")))
	if r := scanned(t, b, args...); r.Scanned || !strings.Contains(r.Reason, "connection refused; check the kubeconfig's server") {
		t.Errorf("no answer: got %+v", r)
	}

	// Pages: what the second one has counts, in order, and so does that it is missing.
	page := func(next string, objects ...*unstructured.Unstructured) *unstructured.UnstructuredList {
		list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "cert-manager.io/v1", "kind": "CertificateList"}}
		list.SetContinue(next)
		for _, o := range objects {
			list.Items = append(list.Items, *o)
		}
		return list
	}
	for _, broken := range []bool{false, true} {
		b, _, dyn = riskBench()
		first := true
		dyn.PrependReactor("list", "certificates", func(clienttesting.Action) (bool, runtime.Object, error) {
			if !first && broken {
				return true, nil, apierrors.NewResourceExpired("too old")
			}
			if !first {
				return true, page("", certificate("Certificate", "a", "one", nil, nil)), nil
			}
			first = false
			return true, page("more", certificate("Certificate", "a", "two", nil, nil)), nil
		})
		r, want := scanned(t, b, args...), "a/one a/two"
		if broken {
			want = "a/two"
		}
		if namesOfFindings(r) != want || r.Scanned == broken {
			t.Errorf("pages (broken: %v): got %+v", broken, r)
		}
	}
}
