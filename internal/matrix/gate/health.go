package gate

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/health"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// HealthAnswers says for each kind of custom resource in the expectation why its objects counted as
// healthy, unless a stand-in simulates their operator, or one that runs is to report on them (awaited). uses are the entries of the health policy;
// unanswered are the kinds that it lacks. The gate itself only requires that a custom resource
// exists. Flux's kstatus takes one without a status as current, and Argo CD one that it has no
// health check for as healthy.
func HealthAnswers(objects []bundle.Object, policy health.Policy, plays func(schema.GroupVersionKind) bool, awaited ...infra.Awaited) (uses, unanswered []string) {
	names := map[schema.GroupVersionKind][]string{}
	for _, o := range objects {
		gvk := o.Object.GroupVersionKind()
		reported := func(a infra.Awaited) bool { return a.Condition != "" && a.Object.Object.GroupVersionKind() == gvk }
		if customKind(gvk) && !plays(gvk) && !slices.ContainsFunc(awaited, reported) {
			names[gvk] = append(names[gvk], infra.NamespacedName(o.Object.GetNamespace(), o.Object.GetName()))
		}
	}
	for gvk, objects := range names {
		slices.Sort(objects)
		head := fmt.Sprintf("%s (%s)", gvk.GroupKind(), strings.Join(lists.AtMost(objects, 3), ", "))
		if e, ok := policy.Find(gvk.GroupKind()); ok {
			uses = append(uses, fmt.Sprintf("%s counts as healthy as soon as it exists: %s (%s)", head, e.Reason, e.Link))
		} else {
			unanswered = append(unanswered, head+" was only checked for existence: no stand-in writes its status and kwok/health.yaml has no entry for it")
		}
	}
	slices.Sort(uses)
	slices.Sort(unanswered)
	return uses, unanswered
}

// customKind reports whether the kind is defined by a CRD, so that only an operator can report its
// health.
func customKind(gvk schema.GroupVersionKind) bool {
	switch gvk.Group {
	case "apiextensions.k8s.io", "apiregistration.k8s.io": // built in, though client-go's scheme does not have them
		return false
	}
	return !scheme.Scheme.IsGroupRegistered(gvk.Group)
}
