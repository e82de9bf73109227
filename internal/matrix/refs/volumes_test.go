package refs

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// Volumes that a driver mounts, and readiness that a controller reports.
func TestVolumesAndReadiness(t *testing.T) {
	const why = reason.WorkloadFailed
	csi := func(driver string) string { return pod(`{volumes: [{name: a, csi: {driver: ` + driver + `}}]}`) }
	claim := func(spec string) string {
		return "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: copy, namespace: x}\nspec: {storageClassName: have, " + spec + "}\n"
	}
	snapshot := "\n---\napiVersion: snapshot.storage.k8s.io/v1\nkind: VolumeSnapshot\nmetadata: {name: before, namespace: x}\nspec: {source: {persistentVolumeClaimName: have}}\n"
	role := "\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: setter}\nrules: [{apiGroups: [\"\"], resources: [pods/status], verbs: [patch]}]\n"
	runAll(t, map[string]refCase{
		"inline CSI":               {objects: csi("nope.example.com"), reason: why, fault: "mounts an inline volume of CSI driver nope.example.com, which nothing in the recipe installs"},
		"inline CSI there":         {objects: csi("inline.example.com")},
		"inline CSI not allowed":   {objects: csi("disks.example.com"), reason: why, fault: "does not allow them (spec.volumeLifecycleModes without Ephemeral)"},
		"inline CSI of a provider": {objects: csi("file.csi.azure.com"), note: "CSI driver file.csi.azure.com is a part of AKS; without it Deployment x/web does not start"},
		"migrated":                 {objects: pod(`{volumes: [{name: a, cinder: {volumeID: v}}]}`), reason: why, fault: "mounts a volume of type cinder, which needs CSI driver cinder.csi.openstack.org, which nothing in the recipe installs"},
		"migrated, a provider's":   {objects: pod(`{volumes: [{name: a, awsElasticBlockStore: {volumeID: v}}]}`), note: "CSI driver ebs.csi.aws.com is a part of EKS; without it Deployment x/web does not start"},
		"flexVolume":               {objects: pod(`{volumes: [{name: a, flexVolume: {driver: example.com/old}}]}`), reason: why, fault: "mounts a flexVolume of driver example.com/old"},
		"trust bundle":             {objects: pod(`{volumes: [{name: a, projected: {sources: [{clusterTrustBundle: {name: nope, path: ca}}]}}]}`), reason: why, fault: "mounts ClusterTrustBundle nope, which does not exist"},
		"trust bundle of a signer": {objects: pod(`{volumes: [{name: a, projected: {sources: [{clusterTrustBundle: {signerName: example.com/s, path: ca}}]}}]}`), reason: why, fault: "mounts a ClusterTrustBundle of signer example.com/s"},
		"trust bundle, optional":   {objects: pod(`{volumes: [{name: a, projected: {sources: [{clusterTrustBundle: {name: nope, path: ca, optional: true}}]}}]}`)},
		"clone":                    {objects: claim("dataSource: {kind: PersistentVolumeClaim, name: nope}"), reason: reason.SchedulingFailed, fault: "is filled from PersistentVolumeClaim x/nope, which does not exist"},
		"clone elsewhere":          {objects: claim("dataSourceRef: {kind: PersistentVolumeClaim, name: have, namespace: z}"), reason: reason.SchedulingFailed, fault: "is filled from PersistentVolumeClaim z/have"},
		"clone there":              {objects: claim("dataSource: {kind: PersistentVolumeClaim, name: have}")},
		"snapshot":                 {objects: claim("dataSource: {apiGroup: snapshot.storage.k8s.io, kind: VolumeSnapshot, name: nope}"), reason: reason.SchedulingFailed, fault: "is filled from VolumeSnapshot x/nope"},
		"snapshot there":           {objects: claim("dataSource: {apiGroup: snapshot.storage.k8s.io, kind: VolumeSnapshot, name: before}") + snapshot},
		"readiness gate":           {objects: pod(`{readinessGates: [{conditionType: example.com/warm}]}`), reason: why, fault: "has the readiness gate example.com/warm, and nothing in the recipe may change the status of pods"},
		"readiness gate, set":      {objects: pod(`{readinessGates: [{conditionType: example.com/warm}]}`) + role, note: "readiness gate example.com/warm may be set by a program with ClusterRole setter (x); without it Deployment x/web never becomes ready"},
		"readiness gate of GKE":    {objects: pod(`{readinessGates: [{conditionType: cloud.google.com/load-balancer-neg-ready}]}`), note: "may be set by GKE's load balancer controller"},
		"node":                     {objects: "apiVersion: v1\nkind: Node\nmetadata: {name: phantom}\n", warning: "no machine belongs to it"},
	})
}

// Pods on nodes that cannot run them.
func TestNodesOfPods(t *testing.T) {
	e := expected(t, "apiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: x}\nspec: {os: {name: windows}}\n---\napiVersion: v1\nkind: Node\nmetadata: {name: phantom}\n")
	placed := func(name, node string) corev1.Pod {
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: name}, Spec: corev1.PodSpec{NodeName: node}}
	}
	view := &observe.View{
		Nodes: []corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "linux-0", Labels: map[string]string{corev1.LabelOSStable: "linux"}}}},
		Pods:  []corev1.Pod{placed("web", "linux-0"), placed("other", "phantom")},
	}
	got := Check(e, nil, &facts.Live{View: view})
	var causes []string
	for _, f := range got.Faults {
		causes = append(causes, f.Finding.Cause)
	}
	testkit.WantText(t, "faults", strings.Join(causes, "\n"), "Pod x/web (x): is for windows (spec.os), and its pods were placed on node linux-0, which has linux", "Node phantom (x): is a Node that a template creates; no machine belongs to it, and pod x/other is on it")
	view.Nodes[0].Labels[corev1.LabelOSStable] = "windows"
	if got := Check(e, nil, &facts.Live{View: view}); len(got.Faults) != 1 {
		t.Errorf("on a node with Windows: got %+v, want the Node alone", got.Faults)
	}
}
