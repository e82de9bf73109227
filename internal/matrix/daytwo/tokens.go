package daytwo

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result"
)

// retied lists the token Secrets that get another ServiceAccount. Kubernetes has written the UID of the first
// one into them, and deletes a Secret whose account has another UID.
func (b Bundles) retied() (all []*bundle.Object) {
	if b.Before == nil || b.Now == nil {
		return nil
	}
	for i := range b.Now.Expectation.Objects {
		now := &b.Now.Expectation.Objects[i]
		if now.Object.GetKind() != "Secret" || now.Object.Object["type"] != string(corev1.SecretTypeServiceAccountToken) || now.Hook {
			continue
		}
		old := b.Before.Expectation.Object(now.Ref())
		if old != nil && !old.Hook && old.Object.GetAnnotations()[corev1.ServiceAccountNameKey] != now.Object.GetAnnotations()[corev1.ServiceAccountNameKey] {
			all = append(all, now)
		}
	}
	return all
}

func (b Bundles) untied(now *bundle.Object) string {
	return fmt.Sprintf("%s was deleted by Kubernetes' token controller: the upgrade makes it the token of ServiceAccount %s, and it has the UID of ServiceAccount %s (%s); give the Secret another name (component %s, %s)",
		now.Ref(), now.Object.GetAnnotations()[corev1.ServiceAccountNameKey], b.Before.Expectation.Object(now.Ref()).Object.GetAnnotations()[corev1.ServiceAccountNameKey], corev1.ServiceAccountUIDKey, now.Component, b.place(now, "metadata.annotations"))
}

// untiedObject is untied for an object that is missing; empty if it is another one.
func (b Bundles) untiedObject(ref *result.Ref) string {
	for _, o := range b.retied() {
		if ref != nil && o.Ref() == *ref {
			return b.untied(o)
		}
	}
	return ""
}
