package healthchecks

import (
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/healthcheck"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/testkit"
)

const (
	web = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: web}\n"
	crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: things.example.com}\nspec: {group: example.com, names: {kind: Thing}, scope: Namespaced, versions: [{name: v1, served: true, storage: true}]}\n"
	own = "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: db, namespace: web}\n"
)

func check(group, version, kind, namespace, name string) healthcheck.Check {
	return healthcheck.Check{Kustomization: "apps", Object: result.Ref{Group: group, Kind: kind, Namespace: namespace, Name: name}, Version: version, Timeout: "2m", Releases: []string{"apps"}}
}

func TestFind(t *testing.T) {
	deployment := func(namespace, name string) healthcheck.Check {
		return check("apps", "v1", "Deployment", namespace, name)
	}
	wrong := deployment("web", "web")
	wrong.Wrong = "which no file here has"
	for name, c := range map[string]struct {
		check   healthcheck.Check
		objects []string
		want    string
	}{
		"it is made":                   {deployment("web", "web"), []string{web}, ""},
		"nothing makes it":             {deployment("web", "wev"), []string{web}, "waits for Deployment web/wev (spec.healthChecks), which nothing makes"},
		"in another namespace":         {deployment("", "web"), []string{web}, "which nothing makes; there is Deployment web/web"},
		"a kind that does not exist":   {check("example.com", "v1", "Thing", "web", "db"), []string{web}, "a kind that no cluster has in example.com/v1, and that nothing here defines"},
		"a version that does not":      {check("apps", "v1beta1", "Deployment", "web", "web"), []string{web}, "a kind that no cluster has in apps/v1beta1"},
		"a kind that the bundle has":   {check("example.com", "v1", "Thing", "web", "db"), []string{crd, own}, ""},
		"a custom resource's workload": {deployment("web", "db-server"), []string{crd, own}, ""},
		"a workload like a ConfigMap":  {deployment("web", "db-server"), []string{strings.NewReplacer("example.com/v1", "v1", "Thing", "ConfigMap").Replace(own)}, "which nothing makes"},
		"of the cluster":               {deployment("kube-system", "coredns"), nil, ""},
		"later":                        {deployment("late", "web"), []string{web, "late:" + strings.ReplaceAll(web, "namespace: web", "namespace: late")}, "which release late makes, and that comes only once the Kustomization is ready: each waits for the other"},
		"the files show it":            {wrong, []string{web}, "which no file here has"},
		"what Flux applies itself":     {check("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "", "things.example.com"), []string{"applied:" + crd}, ""},
		"of a kind that it defines":    {check("example.com", "v1", "Thing", "web", "db"), []string{"applied:" + crd, own}, ""},
		"a HelmRelease":                {check("helm.toolkit.fluxcd.io", "v2", "HelmRelease", "flux-system", "apps"), nil, ""},
	} {
		e := &bundle.Expectation{HealthChecks: []healthcheck.Check{c.check}, Delivered: []bundle.Delivered{{Ref: result.Ref{Group: "helm.toolkit.fluxcd.io", Kind: "HelmRelease", Namespace: "flux-system", Name: "apps"}}}}
		for _, text := range c.objects {
			if rest, ok := strings.CutPrefix(text, "applied:"); ok {
				e.Applied = append(e.Applied, testkit.Parsed(t, rest))
				continue
			}
			release := "apps"
			if rest, ok := strings.CutPrefix(text, "late:"); ok {
				release, text = "late", rest
			}
			e.Objects = append(e.Objects, bundle.Object{Release: release, Object: testkit.Parsed(t, text)})
		}
		found := Find(e, func(release, on string) bool { return release == "late" && on == "apps" })
		got := ""
		for _, p := range found {
			got += p.Text
		}
		if !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// What may make the object at run time is left out: an operator whose rights allow it.
func TestFind_Operator(t *testing.T) {
	e := &bundle.Expectation{HealthChecks: []healthcheck.Check{check("apps", "v1", "Deployment", "web", "made")}}
	for _, text := range []string{
		"apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: op}\nrules: [{apiGroups: [apps], resources: [deployments], verbs: [create]}]\n",
		"apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: op}\nroleRef: {kind: ClusterRole, name: op}\nsubjects: [{kind: ServiceAccount, name: op, namespace: op}]\n",
	} {
		e.Objects = append(e.Objects, bundle.Object{Release: "apps", Object: testkit.Parsed(t, text)})
	}
	w := bundle.Workload{Kind: "Deployment", Namespace: "op", Name: "op"}
	w.PodSpec.ServiceAccountName = "op"
	if found := Find(e, nil); len(found) != 1 {
		t.Errorf("without the operator: got %v", found)
	}
	e.Workloads = append(e.Workloads, w)
	if found := Find(e, nil); len(found) != 0 {
		t.Errorf("got %v", found)
	}
}
