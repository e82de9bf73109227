package app

import (
	"context"
	"fmt"
	"slices"

	yamlv3 "go.yaml.in/yaml/v3"
	"helm.sh/helm/v3/pkg/chart/loader"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle/rendering"
	"github.com/nvidia/aicr-action/internal/charts/archive"
	"github.com/nvidia/aicr-action/internal/charts/render"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// Objects are those that an app's files make by themselves: manifests, a kustomization, or a chart with its own
// values. What a deployer would make of objects is not known here.
func (a *App) Objects(ctx context.Context) ([]*unstructured.Unstructured, error) {
	switch {
	case a.chart != "":
		return a.ofChart(ctx)
	case !a.plain:
		return nil, fmt.Errorf("%s is for the lane %s, and only manifests, a kustomization or a chart are taken as they are", a.shown(), a.Deployer)
	}
	var all []*unstructured.Unstructured
	for _, o := range a.objects {
		text, err := yamlx.Encode([]*yamlv3.Node{o.Node})
		if err != nil {
			return nil, a.repo.Bad(o, nil, "it cannot be written again: %w", err)
		}
		found, err := rendering.ParseWhole(string(text))
		if err != nil {
			return nil, a.repo.Bad(o, nil, "%w", err)
		}
		all = append(all, found...)
	}
	placedIn(all, plainNamespace)
	return all, nil
}

// ofChart are the objects that a chart renders, its hooks left out, and those of its crds/.
func (a *App) ofChart(ctx context.Context) (all []*unstructured.Unstructured, err error) {
	l := newLayout(ctx, a.repo)
	defer l.by.close()
	if err := l.dependencies(a.chart); err != nil {
		return nil, err
	}
	files, err := archive.Directory(a.repo.FSys, a.chart)
	if err != nil {
		return nil, l.chartError(a.chart, err)
	}
	ch, err := loader.LoadFiles(files)
	if err != nil {
		return nil, l.chartError(a.chart, err)
	}
	crds, err := rendering.CRDs(ch, map[string]any{})
	if err != nil {
		return nil, l.chartError(a.chart, err)
	}
	made, err := rendering.Release(ctx, &l.by.renderer, render.Request{Chart: ch, Values: map[string]any{}, Name: a.Name(), Namespace: plainNamespace}, false)
	if err != nil {
		return nil, l.chartError(a.chart, err)
	}
	for _, o := range slices.Concat(crds, made.Objects) {
		if o.Hook {
			continue
		}
		whole := []*unstructured.Unstructured{o.Unstructured}
		if o.Definition != "" {
			if whole, err = rendering.ParseWhole(o.Definition); err != nil {
				return nil, l.chartError(a.chart, err)
			}
		}
		all = append(all, whole...)
	}
	placedIn(all, plainNamespace)
	return all, nil
}

// placedIn gives objects of Kubernetes' own kinds, and of those that are defined among them, a namespace where they need one.
func placedIn(objects []*unstructured.Unstructured, namespace string) {
	scopes := rendering.CustomScopes{}
	for _, o := range objects {
		scopes.Add(o)
	}
	for _, o := range objects {
		scopes.FillNamespace(o, namespace)
	}
}
