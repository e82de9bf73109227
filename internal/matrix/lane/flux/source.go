package flux

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
)

// helmChartOf returns the HelmChart that a HelmRelease has created, or nil.
func helmChartOf(hr *unstructured.Unstructured, charts map[string]*unstructured.Unstructured) *unstructured.Unstructured {
	ref, _, _ := unstructured.NestedString(hr.Object, "status", "helmChart") // namespace/name
	_, name, _ := strings.Cut(ref, "/")
	return charts[name]
}

// sourceOf replaces the error of a HelmRelease whose chart waits for its source by the cause: the
// source that cannot be fetched. The HelmRelease and the HelmChart only say that they wait, for
// ever (faults F09). A source in an OCI registry has no state of its own.
func sourceOf(ctx context.Context, env *lane.Env, it lane.Item, hr *unstructured.Unstructured, charts map[string]*unstructured.Unstructured) lane.Item {
	chart := helmChartOf(hr, charts)
	if chart == nil || it.State != lane.ItemWaiting && it.State != lane.ItemBlocked || conditionOf(chart, "Ready").status != "False" {
		return it
	}
	kind, _, _ := unstructured.NestedString(chart.Object, "spec", "sourceRef", "kind")
	name, _, _ := unstructured.NestedString(chart.Object, "spec", "sourceRef", "name")
	gvr := infra.ResourceFor(infra.HelmChartGVR.GroupVersion().WithKind(kind))
	source, err := env.Clients.Dynamic.Resource(gvr).Namespace(infra.FluxNamespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return it // the HelmChart reports that it does not exist
	}
	return withSource(it, kind, name, source)
}

func withSource(it lane.Item, kind, name string, source *unstructured.Unstructured) lane.Item {
	ready := conditionOf(source, "Ready")
	if ready.status != "False" || ready.reason == "Progressing" {
		return it
	}
	it.State, it.Text = lane.ItemSuspect, fmt.Sprintf("its source, %s %s: %s: %s", kind, name, ready.reason, ready.message)
	return it
}
