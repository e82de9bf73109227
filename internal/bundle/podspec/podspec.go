// Package podspec finds the pods of workloads: where each kind keeps their spec, how many there must
// be, and which repository an image of theirs is of. It must not know bundles.
package podspec

import (
	"cmp"
	"math"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Template returns the pod template of a workload, which is the object itself for a Pod; false for
// an object that makes no pods.
func Template(obj *unstructured.Unstructured) (template map[string]any, ok bool) {
	switch gvk := obj.GroupVersionKind(); gvk.Group + "/" + gvk.Kind {
	case "apps/Deployment", "apps/StatefulSet", "apps/DaemonSet", "apps/ReplicaSet", "batch/Job", "/ReplicationController":
		return at(obj.Object, "spec", "template"), true
	case "batch/CronJob":
		return at(obj.Object, "spec", "jobTemplate", "spec", "template"), true
	case "/Pod":
		return obj.Object, true
	}
	return nil, false
}

// Read reads a pod template as the API server does: serviceAccount, the older name of
// serviceAccountName, counts where the newer one is not given.
func Read(template map[string]any) (*corev1.PodTemplateSpec, error) {
	t := &corev1.PodTemplateSpec{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(template, t); err != nil {
		return nil, err
	}
	t.Spec.ServiceAccountName = cmp.Or(t.Spec.ServiceAccountName, t.Spec.DeprecatedServiceAccount)
	return t, nil
}

// Of returns the pod spec of a workload.
func Of(obj *unstructured.Unstructured) (spec map[string]any, ok bool) {
	template, ok := Template(obj)
	return at(template, "spec"), ok
}

func at(m map[string]any, path ...string) map[string]any {
	v, _, _ := unstructured.NestedFieldNoCopy(m, path...)
	found, _ := v.(map[string]any)
	return found
}

// Count is the number of pods that a workload must have; -1 for a DaemonSet. A CronJob has none
// until its time comes.
func Count(obj *unstructured.Unstructured) int {
	number := func(field string, otherwise int) int {
		v, ok, err := unstructured.NestedInt64(obj.Object, "spec", field)
		if !ok || err != nil || v < 0 || v > math.MaxInt32 {
			return otherwise
		}
		return int(v)
	}
	switch obj.GetKind() {
	case "Deployment", "StatefulSet", "ReplicaSet", "ReplicationController":
		return number("replicas", 1)
	case "DaemonSet":
		return -1
	case "CronJob":
		return 0
	case "Job":
		if suspended, _, _ := unstructured.NestedBool(obj.Object, "spec", "suspend"); suspended {
			return 0
		}
		return number("completions", number("parallelism", 1))
	}
	return 1
}

// OfRepository reports whether an image is of a repository, whichever registry or mirror it comes from. One
// that cannot be read is of none: the checks of images are others'.
func OfRepository(image, repository string) bool {
	ref, err := name.ParseReference(image, name.WeakValidation)
	return err == nil && strings.HasSuffix("/"+ref.Context().RepositoryStr(), "/"+repository)
}

// Path is where an object of a kind has a field of its pods.
func Path(kind string, inPod []string) []string {
	switch kind {
	case "CronJob":
		return append([]string{"spec", "jobTemplate", "spec", "template"}, inPod...)
	case "Pod":
		return inPod
	}
	return append([]string{"spec", "template"}, inPod...)
}
