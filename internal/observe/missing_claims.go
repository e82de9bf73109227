package observe

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/nvidia/aicr-action/internal/infra"
)

// untried is how long the scheduler may take until it reports that it has tried to place a pod.
const untried = 10 * time.Second

// readMissingClaims reads which ResourceClaims do not exist that pods name of which no scheduler has
// reported: it does not try to place them until they exist, and says nothing. A pod may also wait for its
// turn, so that its age alone proves nothing.
func (v *View) readMissingClaims(ctx context.Context, kube kubernetes.Interface) error {
	v.missingClaims = map[string]bool{}
	asked := map[string]bool{}
	for i := range v.Pods {
		p := &v.Pods[i]
		for _, name := range untriedClaims(p) {
			full := infra.NamespacedName(p.Namespace, name)
			if asked[full] {
				continue
			}
			asked[full] = true
			_, err := kube.ResourceV1().ResourceClaims(p.Namespace).Get(ctx, name, metav1.GetOptions{})
			if err != nil && !apierrors.IsNotFound(err) {
				return fmt.Errorf("get ResourceClaim %s: %w", full, err)
			}
			v.missingClaims[full] = err != nil
		}
	}
	return nil
}

// untriedClaims are the claims that a pod names, if it has no node and no scheduler has reported.
func untriedClaims(p *corev1.Pod) (names []string) {
	if p.Spec.NodeName != "" || time.Since(p.CreationTimestamp.Time) < untried {
		return nil
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled {
			return nil
		}
	}
	for _, c := range p.Spec.ResourceClaims {
		if c.ResourceClaimName != nil {
			names = append(names, *c.ResourceClaimName)
		}
	}
	return names
}

// waitsForClaim says which claim that does not exist keeps a pod from the scheduler; empty if none does.
func (v *View) waitsForClaim(p *corev1.Pod) string {
	if names := v.MissingClaims(p); len(names) > 0 {
		return fmt.Sprintf("no scheduler tries to place its pods until ResourceClaim %s exists", infra.NamespacedName(p.Namespace, names[0]))
	}
	return ""
}

// MissingClaims are the ResourceClaims that do not exist and that a pod waits for, by name.
func (v *View) MissingClaims(p *corev1.Pod) (names []string) {
	for _, name := range untriedClaims(p) {
		if v.missingClaims[infra.NamespacedName(p.Namespace, name)] {
			names = append(names, name)
		}
	}
	return names
}
