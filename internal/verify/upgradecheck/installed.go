// Package upgradecheck reads from a cluster which components of a recipe a deployer has installed,
// and holds what aicr upgrade-check says of a cluster against what it says of the bundle that was
// delivered there.
package upgradecheck

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	rspb "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/nvidia/aicr-action/internal/recipe"
)

// versionAnnotation is where AICR's bundler writes, in each chart that it makes, the version of what is in it.
const versionAnnotation = "aicr.run/component-version"

// Cluster is where components are looked for: Kube for the records of Helm, which Flux keeps too, Dynamic for
// Applications. Each is asked for only if the deployer needs it.
type Cluster struct {
	Kube    func() (kubernetes.Interface, error)
	Dynamic func() (dynamic.Interface, error)
}

// Source says what was read in a cluster, with the keys of AICR's own CLI. Matched is the number of components found; Helm
// and Argo are nil for the other kind of deployer.
type Source struct {
	Matched int         `json:"matched"`
	Helm    *HelmSource `json:"helm,omitempty"`
	Argo    *ArgoSource `json:"argo,omitempty"`
}

// HelmSource counts releases, each by its newest revision: all of them, those of no component, the records that cannot be
// read, those that are uninstalled with their history kept, and those of no component whose chart AICR's bundler made.
type HelmSource struct {
	Records          int `json:"records"`
	Unattributed     int `json:"unattributed"`
	Unreadable       int `json:"unreadable"`
	Uninstalled      int `json:"uninstalled"`
	StampedUnmatched int `json:"stampedUnmatched"`
}

// ArgoSource counts Applications: all of them, those of no component, and those of a component that have completed no sync,
// so that their version is not known.
type ArgoSource struct {
	Applications int `json:"applications"`
	Unattributed int `json:"unattributed"`
	Unreadable   int `json:"unreadable"`
}

// ErrNone says that a deployer has installed none of the components.
var ErrNone = errors.New("none of the components is installed")

// TwiceError is a component that is installed more than once: nothing says which of them is upgraded.
type TwiceError struct {
	Component  string
	Namespaces []string
}

func (e *TwiceError) Error() string {
	return fmt.Sprintf("%s is installed %d times, in the namespaces %s", e.Component, len(e.Namespaces), strings.Join(e.Namespaces, ", "))
}

// found is a component as a cluster has it.
type found struct {
	namespace, chart, version, source string
	annotated                         string // by versionAnnotation
	// unsettled says why the version is not known; empty if it is.
	unsettled string
}

// Installed are the components that a deployer, by AICR's name of it, has installed, of wanted, and of others with
// these names; wanted are as they are to be. Errors: ErrNone, *TwiceError, and those of the API server as they are.
func Installed(ctx context.Context, in Cluster, deployer string, wanted []recipe.UpgradeComponent, others []string) (all []recipe.UpgradeComponent, source Source, err error) {
	there, like, names := map[string][]found{}, map[string]recipe.UpgradeComponent{}, slices.Clone(others)
	for _, w := range wanted {
		if like[w.Name] = w; !slices.Contains(names, w.Name) {
			names = append(names, w.Name)
		}
	}
	if strings.HasPrefix(deployer, "argocd") {
		source.Argo, err = applications(ctx, in, names, there)
	} else {
		source.Helm, err = releases(in, deployer, names, there)
	}
	if err != nil {
		return nil, source, err
	}
	for _, name := range names {
		switch list := there[name]; len(list) {
		case 0:
		case 1:
			w, ok := like[name]
			all = append(all, list[0].component(name, w, ok))
		default:
			twice := &TwiceError{Component: name}
			for _, f := range list {
				twice.Namespaces = append(twice.Namespaces, f.namespace)
			}
			return nil, source, twice
		}
	}
	if source.Matched = len(all); len(all) == 0 {
		return nil, source, ErrNone
	}
	return all, source, nil
}

