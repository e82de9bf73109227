package argocd

import (
	"context"
	"maps"
	"reflect"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// What a second delivery also has to be: the values are no fact of an Application's sources.
const (
	comparedWith = "compared with"
	ownSpec      = "its spec"
)

// upgradedDelivery adds what an Application was compared with last. Where that made no difference,
// Argo CD does not sync again: what it has compared counts as synced.
func upgradedDelivery(app *unstructured.Unstructured, d lane.Delivery) lane.Delivery {
	syncedAsCompared(app, d)
	with := ownSpec
	for _, field := range []string{"source", "sources"} {
		spec, _, _ := unstructured.NestedFieldNoCopy(app.Object, "spec", field)
		last, _, _ := unstructured.NestedFieldNoCopy(app.Object, "status", "sync", "comparedTo", field)
		if !reflect.DeepEqual(filled(spec), filled(last)) {
			with = "an older spec"
		}
	}
	d.Facts = append(d.Facts, lane.Fact{Name: comparedWith, Value: with})
	return d
}

// syncedAsCompared counts the revision that an Application was compared with as synced, if it is Synced.
func syncedAsCompared(app *unstructured.Unstructured, d lane.Delivery) {
	compared := slices.IndexFunc(d.Facts, func(f lane.Fact) bool { return f.Name == "compared revision" })
	for i := range d.Facts {
		if d.Facts[i].Name == "synced revision" && statusText(app, "sync", "status") == "Synced" && compared >= 0 {
			d.Facts[i].Value = d.Facts[compared].Value
		}
	}
}

// hasNothing reports whether an Application of a first installation has no object, as the bundle has none for
// its release: Argo CD finds it Synced from the first comparison on, and never syncs it.
func hasNothing(app *unstructured.Unstructured, e bundle.Expectation) bool {
	if app == nil || slices.ContainsFunc(e.Objects, func(o bundle.Object) bool { return o.Release == app.GetName() }) {
		return false
	}
	resources, _, _ := unstructured.NestedSlice(app.Object, "status", "resources")
	return len(resources) == 0
}

// nothingToSync makes an Application good that is new and has never synced, since all that it has is in
// the cluster already, as it wants it: another Application had it before, or there is nothing.
func nothingToSync(it *lane.Item, app *unstructured.Unstructured) {
	if it.State != lane.ItemWaiting || app == nil {
		return
	}
	_, synced, _ := unstructured.NestedMap(app.Object, "status", "operationState")
	_, asked, _ := unstructured.NestedMap(app.Object, "operation")
	several, _, _ := unstructured.NestedStringSlice(app.Object, "status", "sync", "revisions") // of several sources
	if synced || asked || statusText(app, "sync", "status") != "Synced" || statusText(app, "sync", "revision") == "" && len(several) == 0 || statusText(app, "health", "status") != "Healthy" {
		return
	}
	it.State, it.Text = lane.ItemGood, "Synced, Healthy, without an operation: there was nothing to sync"
}

// filled leaves out what is empty, which Argo CD does not write.
func filled(value any) any {
	switch x := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, v := range x {
			if v = filled(v); v != nil {
				out[k] = v
			}
		}
		if len(out) > 0 {
			return out
		}
		return nil
	case []any:
		var out []any
		for _, v := range x {
			out = append(out, filled(v))
		}
		if len(out) > 0 {
			return out
		}
		return nil
	case string:
		if x == "" {
			return nil
		}
	case bool:
		if !x {
			return nil
		}
	}
	return value
}

// notify asks for a comparison of what a second delivery has changed behind Argo CD's back, as the webhook
// of a Git server or a registry does: of every Application after a push to the branch that they follow, and
// of one whose chart has other content under its version. Otherwise Argo CD looks every two to three minutes.
func notify(ctx context.Context, env *lane.Env) error {
	if env.Before == nil {
		return nil
	}
	var names []string
	if bundle.ByGit(env.Cell.Deployer) {
		apps, err := applications(ctx, env)
		if err != nil {
			return reason.Wrap(reason.ClusterFailed, err)
		}
		names = slices.Collect(maps.Keys(apps))
	} else {
		for _, r := range lane.RepublishedReleases(env.Before, env.Bundle) {
			names = append(names, r.Name)
		}
	}
	for _, name := range names {
		if err := askRefresh(ctx, env, name, "normal"); err != nil && !apierrors.IsNotFound(err) {
			return reason.New(reason.ClusterFailed, "ask for a comparison of Application %s: %w", name, err)
		}
	}
	return nil
}
