package intact

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result"
)

// A policy that changes objects, and came into force after them, has not changed what is live. What it
// takes away is gone with the next delivery, or with the next pod.

// strippedObject says what of a rendered object is live now, and would not be after the next delivery.
func strippedObject(e *bundle.Expectation, o *bundle.Object, now, next *unstructured.Unstructured) []result.Finding {
	had := lost(o.Object, now)
	gone := slices.DeleteFunc(lost(o.Object, next), func(l loss) bool {
		return slices.ContainsFunc(had, func(h loss) bool { return h.Path == l.Path })
	})
	shown := &object{of: *o}
	return stripped(e, o.Ref(), o.Component, "its next delivery", gone, shown.show)
}

// strippedPod says what a pod has, and the one that its controller creates next would not.
func strippedPod(e *bundle.Expectation, t trial, now, next *corev1.Pod) []result.Finding {
	spec := now.Spec.DeepCopy()
	spec.NodeName = ""
	a, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&corev1.Pod{Spec: *spec})
	if err != nil {
		return nil
	}
	b, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&corev1.Pod{Spec: next.Spec})
	if err != nil {
		return nil
	}
	f := deniedFinding(e, t, "")
	return stripped(e, *f.Object, f.Component, "its next pod", lostFields(a, b), shortText)
}

func stripped(e *bundle.Expectation, of result.Ref, component, then string, gone []loss, show func(any) string) (found []result.Finding) {
	if len(gone) == 0 {
		return nil
	}
	var by []string
	for i := range e.Objects {
		if o := &e.Objects[i]; o.Object.GetKind() == mutating {
			by = append(by, fmt.Sprintf("%s %s (%s), set in %s", mutating, o.Object.GetName(), o.Component, o.Where()))
		}
	}
	for _, l := range gone {
		is := "nothing"
		if !l.Missing() {
			is = show(l.Live)
		}
		f := takenAway.Warning(of, component, "%s (%s): %s would have %s at %s, and has %s now, since this was made before a policy was in force (%s)", of, component, then, is, l.Path, show(l.Rendered), strings.Join(by, "; "))
		f.Path = l.Path
		found = append(found, f)
	}
	return found
}