// Components are the components of a recipe that are deployed, as they are compared.
func Components(r *recipe.Result) []recipe.UpgradeComponent {
	var all []recipe.UpgradeComponent
	for _, ref := range r.ComponentRefs {
		if ref.LeftOut() {
			continue
		}
		all = append(all, recipe.UpgradeComponent{
			Name: ref.Name, Version: cmp.Or(ref.Version, ref.Tag),
			Identity: map[string]string{"namespace": ref.Namespace, "chart": ref.Chart, "source": ref.Source, "path": ref.Path, "type": ref.Type},
			Files:    map[string][]string{"manifestFiles": ref.ManifestFiles, "preManifestFiles": ref.PreManifestFiles},
		})
	}
	return all
}

// component is the component of a recipe that is found. Like is the same one as it is to be, if ok. A chart that the
// bundler made has its own version, which is none of the component's; it counts only what its annotation says.
func (f *found) component(name string, like recipe.UpgradeComponent, ok bool) recipe.UpgradeComponent {
	c := recipe.UpgradeComponent{Name: name, Version: cmp.Or(f.annotated, f.version), Unsettled: f.unsettled, Identity: map[string]string{"namespace": f.namespace}}
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
func releases(in Cluster, deployer string, names []string, there map[string][]found) (*HelmSource, error) {
	kube, err := in.Kube()
	if err != nil {
		return nil, err
	}
	var source HelmSource
	stored := driver.NewSecrets(kube.CoreV1().Secrets(metav1.NamespaceAll))
	stored.Log = func(format string, _ ...any) { // of a record that it leaves out, it only logs
		if strings.Contains(format, "failed to decode release") {
			source.Unreadable++
		}
	}
	records, err := stored.List(func(*rspb.Release) bool { return true })
	if err != nil {
		return nil, err
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
		source.Records++
		if r.Info == nil || r.Chart == nil || r.Chart.Metadata == nil {
			source.Unreadable++
			continue
		}
		annotated := r.Chart.Metadata.Annotations[versionAnnotation]
		switch {
		case r.Info.Status == rspb.StatusUninstalled:
			source.Uninstalled++
			continue
		case i < 0:
			if source.Unattributed++; annotated != "" {
				source.StampedUnmatched++
			}
			continue
		}
		f := found{namespace: r.Namespace, annotated: annotated}
		if f.chart, f.version = carried(r.Chart); r.Info.Status != rspb.StatusDeployed {
			f.version, f.annotated = "", ""
			f.unsettled = fmt.Sprintf("revision %d of the Helm release %s/%s is %s, so an older version may still run; finish it or roll it back, then check again", r.Version, r.Namespace, r.Name, r.Info.Status)
		}
		there[names[i]] = append(there[names[i]], f)
	}
	for _, list := range there {
		slices.SortFunc(list, func(a, b found) int { return strings.Compare(a.namespace, b.namespace) })
	}
	return &source, nil
}

// carried is the chart of a release, or the one that it carries along.
func carried(ch *chart.Chart) (name, version string) {
	if deps := ch.Metadata.Dependencies; len(deps) == 1 && deps[0].Repository == "" && len(ch.Templates) == 0 {
		return deps[0].Name, deps[0].Version
	}
	return ch.Metadata.Name, ch.Metadata.Version
}

// applications finds the Application of each component.
func applications(ctx context.Context, in Cluster, names []string, there map[string][]found) (*ArgoSource, error) {
	client, err := in.Dynamic()
	if err != nil {
		return nil, err
	}
	list, err := client.Resource(schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "applications"}).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	source := ArgoSource{Applications: len(list.Items)}
	for _, o := range list.Items {
		if !slices.Contains(names, o.GetName()) {
			source.Unattributed++
			continue
		}
		f := found{}
		f.namespace, _, _ = unstructured.NestedString(o.Object, "spec", "destination", "namespace")
		if synced := lastSync(o.Object); synced == nil {
			source.Unreadable++
			f.unsettled = fmt.Sprintf("the Application %s/%s has completed no sync; wait for one, then check again", o.GetNamespace(), o.GetName())
		} else {
			f.chart, f.source, f.version = deployed(synced)
		}
		there[o.GetName()] = append(there[o.GetName()], f)
	}
	return &source, nil
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
