package gate

// lookup.go finds where a template renders otherwise in the cluster than without one: by
// lookup, by what the API server serves, or by what kind of release it is. Workloads that a deployer
// delivered and no rendering foresaw are to be judged like the others, and objects that Helm did not
// render in the cluster are not missing. It must not wait, or know which deployer a lane belongs to.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	helmrelease "helm.sh/helm/v3/pkg/release"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/manifestline"
	"github.com/nvidia/aicr-action/internal/bundle/podspec"
	"github.com/nvidia/aicr-action/internal/bundle/rendering"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result"
)

// The marks by which a deployer knows its objects again: Helm's, of which hooks have none, and Argo
// CD's, which names the object too, so that a copy of it counts for nothing.
const (
	helmName, helmNamespace = "meta.helm.sh/release-name", "meta.helm.sh/release-namespace"
	argoTracking            = "argocd.argoproj.io/tracking-id"
)

// findUnforeseen returns the workloads in a view that a release of the bundle delivered and its expectation
// does not have, by kind, namespace and name. What has an owner is another's work, as is what a
// bundle before this one had.
func findUnforeseen(b, before *bundle.Bundle, v *observe.View) []bundle.Workload {
	known := map[string]bool{}
	for _, e := range []*bundle.Bundle{b, before} {
		if e == nil {
			continue
		}
		for i := range e.Expectation.Workloads {
			w := &e.Expectation.Workloads[i]
			known[observe.WorkloadKey(w.Kind, w.Namespace, w.Name)] = true
		}
	}
	all := map[string]live{}
	for key, w := range v.Live {
		if w.Object != nil && !known[key] && !owned(w.Object) {
			kind, _, _ := strings.Cut(key, " ")
			all[key] = live{kind, w.Object}
		}
	}
	for i := range v.Pods {
		p := &v.Pods[i]
		if owned(p) { // nearly all, of which a large cluster has thousands
			continue
		}
		if key := observe.WorkloadKey("Pod", p.Namespace, p.Name); !known[key] {
			all[key] = live{"Pod", p}
		}
	}
	var found []bundle.Workload
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if w, ok := all[key].delivered(b, before != nil); ok {
			found = append(found, w)
		}
	}
	return found
}

func owned(o metav1.Object) bool { return len(o.GetOwnerReferences()) > 0 }

// live is a workload as the cluster has it.
type live struct {
	kind string
	metav1.Object
}

