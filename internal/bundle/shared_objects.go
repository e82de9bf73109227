package bundle

// shared_objects.go finds the objects that two releases of a bundle own. It compares what was
// rendered. It must not know what renders it, or which deployer delivers it.

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle/rendering"
)

// ownedObject is an object of a release. Definition is the whole text of a CustomResourceDefinition, of
// which Object is the head; empty for others.
type ownedObject struct {
	Release    string
	Hook       bool
	Object     *unstructured.Unstructured
	Definition string
	// Before: it is in crds/, which is installed before the templates are rendered.
	Before bool
}

// Whole is the object with all of its content.
func (o ownedObject) Whole() (*unstructured.Unstructured, error) {
	if o.Definition == "" {
		return o.Object, nil
	}
	found, err := rendering.ParseWhole(o.Definition)
	if err == nil && len(found) != 1 {
		err = fmt.Errorf("it is %d objects", len(found))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %s %s: %w", o.Release, o.Object.GetKind(), o.Object.GetName(), err)
	}
	return found[0], nil
}

// same: both releases render the same, their own names in labels included.
func same(a, b ownedObject) (bool, error) {
	x, err := a.Whole()
	if err != nil {
		return false, err
	}
	y, err := b.Whole()
	if err != nil {
		return false, err
	}
	return reflect.DeepEqual(x.Object, y.Object), nil
}

// findOwners says of each object whether two releases own it. The warnings name these, one line per pair
// of releases, and those that one release makes twice. Argo CD flips an object of two releases
// between its owners for ever. Helm refuses the second release, deletes the first one's object with
// it, or, if it is in a crds/ directory, leaves it out.
func findOwners(objects []ownedObject) (isShared []bool, warnings []string, err error) {
	type pair struct{ a, b string }
	isShared = make([]bool, len(objects))
	owner := map[string]int{}
	of := map[pair][]string{}
	var order []pair
	for i, o := range objects {
		gk := o.Object.GroupVersionKind().GroupKind()
		key := gk.String() + "/" + o.Object.GetNamespace() + "/" + o.Object.GetName()
		at, ok := owner[key]
		if !ok {
			owner[key] = i
			continue
		}
		first := objects[at]
		what := gk.Kind + " " + strings.TrimPrefix(o.Object.GetNamespace()+"/"+o.Object.GetName(), "/")
		if first.Release == o.Release && (first.Hook || o.Hook) {
			continue // a hook may be made again: the deployer removes the one before
		}
		if first.Release == o.Release && first.Before && o.Before {
			if equal, err := same(first, o); err != nil || equal {
				if err != nil {
					return nil, nil, err
				}
				continue // e.g. of a dependency that the chart has under two names
			}
			warnings = append(warnings, fmt.Sprintf("%s has %s twice in crds/, with different content: Helm and Flux keep the first one, and Argo CD the last one", o.Release, what))
			continue
		}
		if first.Release == o.Release {
			warnings = append(warnings, fmt.Sprintf("%s makes %s twice: Argo CD keeps the last one, and Helm and Flux reject the chart", o.Release, what))
			continue
		}
		equal, err := same(first, o)
		if err != nil {
			return nil, nil, err
		}
		if !equal {
			what += " (with different content)"
		}
		both := pair{first.Release, o.Release}
		if of[both] == nil {
			order = append(order, both)
		}
		of[both] = append(of[both], what)
		isShared[at], isShared[i] = true, true
	}
	for _, both := range order {
		list := of[both]
		slices.Sort(list)
		warnings = append(warnings, fmt.Sprintf("%s and %s both own %s", both.a, both.b, strings.Join(slices.Compact(list), ", ")))
	}
	return isShared, warnings, nil
}
