package flux

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// sourceKey is the key of the bundle's source in what was observed before.
const sourceKey = "the bundle's source"

// remember notes what the bundle's source and the generators have observed: after the next
// delivery, they must have observed something else.
func (l *fluxLane) remember(ctx context.Context, env *lane.Env) error {
	seen, err := l.observed(ctx, env)
	l.before = seen
	return err
}

func (l *fluxLane) observed(ctx context.Context, env *lane.Env) (map[string]string, error) {
	seen := map[string]string{}
	gvr := infra.OCIRepositoryGVR
	if bundle.ByGit(env.Cell.Deployer) {
		gvr = infra.GitRepositoryGVR
	}
	sources, err := l.objects(ctx, env, gvr)
	if err != nil {
		return nil, err
	}
	if source := sources[bundle.FluxSource]; source != nil {
		seen[sourceKey], _, _ = unstructured.NestedString(source.Object, "status", "artifact", "digest")
	}
	generators, err := l.objects(ctx, env, infra.ArtifactGeneratorGVR)
	if err != nil {
		return nil, err
	}
	for name, g := range generators {
		seen[name], _, _ = unstructured.NestedString(g.Object, "status", "observedSourcesDigest")
	}
	return seen, nil
}

// Facts that only a second delivery has: charts inside the bundle may change without a new version.
const (
	madeOf   = "made of"
	contents = "chart's content"
	newest   = "the newest source"
)

// upgraded adds to a record whether the generators have observed the new source, and whether each
// release has the newest content of its generated chart.
func (l *fluxLane) upgraded(ctx context.Context, env *lane.Env, rec *lane.Record) error {
	now, err := l.observed(ctx, env)
	if err != nil {
		return err
	}
	artifacts, err := l.objects(ctx, env, infra.ExternalArtifactGVR)
	if err != nil {
		return err
	}
	releases, err := l.objects(ctx, env, infra.HelmReleaseGVR)
	if err != nil {
		return err
	}
	facts := func(list []lane.Delivery, of func(lane.Delivery) (lane.Fact, bool)) {
		for i := range list {
			if fact, ok := of(list[i]); ok {
				list[i].Facts = append(list[i].Facts, fact)
			}
		}
	}
	want := func(d lane.Delivery) (lane.Fact, bool) {
		switch d.Object.Kind {
		case "ArtifactGenerator":
			return lane.Fact{Name: madeOf, Value: newest}, true
		case KindHelmRelease:
			return lane.Fact{Name: contents, Value: newest}, true
		}
		return lane.Fact{}, false
	}
	facts(rec.Want, want)
	facts(rec.Got, func(d lane.Delivery) (lane.Fact, bool) {
		fact, ok := want(d)
		switch before, had := l.before[d.Object.Name]; {
		case fact.Name == madeOf && had && now[sourceKey] != l.before[sourceKey] && now[d.Object.Name] == before:
			fact.Value = "the source of before"
		case fact.Name == contents && !hasContent(releases[d.Object.Name], artifacts):
			fact.Value = "an older one"
		}
		return fact, ok
	})
	return nil
}

// hasContent reports whether the newest release of a HelmRelease has the content of its
// ExternalArtifact, whose digest helm-controller writes behind the chart's version. Charts from
// elsewhere have a version of their own.
func hasContent(hr *unstructured.Unstructured, artifacts map[string]*unstructured.Unstructured) bool {
	if hr == nil {
		return true
	}
	kind, _, _ := unstructured.NestedString(hr.Object, "spec", "chartRef", "kind")
	name, _, _ := unstructured.NestedString(hr.Object, "spec", "chartRef", "name")
	artifact := artifacts[name]
	history, _, _ := unstructured.NestedSlice(hr.Object, "status", "history")
	if kind != "ExternalArtifact" || artifact == nil || len(history) == 0 {
		return true
	}
	m, _ := history[0].(map[string]any)
	version, _ := m["chartVersion"].(string)
	_, has, ok := strings.Cut(version, "+")
	if !ok {
		return true
	}
	has = has[strings.LastIndex(has, ".")+1:]
	for _, field := range []string{"revision", "digest"} {
		text, _, _ := unstructured.NestedString(artifact.Object, "status", "artifact", field)
		if _, digest, _ := strings.Cut(text[strings.LastIndex(text, "@")+1:], ":"); has != "" && strings.HasPrefix(digest, has) {
			return true
		}
	}
	return false
}

// notify asks for a look at the branch after a push, as the webhook of a Git server does. Otherwise
// Flux looks once a minute.
func notify(ctx context.Context, env *lane.Env) error {
	if env.Before == nil || !bundle.ByGit(env.Cell.Deployer) {
		return nil
	}
	return request(ctx, env, result.Ref{Kind: "GitRepository", Name: bundle.FluxSource}, requestToken(), requestedAt)
}

// The annotations by whose new text a controller reconciles an object, and a HelmRelease even if
// nothing of it has changed.
const (
	requestedAt = "reconcile.fluxcd.io/requestedAt"
	forceAt     = "reconcile.fluxcd.io/forceAt"
)

// requestToken is a new text for them. Flux compares it with the one that it has handled.
func requestToken() string { return time.Now().UTC().Format(time.RFC3339Nano) }

// request asks for one reconciliation of an object.
func request(ctx context.Context, env *lane.Env, ref result.Ref, token string, annotations ...string) error {
	texts := map[string]string{}
	for _, a := range annotations {
		texts[a] = token
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": texts}})
	if err == nil {
		_, err = env.Clients.Dynamic.Resource(fluxKinds()[ref.Kind]).Namespace(infra.FluxNamespace).Patch(ctx, ref.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	}
	if err != nil {
		return reason.New(reason.ClusterFailed, "request a reconciliation of %s %s: %w", ref.Kind, ref.Name, err)
	}
	return nil
}