// delivered returns the workload that a release delivered; false if none did.
func (l live) delivered(b *bundle.Bundle, upgraded bool) (bundle.Workload, bool) {
	if l.GetDeletionTimestamp() != nil {
		return bundle.Workload{}, false
	}
	r := l.release(b.Expectation.Releases, upgraded)
	if r == nil {
		return bundle.Workload{}, false
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(l.Object)
	if err != nil {
		return bundle.Workload{}, false
	}
	o := &unstructured.Unstructured{Object: fields}
	gv := schema.GroupVersion{Group: observe.WorkloadRef(l.kind, "", "").Group, Version: "v1"}
	o.SetGroupVersionKind(gv.WithKind(l.kind))
	w := bundle.Workload{
		Component: r.Component, Release: r.Name, Kind: l.kind, Namespace: l.GetNamespace(), Name: l.GetName(),
		Replicas: podspec.Count(o), Hook: l.GetAnnotations()[rendering.HelmHook] != "",
	}
	spec, ok := podspec.Of(o)
	if !ok || runtime.DefaultUnstructuredConverter.FromUnstructured(spec, &w.PodSpec) != nil {
		return bundle.Workload{}, false
	}
	w.Ephemeral = w.Hook
	w.Template = template(b, r.Name, manifestline.Object{Kind: l.kind, Name: l.GetName()})
	return w, true
}

// release returns the release that delivered an object; nil if none of the bundle's did. Of an
// upgrade, hooks are left out: those that run then only are not foreseen, and Helm waits for them.
func (l live) release(all []bundle.Release, upgraded bool) *bundle.Release {
	a := l.GetAnnotations()
	app, object, argo := strings.Cut(a[argoTracking], ":")
	argo = argo && object == fmt.Sprintf("%s/%s:%s/%s", observe.WorkloadRef(l.kind, "", "").Group, l.kind, l.GetNamespace(), l.GetName())
	app = app[strings.LastIndex(app, "_")+1:] // of an Application in another namespace than usual
	var inNamespace *bundle.Release
	for i := range all {
		r := &all[i]
		switch {
		case argo && r.Name == app:
			return r
		case a[helmName] != "" && (r.InHelm() == a[helmName] || r.Name == a[helmName]) && r.Namespace == a[helmNamespace]:
			return r
		case a[rendering.HelmHook] == "" || upgraded || r.Namespace != l.GetNamespace():
		case inNamespace == nil || r.InHelm() == l.GetLabels()["app.kubernetes.io/instance"]:
			inNamespace = r
		}
	}
	return inNamespace
}

// template returns the template of a release that may have rendered an object, with the line; empty
// if none may. One that asks the cluster comes first.
func template(b *bundle.Bundle, release string, o manifestline.Object) string {
	i := slices.IndexFunc(b.Installs, func(in bundle.Install) bool { return in.Release.Name == release })
	if i < 0 || b.Installs[i].Chart == nil {
		return ""
	}
	other := ""
	var look func(ch *chart.Chart, at string) string
	look = func(ch *chart.Chart, at string) string {
		for _, f := range ch.Templates {
			text, name := string(f.Data), at+"/"+f.Name
			line, _ := manifestline.Find(text, o)
			if m := b.Installs[i].Sources[name]; m != nil {
				name = m.File // as the expectation calls it, and as a person can open it
			}
			switch {
			case line == 0:
			case slices.ContainsFunc([]string{"lookup", ".Capabilities", ".Release.Is", ".Release.Revision"}, func(asks string) bool { return strings.Contains(text, asks) }):
				return fmt.Sprintf("%s:%d", name, line)
			case !slices.ContainsFunc(b.Expectation.Objects, func(r bundle.Object) bool { return r.Release == release && r.Template == name }):
				other = cmp.Or(other, fmt.Sprintf("%s:%d", name, line))
			}
		}
		for _, d := range ch.Dependencies() {
			if found := look(d, at+"/charts/"+d.Name()); found != "" {
				return found
			}
		}
		return ""
	}
	ch := b.Installs[i].Chart
	return cmp.Or(look(ch, ch.Name()), other)
}

// unforeseenLine says that a workload was not foreseen.
func unforeseenLine(w *bundle.Workload) string {
	where := "a template of release " + w.Release
	if w.Template != "" {
		where = w.Template
	}
	return fmt.Sprintf("%s (%s) was not foreseen: the cluster has it of %s, and what was rendered without a cluster does not", observe.WorkloadRef(w.Kind, w.Namespace, w.Name), w.Component, where)
}

// explainUnforeseen adds to each finding about such a workload that it was not foreseen.
func explainUnforeseen(err error, found []bundle.Workload) {
	var failure *result.Failure
	if len(found) == 0 || !errors.As(err, &failure) {
		return
	}
	for i := range found {
		ref := observe.WorkloadRef(found[i].Kind, found[i].Namespace, found[i].Name)
		for j := range failure.Findings {
			f := &failure.Findings[j]
			line := unforeseenLine(&found[i])
			if len(f.Story) > 0 && strings.HasPrefix(f.Story[0], "  ") { // as the lines around it
				line = "  " + line
			}
			if (f.Object != nil && *f.Object == ref || slices.Contains(f.Others, ref)) && !slices.Contains(f.Story, line) {
				f.Story = append(f.Story, line)
			}
		}
	}
}

// notRendered returns those of the objects which Helm or Argo CD, by its own record, did not render in the
// cluster. A release that is not deployed, or that another program delivered, says nothing; neither
// does a hook, which is in no record of what exists.
func notRendered(ctx context.Context, env *lane.Env, missing []bundle.Object) ([]bundle.Object, error) {
	if strings.HasPrefix(env.Cell.Deployer, "argocd-") {
		return notInApplication(ctx, env, missing)
	}
	var rec lane.Record
	if err := lane.ReadHelmStorage(env, nil, &rec); err != nil {
		return nil, err
	}
	var without []bundle.Object
	for _, o := range missing {
		i := slices.IndexFunc(env.Bundle.Expectation.Releases, func(r bundle.Release) bool { return r.Name == o.Release })
		if i < 0 || o.Hook || o.InCRDs() || slices.Contains([]string{"CustomResourceDefinition", "Namespace"}, o.Object.GetKind()) {
			continue // what is in crds/ is in no record, and a namespace may be the deployer's
		}
		name, namespace := env.Bundle.Expectation.Releases[i].InHelm(), env.Bundle.Expectation.Releases[i].Namespace
		want := lane.HelmDelivery(namespace, name, "", "", "")
		deployed := slices.ContainsFunc(rec.Got, func(d lane.Delivery) bool {
			return d.ID == want.ID && slices.Contains(d.Facts, lane.Fact{Name: "status", Value: string(helmrelease.StatusDeployed)})
		})
		if deployed && !slices.ContainsFunc(rec.Objects, func(have lane.Object) bool {
			return have.Release == name && have.GVK.GroupKind() == o.Object.GroupVersionKind().GroupKind() && have.Name == o.Object.GetName()
		}) {
			without = append(without, o)
		}
	}
	return without, nil
}

// notRenderedLine says that an object is not there, and what was compared.
func notRenderedLine(o *bundle.Object) string {
	return fmt.Sprintf("%s (%s, %s) is not in the cluster: what was rendered without a cluster has it, and the deployer's own record of what it delivered does not", o.Ref(), o.Component, o.Template)
}
