package compare

import (
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
)

// Live is an object of a cluster, normalised as for the comparison of lanes.
type Live struct {
	Ref lane.Object
	// Component is the one whose chart renders it; empty for an object that only the deployer counts
	// as its own.
	Component string
	UID       types.UID
	// MayBeGone means that its controller or its hook policy deletes it after it has done its work.
	MayBeGone bool
	Hook      bool // of Helm
	Object    *unstructured.Unstructured
	// Stored are the versions in which objects of a CustomResourceDefinition may be stored.
	Stored []string
}

// live is what Live says of an object, whose content is normalised later.
func (w *wanted) live(obj *unstructured.Unstructured) Live {
	live := Live{Ref: w.ref, UID: obj.GetUID(), MayBeGone: w.mayBeGone, Object: obj}
	if len(w.objects) > 0 {
		live.Component, live.Hook = w.objects[0].Component, w.objects[0].Hook
	}
	live.Stored, _, _ = unstructured.NestedStringSlice(obj.Object, "status", "storedVersions")
	return live
}

// Rendering returns the objects of a rendering, normalised, as Read returns those of a cluster.
func Rendering(e bundle.Expectation) ([]Live, error) {
	var all []Live
	var failed error
	for _, o := range slices.Concat(e.Objects, e.Made) {
		if o.Object.GetName() == "" {
			continue
		}
		whole, err := o.Whole()
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		obj := whole.DeepCopy()
		normalise(obj, []*unstructured.Unstructured{whole})
		all = append(all, Live{
			Ref:       lane.Object{GVK: obj.GroupVersionKind(), Namespace: o.Object.GetNamespace(), Name: obj.GetName(), Release: o.Release},
			Component: o.Component, MayBeGone: o.Ephemeral, Hook: o.Hook, Object: obj,
		})
	}
	return all, failed
}

// Fields lists the places at which two normalised values differ, with texts for people.
func Fields(a, b any) []result.FieldChange {
	var all []result.FieldChange
	for _, d := range differences(a, b) {
		f := result.FieldChange{Path: d.path}
		f.From, f.To = d.texts()
		all = append(all, f)
	}
	return all
}
