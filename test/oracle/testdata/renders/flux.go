package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	generator "github.com/fluxcd/pkg/kustomize"
	"github.com/fluxcd/pkg/ssa/utils"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
)

// flux makes the objects of a Kustomization, in the order of kustomize-controller's reconcile, with its default gates.
func flux(ctx context.Context, dir string, r *repository) ([]map[string]any, error) {
	var k kustomizev1.Kustomization
	if err := r.read("Kustomization", &k); err != nil {
		return nil, err
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&k)
	if err != nil {
		return nil, err
	}
	u, at := unstructured.Unstructured{Object: fields}, filepath.Join(dir, k.Spec.Path)
	if _, err := generator.NewGenerator(dir, u).WriteFile(at); err != nil {
		return nil, err
	}
	m, err := generator.SecureBuild(dir, at, false)
	if err != nil {
		return nil, err
	}
	for _, res := range m.Resources() {
		if res.GetName() == "" || res.GetKind() == "" || res.GetApiVersion() == "" {
			return nil, fmt.Errorf("no apiVersion, kind and name in %s", res.String())
		}
		if k.Spec.PostBuild == nil {
			continue
		}
		out, err := generator.SubstituteVariables(ctx, cluster{r: r}, u, res, generator.SubstituteWithStrict(true), generator.SubstituteWithAlways(k.GetSubstituteStrategy() == kustomizev1.SubstituteStrategyAlways))
		if err != nil {
			return nil, fmt.Errorf("post build failed for %s: %w", res.GetName(), err)
		}
		if out != nil {
			if _, err := m.Replace(res); err != nil {
				return nil, err
			}
		}
	}
	text, err := m.AsYaml()
	if err != nil {
		return nil, err
	}
	objects, err := utils.ReadObjects(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	if c := k.Spec.CommonMetadata; c != nil {
		utils.SetCommonMetadata(objects, c.Labels, c.Annotations)
	}
	var all []map[string]any
	seen := map[string]bool{}
	for _, o := range objects {
		if key := o.GroupVersionKind().String() + o.GetNamespace() + "/" + o.GetName(); seen[key] {
			return nil, errors.New("twice: " + key)
		} else {
			seen[key] = true
		}
		if err := typed(o); err != nil {
			return nil, err
		}
		all = append(all, o.Object)
	}
	return all, nil
}

// typed reports whether the API server could read an object of Kubernetes' own kinds.
func typed(o *unstructured.Unstructured) error {
	into, err := scheme.Scheme.New(o.GroupVersionKind())
	if err != nil {
		return nil // another kind
	}
	return runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, into)
}
