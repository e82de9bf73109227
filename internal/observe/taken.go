package observe

import (
	"fmt"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// taken says which pod has the name of one that a StatefulSet has to make; empty if none has. The controller tries
// for ever and writes no event of it (CreateStatefulPod of k8s.io/kubernetes/pkg/controller/statefulset). A pod without an
// owner that the set selects it adopts.
func (s *View) taken(w *bundle.Workload, live LiveWorkload) string {
	set, ok := live.Object.(*appsv1.StatefulSet)
	if !ok {
		return ""
	}
	selector, err := metav1.LabelSelectorAsSelector(set.Spec.Selector)
	if err != nil {
		return ""
	}
	first := 0
	if o := set.Spec.Ordinals; o != nil {
		first = int(o.Start)
	}
	for i := range s.Pods {
		p := &s.Pods[i]
		number, ok := strings.CutPrefix(p.Name, w.Name+"-")
		n, err := strconv.Atoi(number)
		if !ok || err != nil || strconv.Itoa(n) != number || n < first || n >= first+w.Replicas || p.Namespace != w.Namespace || p.DeletionTimestamp != nil {
			continue
		}
		owner := metav1.GetControllerOf(p)
		switch {
		case owner == nil && selector.Matches(labels.Set(p.Labels)):
		case owner == nil:
			return fmt.Sprintf("pod %s has the name of its pod %d and is none of its own, so that it never makes that one", PodName(p), n)
		case owner.UID != live.UID && (owner.Kind != "StatefulSet" || owner.Name != w.Name):
			return fmt.Sprintf("pod %s of %s %s has the name of its pod %d, so that it never makes that one", PodName(p), owner.Kind, owner.Name, n)
		}
	}
	return ""
}

// FilledIn are the containers of a pod into which a LimitRange has put a request for a resource, as the API server writes
// it down in an annotation.
func FilledIn(p *corev1.Pod, resource corev1.ResourceName) (containers []string) {
	_, all, _ := strings.Cut(p.Annotations["kubernetes.io/limit-ranger"], ": ")
	for part := range strings.SplitSeq(all, "; ") {
		names, container, ok := strings.Cut(part, " request for ")
		for name := range strings.SplitSeq(names, ", ") {
			if ok && name == string(resource) {
				containers = append(containers, container)
			}
		}
	}
	return containers
}
