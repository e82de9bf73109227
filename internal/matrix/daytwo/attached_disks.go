package daytwo

// attached_disks.go finds what an upgrade rolls over disks: volumes that one node at a time can have. It must
// not know how a bundle is delivered.

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/problem"
	"github.com/nvidia/aicr-action/internal/result"
)

// files matches the classes and provisioners whose volumes several nodes can mount, whatever the claim says.
var files = regexp.MustCompile(`(?i)nfs|efs|file|lustre|smb|cephfs`)

// rollsOverDisks warns of Deployments that roll while their claim is for one node (ReadWriteOnce): the new pod
// starts before the old one ends. On another node it waits for ever for the disk, and only then would the
// old one be removed. No simulated kubelet attaches a disk.
func rollsOverDisks(before, after *bundle.Bundle) (lines []string) {
	for i := range after.Expectation.Objects {
		now := &after.Expectation.Objects[i]
		var d appsv1.Deployment
		if now.Object.GetKind() != "Deployment" || !changes(before.Expectation.Object(now.Ref()), now) || !problem.Read(now, &d) || !surges(&d) {
			continue
		}
		for _, v := range d.Spec.Template.Spec.Volumes {
			if v.PersistentVolumeClaim == nil || !onOneNode(before, after, now.Object.GetNamespace(), v.PersistentVolumeClaim.ClaimName) {
				continue
			}
			lines = append(lines, fmt.Sprintf("%s starts its new pod before the old one ends, and both use PersistentVolumeClaim %s, which is ReadWriteOnce: on another node the new one waits for the disk for ever (Multi-Attach error); edit: strategy: {type: Recreate} (component %s, %s)",
				now.Ref(), v.PersistentVolumeClaim.ClaimName, now.Component, now.Where("spec", "strategy")))
			break
		}
	}
	return lines
}

// surges reports whether a Deployment's update adds a pod before it removes one.
func surges(d *appsv1.Deployment) bool {
	if d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType || d.Spec.Replicas != nil && *d.Spec.Replicas == 0 {
		return false
	}
	rolling := d.Spec.Strategy.RollingUpdate
	if rolling == nil || rolling.MaxSurge == nil {
		return true
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(rolling.MaxSurge, 100, true)
	return err != nil || n > 0
}

// onOneNode reports whether a claim of both bundles is for a disk that one node at a time can have.
func onOneNode(before, after *bundle.Bundle, namespace, name string) bool {
	ref := result.Ref{Kind: "PersistentVolumeClaim", Namespace: namespace, Name: name}
	o := after.Expectation.Object(ref)
	var claim corev1.PersistentVolumeClaim
	if o == nil || before.Expectation.Object(ref) == nil || !problem.Read(o, &claim) || len(claim.Spec.AccessModes) != 1 || claim.Spec.AccessModes[0] != corev1.ReadWriteOnce {
		return false
	}
	class := claim.Spec.StorageClassName
	return class == nil || !files.MatchString(*class+" "+provisioner(after, *class))
}

// provisioner is that of a StorageClass of the bundle; empty if it is another's.
func provisioner(in *bundle.Bundle, class string) string {
	o := in.Expectation.Object(result.Ref{Group: "storage.k8s.io", Kind: "StorageClass", Name: class})
	if o == nil {
		return ""
	}
	text, _ := o.Object.Object["provisioner"].(string)
	return strings.TrimSpace(text)
}

// changes reports whether an upgrade changes the pod template of a workload that was there before.
func changes(was, is *bundle.Object) bool {
	if was == nil {
		return false
	}
	x, _, _ := unstructured.NestedMap(was.Object.Object, "spec", "template")
	y, _, _ := unstructured.NestedMap(is.Object.Object, "spec", "template")
	return !reflect.DeepEqual(x, y)
}
