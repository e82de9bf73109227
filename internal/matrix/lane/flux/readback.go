package flux

import (
	"context"
	"fmt"
	"slices"
	"strings"

	helmrelease "helm.sh/helm/v3/pkg/release"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
)

// releaseTiming reads a HelmRelease's dependsOn, when Helm started its first release, and when it
// became Ready.
func releaseTiming(hr *unstructured.Unstructured) *lane.Timing {
	t := &lane.Timing{}
	deps, _, _ := unstructured.NestedSlice(hr.Object, "spec", "dependsOn")
	for _, dep := range deps {
		m, _ := dep.(map[string]any)
		after := result.Ref{Group: hr.GroupVersionKind().Group, Kind: hr.GetKind(), Namespace: hr.GetNamespace()}
		after.Name, _ = m["name"].(string)
		if namespace, _ := m["namespace"].(string); namespace != "" {
			after.Namespace = namespace
		}
		if after.Name != "" {
			t.After = append(t.After, after)
		}
	}
	history, _, _ := unstructured.NestedSlice(hr.Object, "status", "history")
	if len(history) > 0 { // the newest is first
		release, _ := history[len(history)-1].(map[string]any)
		t.Began = lane.TimeOf(release["firstDeployed"])
	}
	if ready := conditionOf(hr, "Ready"); ready.status == "True" {
		t.Ended = ready.since
	}
	return t
}

