package why

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nvidia/aicr-action/internal/observe"
)

// Of a class that is only a name, each volume has its own reason (F141).
func TestUnfit(t *testing.T) {
	class := "manual"
	size := func(text string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(text)}
	}
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "c"}, Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: &class, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, Resources: corev1.VolumeResourceRequirements{Requests: size("5Gi")}}}
	of := func(text string, ref *corev1.ObjectReference, mode corev1.PersistentVolumeAccessMode) corev1.PersistentVolume {
		return corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "v"}, Spec: corev1.PersistentVolumeSpec{StorageClassName: class, Capacity: size(text), ClaimRef: ref, AccessModes: []corev1.PersistentVolumeAccessMode{mode}}}
	}
	for want, volumes := range map[string][]corev1.PersistentVolume{
		"":                                      {of("1Gi", nil, corev1.ReadWriteOnce), of("5Gi", &corev1.ObjectReference{Namespace: "x", Name: "c"}, corev1.ReadWriteOnce)},
		"it asks for 5Gi, and volume v has 1Gi": {of("1Gi", nil, corev1.ReadWriteOnce), {}},
		"volume v is for claim y/c":             {of("9Gi", &corev1.ObjectReference{Namespace: "y", Name: "c"}, corev1.ReadWriteOnce)},
		"it wants [ReadWriteOnce], and volume v has [ReadOnlyMany]": {of("9Gi", nil, corev1.ReadOnlyMany)},
	} {
		if got := unfit(volumes, claim); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A claim that one pod has, and no other may have, names that pod (F141).
func TestHolder(t *testing.T) {
	pod := func(name, node string) corev1.Pod {
		p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: name}, Spec: corev1.PodSpec{NodeName: node}}
		claiming("c")(&p)
		return p
	}
	mine := pod("mine", "")
	for mode, want := range map[corev1.PersistentVolumeAccessMode]string{corev1.ReadWriteOncePod: "x/has", corev1.ReadWriteOnce: ""} {
		c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "c"}, Spec: corev1.PersistentVolumeClaimSpec{AccessModes: []corev1.PersistentVolumeAccessMode{mode}}}
		l := &check{pod: &mine, view: &observe.View{Pods: []corev1.Pod{mine, pod("waits", ""), pod("has", "n")}}}
		if got := l.holder(c); got != want {
			t.Errorf("%s: got %q, want %q", mode, got, want)
		}
	}
}
