package daytwo

// attached_disks.go finds what an upgrade rolls over disks: volumes that one node at a time can have. It must
// not know how a bundle is delivered.

import (
	"regexp"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/matrix/problem"
	"github.com/nvidia/aicr-action/internal/result"
)

// files matches the classes and provisioners whose volumes several nodes can mount, whatever the claim says.
var files = regexp.MustCompile(`(?i)nfs|efs|file|lustre|smb|cephfs`)

var rollsOverDisk = judge.Check{
	ID: "MX703", Name: "rolls-over-a-disk", Needs: judge.Second, Later: true, Kinds: judge.KindsOf(appsv1.GroupName, "Deployment"),
	Title: "A Deployment that an upgrade rolls has no disk for one node",
	Why: "A rolling update starts the new pod before the old one ends. A volume of a ReadWriteOnce claim can be attached to one node at a time, so that the new pod waits on another node " +
		"for as long as the old one runs (Multi-Attach error). No simulated kubelet attaches a disk, so that a cell passes.",
	Fix:  "Set strategy: {type: Recreate}, or use a class whose volumes several nodes mount.",
	Says: "starts its new pod before the old one ends, and both use PersistentVolumeClaim %s, which is ReadWriteOnce",
	Then: "on another node the new one waits for the disk for ever (Multi-Attach error); edit: strategy: {type: Recreate}",
	Run: func(s *judge.Scope) {
		before, after := s.Delivery.Before, s.Delivery.Now
		for _, now := range s.Rendered(judge.KindsOf(appsv1.GroupName, "Deployment")...) {
			d := facts.As[appsv1.Deployment](s.Index, now)
			if s.Delivery.Back || d == nil || !bundlesOf(s).changesTemplate(now) || !surges(d) {
				continue
			}
			for _, v := range d.Spec.Template.Spec.Volumes {
				if v.PersistentVolumeClaim != nil && onOneNode(before, after, now.Object.GetNamespace(), v.PersistentVolumeClaim.ClaimName) {
					s.Report(now, "spec.strategy", v.PersistentVolumeClaim.ClaimName)
					break
				}
			}
		}
	},
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