// ReadBack reads every HelmRelease and its newest release in status.history, Helm's storage, the
// ArtifactGenerators, and the revision of the bundle that its source has fetched and the
// Kustomization has applied: the digest or the commit that was pushed.
func (l *fluxLane) ReadBack(ctx context.Context, env *lane.Env) (lane.Record, error) {
	rec := lane.Record{}
	e, in := env.Bundle.Expectation, env.Input
	digest, err := env.PublishedDigest(in.RepoURL, in.TargetRevision)
	if err != nil {
		return rec, err
	}
	revision := in.TargetRevision + "@" + digest
	var generators []lane.Delivery
	for _, d := range e.Delivered {
		switch d.Kind {
		case "OCIRepository", "GitRepository":
			if d.Name != bundle.FluxSource && d.Kind == "OCIRepository" {
				source, err := chartSource(env, d)
				if err != nil {
					return rec, err
				}
				rec.Want = append(rec.Want, source)
				continue
			}
			rec.Want = append(rec.Want, lane.Delivered(d.Ref, lane.Fact{Name: "source", Value: in.RepoURL}, lane.Fact{Name: "fetched revision", Value: revision}))
		case kindKustomization:
			rec.Want = append(rec.Want, lane.Delivered(d.Ref, lane.Fact{Name: "applied revision", Value: revision}))
		case "ArtifactGenerator":
			generators = append(generators, lane.Delivered(d.Ref))
		}
	}
	local := map[string]bundle.Release{}
	for _, r := range e.Releases {
		if r.Local || r.Given.Source != "" {
			local[r.Namespace+"/"+r.InHelm()] = r
		}
		own := lane.HelmDelivery(r.Namespace, r.InHelm(), r.Chart, r.ChartVersion, string(helmrelease.StatusDeployed))
		rec.Want = append(rec.Want, own, lane.Delivered(Ref(KindHelmRelease, r.Name), append([]lane.Fact{{Name: "release", Value: r.Namespace + "/" + r.InHelm()}}, own.Facts...)...))
	}
	rec.Want = append(rec.Want, generators...)
	for _, k := range []struct {
		gvr  schema.GroupVersionResource
		read func(*unstructured.Unstructured) lane.Delivery
	}{
		{infra.OCIRepositoryGVR, sourceDelivery},
		{infra.GitRepositoryGVR, sourceDelivery},
		{infra.KustomizationGVR, func(o *unstructured.Unstructured) lane.Delivery {
			revision, _, _ := unstructured.NestedString(o.Object, "status", "lastAppliedRevision")
			return lane.Delivered(lane.RefOf(o), lane.Fact{Name: "applied revision", Value: revision})
		}},
		{infra.HelmReleaseGVR, func(o *unstructured.Unstructured) lane.Delivery { return helmReleaseDelivery(o, local) }},
		{infra.ArtifactGeneratorGVR, func(o *unstructured.Unstructured) lane.Delivery {
			return lane.Delivered(lane.RefOf(o))
		}},
	} {
		list, err := env.Clients.Dynamic.Resource(k.gvr).Namespace(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
		if err != nil {
			return rec, fmt.Errorf("list %s: %w", k.gvr.Resource, err)
		}
		for i := range list.Items {
			rec.Got = append(rec.Got, k.read(&list.Items[i]))
		}
	}
	if env.Before != nil {
		if err := l.upgraded(ctx, env, &rec); err != nil {
			return rec, err
		}
	}
	return rec, lane.ReadHelmStorage(env, func(rel *helmrelease.Release) string {
		return withoutDigest(rel.Chart.Metadata.Version, local[rel.Namespace+"/"+rel.Name])
	}, &rec)
}

// sourceDelivery returns where a source fetches from, and what it has fetched.
func sourceDelivery(source *unstructured.Unstructured) lane.Delivery {
	url, _, _ := unstructured.NestedString(source.Object, "spec", "url")
	revision, _, _ := unstructured.NestedString(source.Object, "status", "artifact", "revision")
	return lane.Delivered(lane.RefOf(source), lane.Fact{Name: "source", Value: url}, lane.Fact{Name: "fetched revision", Value: revision})
}

func helmReleaseDelivery(hr *unstructured.Unstructured, local map[string]bundle.Release) lane.Delivery {
	d := lane.Delivered(lane.RefOf(hr))
	history, _, _ := unstructured.NestedSlice(hr.Object, "status", "history")
	if len(history) == 0 { // suspended, or helm-controller never installed it
		d.Facts = []lane.Fact{{Name: "release"}}
		return d
	}
	m, _ := history[0].(map[string]any) // the newest
	text := func(key string) string { s, _ := m[key].(string); return s }
	at := text("namespace") + "/" + text("name")
	d.Facts = []lane.Fact{{Name: "release", Value: at}, {Name: "chart", Value: text("chartName")}, {Name: "version", Value: withoutDigest(text("chartVersion"), local[at])}, {Name: "status", Value: text("status")}}
	return d
}

// chartSource is what an OCIRepository with a chart must have fetched.
func chartSource(env *lane.Env, d bundle.Delivered) (lane.Delivery, error) {
	releases := env.Bundle.Expectation.Releases
	i := slices.IndexFunc(releases, func(r bundle.Release) bool { return r.Given.Source == d.Name })
	if i < 0 {
		return lane.Delivered(d.Ref), nil
	}
	url := strings.TrimSuffix(env.Input.ChartRepository, "/") + "/" + releases[i].Chart
	digest, err := env.PublishedDigest(url, releases[i].ChartVersion)
	if err != nil {
		return lane.Delivery{}, err
	}
	tag := strings.ReplaceAll(releases[i].ChartVersion, "+", "_")
	return lane.Delivered(d.Ref, lane.Fact{Name: "source", Value: url}, lane.Fact{Name: "fetched revision", Value: tag + "@" + digest}), nil
}

// withoutDigest removes the digest of an ExternalArtifact or an OCIRepository that helm-controller
// writes behind the version of the chart in it, so that an upgrade happens when only the content has
// changed (https://fluxcd.io/flux/components/helm/helmreleases/#chart-reference).
func withoutDigest(version string, local bundle.Release) string {
	if (local.Local || local.Given.Source != "") && lane.SameVersion(version, local.ChartVersion) {
		return local.ChartVersion
	}
	return version
}
