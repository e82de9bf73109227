package main

import (
	"context"
	"fmt"
	"net/http"
	"path"
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
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/httpstatus"
)

// fromCluster is the value of --from that stands for what is installed.
const fromCluster = "cluster"

// versionAnnotation is where AICR's bundler writes, in each chart that it makes, the version of what is in it.
const versionAnnotation = "aicr.run/component-version"

// found is a component as a cluster has it.
type found struct {
	namespace, chart, version, source string
	annotated                         string // by versionAnnotation
	// unsettled says why the version is not known; empty if it is.
	unsettled string
}

// installed are the components that a deployer has installed, of those with these names; as describes one as it is to
// be. A component that is there twice is an error: nothing says which of the two is upgraded.
func (a *app) installed(ctx context.Context, kubeconfig, deployer string, names []string, as func(name string) (recipe.UpgradeComponent, bool)) (all []recipe.UpgradeComponent, err error) {
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
			like, ok := as(name)
			all = append(all, list[0].component(name, like, ok))
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

// component is the component of a recipe that is found. Like is the same one as it is to be, if ok. A chart that the
// bundler made has its own version, which is none of the component's; it counts only what its annotation says.
func (f *found) component(name string, like recipe.UpgradeComponent, ok bool) recipe.UpgradeComponent {
	c := recipe.UpgradeComponent{Name: name, Version: cli.FirstOf(f.annotated, f.version), Unsettled: f.unsettled, Identity: map[string]string{"namespace": f.namespace}}
	if f.source != "" {
		c.Identity["source"] = f.source
	}
	if !ok {
		return c
	}
	c.Files = like.Files
	switch made := like.Identity["chart"] == ""; {
	case made && like.Version == "": // nothing to compare it with
		c.Version = ""
	case made:
		c.Version = f.annotated
	default:
		c.Identity["chart"] = f.chart
	}
	if c.Version == "" && like.Version != "" && c.Unsettled == "" {
		c.Unsettled = "what is installed is a chart of the bundle without the annotation " + versionAnnotation + "; compare with the bundle that was deployed"
	}
	return c
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
		f := found{namespace: r.Namespace, annotated: r.Chart.Metadata.Annotations[versionAnnotation]}
		if f.chart, f.version = carried(r.Chart); r.Info.Status != rspb.StatusDeployed {
			f.version, f.annotated = "", ""
			f.unsettled = fmt.Sprintf("revision %d of the Helm release %s/%s is %s, so an older version may still run; finish it or roll it back, then check again", r.Version, r.Namespace, r.Name, r.Info.Status)
		}
		there[names[i]] = append(there[names[i]], f)
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
		if synced := lastSync(o.Object); synced == nil {
			f.unsettled = fmt.Sprintf("the Application %s/%s has completed no sync; wait for one, then check again", o.GetNamespace(), o.GetName())
		} else {
			f.chart, f.source, f.version = deployed(synced)
		}
		there[o.GetName()] = append(there[o.GetName()], f)
	}
	return nil
}

// lastSync is the part of an Application's status that has the sources of the last completed sync; nil without one.
// What the spec asks for may not be deployed yet. An Application that Argo CD compared and found equal has what it
// was compared to, whether or not a sync made it so.
func lastSync(app map[string]any) map[string]any {
	if status, _, _ := unstructured.NestedString(app, "status", "sync", "status"); status == "Synced" {
		if compared, ok, _ := unstructured.NestedMap(app, "status", "sync", "comparedTo"); ok && len(sourcesOf(compared)) > 0 {
			return compared
		}
	}
	if history, _, _ := unstructured.NestedSlice(app, "status", "history"); len(history) > 0 { // the newest is the last
		last, _ := history[len(history)-1].(map[string]any)
		return last
	}
	// Without a history (revisionHistoryLimit: 0), the last operation, if it was all of a sync.
	phase, _, _ := unstructured.NestedString(app, "status", "operationState", "phase")
	sync, _, _ := unstructured.NestedMap(app, "status", "operationState", "operation", "sync")
	if phase != "Succeeded" || sync["dryRun"] == true || sync["resources"] != nil {
		return nil
	}
	made, ok, _ := unstructured.NestedMap(app, "status", "operationState", "syncResult")
	if !ok || len(sourcesOf(made)) == 0 {
		return nil
	}
	return made
}

// sourcesOf are the sources of a spec, or of a status that has the same fields, except those that have the values only.
func sourcesOf(of map[string]any) []map[string]any {
	list, _, _ := unstructured.NestedSlice(of, "sources")
	var all []map[string]any
	for _, v := range append(list, of["source"]) {
		if source, ok := v.(map[string]any); ok && source["ref"] == nil && source["repoURL"] != nil && source["repoURL"] != "" {
			all = append(all, source)
		}
	}
	return all
}

// deployed is the chart of a sync, from which repository and in which version. A directory of the bundle has none of
// these: its revision is the bundle's.
func deployed(sync map[string]any) (chart, repository, version string) {
	for _, source := range sourcesOf(sync) {
		url, _ := source["repoURL"].(string)
		revision, _ := source["targetRevision"].(string)
		if name, _ := source["chart"].(string); name != "" {
			return name, url, revision
		}
		// A chart in an OCI registry is the root of its artifact.
		if dir, _ := source["path"].(string); dir == "" || path.Clean(dir) == "." {
			at := strings.LastIndex(url, "/")
			chart, repository, version = url[at+1:], url[:max(at, 0)], revision
		}
	}
	return chart, repository, version
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
