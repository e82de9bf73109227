package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	rspb "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/cli"
	"github.com/nvidia/aicr-action/internal/recipe/upgrades"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/httpstatus"
)

// fromCluster is the value of --from that stands for what is installed.
const fromCluster = "cluster"

// found is a component as a cluster has it.
type found struct{ namespace, chart, version, source string }

// installed are the components that a deployer has installed, of those with these names; as describes one as it is to
// be. A component that is there twice is an error: nothing says which of the two is upgraded.
func (a *app) installed(ctx context.Context, kubeconfig, deployer string, names []string, as func(name string) (upgrades.Component, bool)) (all []upgrades.Component, err error) {
	there := map[string][]found{}
	if strings.HasPrefix(deployer, "argocd") {
		err = a.applications(ctx, kubeconfig, names, there)
	} else {
		err = a.releases(kubeconfig, deployer, names, there)
	}
	if err != nil {
		return nil, installedError(err)
	}
	for _, name := range names {
		switch list := there[name]; len(list) {
		case 0:
		case 1:
			c := upgrades.Component{Name: name, Version: list[0].version, Identity: map[string]string{"namespace": list[0].namespace}}
			if like, ok := as(name); ok {
				c.Files = like.Files
				if like.Identity["chart"] == "" { // the chart is made of manifests, and its version says nothing
					c.Version = ""
				} else {
					c.Identity["chart"] = list[0].chart
				}
			}
			if list[0].source != "" {
				c.Identity["source"] = list[0].source
			}
			all = append(all, c)
		default:
			var places []string
			for _, f := range list {
				places = append(places, f.namespace)
			}
			return nil, cli.Usagef("--from cluster: %s is installed %d times, in the namespaces %s; compare recipes or bundles, one for each", name, len(list), strings.Join(places, ", "))
		}
	}
	if len(all) == 0 {
		return nil, cli.WrapUsage(httpstatus.With(http.StatusNotFound, fmt.Errorf("--from cluster: %s has installed none of the components; name the deployer that did with --deployer, or check the kubeconfig's cluster", deployer)))
	}
	return all, nil
}

// releases finds Helm's newest record of each component's release. A release of Flux may have its namespace in front of
// its name.
func (a *app) releases(kubeconfig, deployer string, names []string, there map[string][]found) error {
	kube, err := a.client(kubeconfig)
	if err != nil {
		return err
	}
	records, err := driver.NewSecrets(kube.CoreV1().Secrets(metav1.NamespaceAll)).List(func(*rspb.Release) bool { return true })
	if err != nil {
		return err
	}
	newest := map[string]*rspb.Release{}
	for _, r := range records {
		key := r.Namespace + "/" + r.Name
		if n := newest[key]; n == nil || n.Version < r.Version {
			newest[key] = r
		}
	}
	for _, r := range newest {
		i := slices.IndexFunc(names, func(name string) bool {
			return r.Name == name || deployer == "flux" && r.Name == r.Namespace+"-"+name
		})
		if i < 0 || r.Info == nil || r.Info.Status == rspb.StatusUninstalled || r.Chart == nil || r.Chart.Metadata == nil {
			continue
		}
		chart, version := carried(r.Chart)
		there[names[i]] = append(there[names[i]], found{namespace: r.Namespace, chart: chart, version: version})
	}
	for _, list := range there {
		slices.SortFunc(list, func(a, b found) int { return strings.Compare(a.namespace, b.namespace) })
	}
	return nil
}

// carried is the chart of a release, or the one that it carries along.
func carried(ch *chart.Chart) (name, version string) {
	if deps := ch.Metadata.Dependencies; len(deps) == 1 && deps[0].Repository == "" && len(ch.Templates) == 0 {
		return deps[0].Name, deps[0].Version
	}
	return ch.Metadata.Name, ch.Metadata.Version
}

// applications finds the Application of each component.
func (a *app) applications(ctx context.Context, kubeconfig string, names []string, there map[string][]found) error {
	client, err := a.dynamic(kubeconfig)
	if err != nil {
		return err
	}
	list, err := client.Resource(schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "applications"}).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, o := range list.Items {
		if !slices.Contains(names, o.GetName()) {
			continue
		}
		f := found{}
		f.namespace, _, _ = unstructured.NestedString(o.Object, "spec", "destination", "namespace")
		sources, _, _ := unstructured.NestedSlice(o.Object, "spec", "sources")
		if source, ok, _ := unstructured.NestedMap(o.Object, "spec", "source"); ok {
			sources = append(sources, source)
		}
		for _, v := range sources {
			source, _ := v.(map[string]any)
			if source["ref"] != nil { // has the values only
				continue
			}
			f.source, _ = source["repoURL"].(string)
			f.chart, _ = source["chart"].(string)
			f.version, _ = source["targetRevision"].(string)
			if f.chart == "" { // a chart in an OCI registry, or one of the bundle's own
				at := strings.LastIndex(f.source, "/")
				f.chart, f.source = f.source[at+1:], f.source[:max(at, 0)]
			}
		}
		there[o.GetName()] = append(there[o.GetName()], f)
	}
	return nil
}

// installedError says what a cluster that cannot be read lacks.
func installedError(err error) error {
	switch {
	case apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err):
		return httpstatus.With(http.StatusForbidden, fmt.Errorf("--from cluster: %w; it needs list on secrets (Helm, Flux), or on applications.argoproj.io", err))
	case apierrors.IsNotFound(err):
		return cli.WrapUsage(httpstatus.With(http.StatusNotFound, fmt.Errorf("--from cluster: the cluster has no Applications of Argo CD: %w; name the deployer that installed the components with --deployer", err)))
	}
	return reason.New(reason.ClusterAccess, "--from cluster: %w; check the kubeconfig's server, the network and the login", err)
}
