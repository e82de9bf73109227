package storage

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

const diskSays = "shares PersistentVolumeClaim %s, which is ReadWriteOnce, among pods on %d nodes"

// It waits for the cluster: where pods are is the scheduler's to decide.
var diskOnTwoNodes = judge.Check{
	ID: "MX328", Name: "disk-on-two-nodes", Needs: judge.Settled, Gives: reason.WorkloadFailed,
	Title: "The pods that share a claim of one node are on one node",
	Why: "A disk is attached to one node (https://kubernetes.io/docs/concepts/storage/persistent-volumes/#access-modes). The scheduler does not look at it, and no simulated kubelet attaches a volume. " +
		"A warning where the driver is not known: files can be mounted anywhere.",
	Fix:  "Keep the pods on one node, or use a class of shared files with ReadWriteMany.",
	Says: diskSays, Then: "a disk is attached to one node: the pods on the others wait for ever (Multi-Attach error)",
	Others: map[string]judge.Message{"driver": {Says: diskSays, Then: "if %[3]s attaches its volumes, the pods on the others wait for ever (Multi-Attach error)"}},
	Run: func(s *judge.Scope) {
		users, nodes := map[string]facts.PodTemplate{}, map[string]map[string]bool{}
		for _, p := range s.Pods() {
			for _, v := range p.Template.Spec.Volumes {
				if v.PersistentVolumeClaim == nil {
					continue
				}
				claim := infra.NamespacedName(p.Object.Object.GetNamespace(), v.PersistentVolumeClaim.ClaimName)
				if nodes[claim] == nil {
					users[claim], nodes[claim] = p, map[string]bool{}
				}
				for _, pod := range s.LivePods(p.Object) {
					if pod.Spec.NodeName != "" && pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
						nodes[claim][pod.Spec.NodeName] = true
					}
				}
			}
		}
		for _, claim := range slices.Sorted(maps.Keys(users)) {
			if len(nodes[claim]) > 1 {
				onNodes(s, users[claim], claim, len(nodes[claim]))
			}
		}
	},
}

// onNodes reports a claim whose pods are on several nodes, if one alone may attach it.
func onNodes(s *judge.Scope, p facts.PodTemplate, claim string, nodes int) {
	spec, known := s.Live.ClaimSpecs[claim]
	if !known || len(spec.AccessModes) == 0 || slices.ContainsFunc(spec.AccessModes, func(m corev1.PersistentVolumeAccessMode) bool { return m != corev1.ReadWriteOnce }) {
		return
	}
	driver := ""
	if spec.StorageClassName != nil {
		driver = s.Live.Provisioners[*spec.StorageClassName]
	}
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(driver, part) })
	}
	_, name, _ := strings.Cut(claim, "/")
	switch path := p.Path() + ".volumes"; {
	case has("nfs", "efs", "file", "cephfs", "lustre", "smb"): // which several nodes can mount whatever the claim says
	// The simulated provisioner stands for the providers' own classes, which make disks.
	case has(simulate.Provisioner, "ebs", "pd.csi.storage.gke.io", "gce-pd", "disk", "blockvolume", "linodebs", "rbd", "longhorn", "cinder"):
		s.Report(p.Object, path, claim, nodes).SetBy(name).OneCause(claim)
	default:
		s.ReportAs("driver", p.Object, path, claim, nodes, driver).SetBy(name).Warning()
	}
}
