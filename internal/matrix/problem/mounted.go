package problem

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// MountedSecrets are the Secrets that the pods of a namespace which a Service's selector takes have as volumes; none
// for a Service without a selector.
func MountedSecrets(objects []bundle.Object, namespace string, selector map[string]string) map[string]bool {
	mounted := map[string]bool{}
	if len(selector) == 0 {
		return mounted
	}
	for i := range objects {
		t := Template(&objects[i])
		if t == nil || objects[i].Object.GetNamespace() != namespace || !labels.SelectorFromSet(selector).Matches(labels.Set(t.Labels)) {
			continue
		}
		for _, v := range t.Spec.Volumes {
			for _, name := range secretsOf(&v) {
				mounted[name] = true
			}
		}
	}
	return mounted
}

func secretsOf(v *corev1.Volume) []string {
	var all []string
	if v.Secret != nil {
		all = append(all, v.Secret.SecretName)
	}
	if v.Projected != nil {
		for _, s := range v.Projected.Sources {
			if s.Secret != nil {
				all = append(all, s.Secret.Name)
			}
		}
	}
	return all
}
