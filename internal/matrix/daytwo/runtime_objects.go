package daytwo

import (
	"context"
	"encoding/base64"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
)

// make creates, as the operator of a custom resource that runs would have, each Secret and ConfigMap
// that only the new bundle renders: Helm takes over nothing that is in the cluster already.
func (all *Filled) make(ctx context.Context, env *lane.Env) error {
	for i := range all.bundles.Now.Expectation.Objects {
		now := &all.bundles.Now.Expectation.Objects[i]
		if now.Ephemeral || now.Hook || all.bundles.Before.Expectation.Object(now.Ref()) != nil {
			continue
		}
		by, keys := madeBy(all.bundles.Before, now.Object)
		if by == nil {
			continue
		}
		if _, err := read(ctx, env, now); !apierrors.IsNotFound(err) {
			if err != nil {
				return fmt.Errorf("read %s, to see whether an operator made it: %w", now.Ref(), err)
			}
			continue
		}
		f := &filledObject{old: now, now: now, maker: by, lengths: map[string]int{}, played: true}
		if err := f.create(ctx, env, keys); err != nil {
			return err
		}
		all.objects = append(all.objects, f)
	}
	return nil
}

// madeBy is the custom resource of a bundle whose operator makes a Secret or ConfigMap, with the keys that
// it writes; nil if there is none.
func madeBy(b *bundle.Bundle, o *unstructured.Unstructured) (by *bundle.Object, keys []string) {
	if kind := o.GetKind(); b == nil || kind != "Secret" && kind != "ConfigMap" {
		return nil, nil
	}
	for i := range b.Expectation.Objects {
		by := &b.Expectation.Objects[i]
		if ns := by.Object.GetNamespace(); by.Ephemeral || ns != "" && ns != o.GetNamespace() {
			continue
		}
		if keys, ok := facts.ProductMakes(by.Object, o.GetKind(), o.GetName()); ok {
			return by, keys
		}
	}
	return nil, nil
}

// create makes the object as its operator would: with none of Helm's marks.
func (f *filledObject) create(ctx context.Context, env *lane.Env, keys []string) error {
	if len(keys) == 0 {
		keys = []string{placeholderKey}
	}
	data := map[string]any{}
	for _, key := range keys {
		data[key] = placeholder
		if f.now.Object.GetKind() == "Secret" {
			data[key] = base64.StdEncoding.EncodeToString([]byte(placeholder))
		}
		f.lengths[key] = len(placeholder)
	}
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": f.now.Object.GetKind(), "metadata": map[string]any{"name": f.now.Object.GetName(), "namespace": f.now.Object.GetNamespace()}, "data": data}}
	if f.maker.Object.GetKind() == "Certificate" {
		o.Object["type"] = "kubernetes.io/tls"
	}
	live, err := env.Clients.Dynamic.Resource(infra.ResourceFor(o.GroupVersionKind())).Namespace(o.GetNamespace()).Create(ctx, o, metav1.CreateOptions{FieldManager: "operator"})
	if err != nil {
		return fmt.Errorf("create %s, as the operator of %s would: %w", f.now.Ref(), f.maker.Ref(), err)
	}
	f.uid = live.GetUID()
	return nil
}
