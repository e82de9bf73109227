package refs

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// What no scheduler looks at, and a kubelet does, is found before anything is deployed.
func TestUnplaced(t *testing.T) {
	for spec, want := range map[string]string{
		"{nodeName: system-0, containers: [{name: m}]}": "Deployment x/web (x): is for the node system-0 by name (spec.nodeName)",
		"{containers: [{name: m, env: [{name: CPU, valueFrom: {resourceFieldRef: {containerName: gone, resource: limits.cpu}}}]}]}":                                                     "Deployment x/web (x): takes CPU from limits.cpu of container gone (resourceFieldRef), and it has no such container",
		"{containers: [{name: m}], volumes: [{name: v, downwardAPI: {items: [{path: cpu, resourceFieldRef: {containerName: gone, resource: limits.cpu}}]}}]}":                           "takes volume v/cpu from limits.cpu of container gone",
		"{containers: [{name: m}], volumes: [{name: v, projected: {sources: [{downwardAPI: {items: [{path: c, resourceFieldRef: {containerName: gone}}]}}]}}]}":                         "takes volume v/c from",
		"{initContainers: [{name: i}], containers: [{name: m, env: [{name: CPU, valueFrom: {resourceFieldRef: {containerName: i}}}, {name: OWN, valueFrom: {resourceFieldRef: {}}}]}]}": "",
	} {
		var got []string
		for _, f := range Deadlocks(expected(t, pod(spec)), nil, lane.Order{AtOnce: true}).Faults {
			got = append(got, f.Finding.Cause)
		}
		if want == "" && len(got) > 0 || want != "" && (len(got) != 1 || !strings.Contains(got[0], want)) {
			t.Errorf("%s: got %q, want %q", spec, got, want)
		}
	}
}

// A disk is attached to one node; files are mounted anywhere, and a pod that has ended uses nothing.
func TestSharedDisks(t *testing.T) {
	const uid = types.UID("1")
	on := func(node string, phase corev1.PodPhase) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "x"}, Spec: corev1.PodSpec{NodeName: node}, Status: corev1.PodStatus{Phase: phase}}
	}
	for _, c := range []struct {
		what, driver   string
		mode           corev1.PersistentVolumeAccessMode
		second         *corev1.Pod
		fault, warning bool
	}{
		{"a disk", "ebs.csi.aws.com", corev1.ReadWriteOnce, on("b", corev1.PodRunning), true, false},
		{"the provider's own class", "aicr.nvidia.com/simulated", corev1.ReadWriteOnce, on("b", corev1.PodPending), true, false},
		{"one node", "ebs.csi.aws.com", corev1.ReadWriteOnce, on("a", corev1.PodRunning), false, false},
		{"a pod that has ended", "ebs.csi.aws.com", corev1.ReadWriteOnce, on("b", corev1.PodSucceeded), false, false},
		{"a claim for many nodes", "ebs.csi.aws.com", corev1.ReadWriteMany, on("b", corev1.PodRunning), false, false},
		{"files", "efs.csi.aws.com", corev1.ReadWriteOnce, on("b", corev1.PodRunning), false, false},
		{"a driver that is not known", "example.com/x", corev1.ReadWriteOnce, on("b", corev1.PodRunning), false, true},
	} {
		e := expected(t, pod("{containers: [{name: m}], volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]}"))
		class := "fast"
		got := checkAll(e, nil, &facts.Live{
			ClaimSpecs:   map[string]corev1.PersistentVolumeClaimSpec{"x/data": {AccessModes: []corev1.PersistentVolumeAccessMode{c.mode}, StorageClassName: &class}},
			Provisioners: map[string]string{"fast": c.driver},
			View: &observe.View{
				Live:   map[string]observe.LiveWorkload{observe.WorkloadKey("Deployment", "x", "web"): {UID: uid}},
				PodsOf: map[types.UID][]*corev1.Pod{uid: {on("a", corev1.PodRunning), c.second}},
			},
		})
		if (len(got.Faults) == 1) != c.fault || (len(got.Warnings) == 1) != c.warning {
			t.Errorf("%s: got %+v", c.what, got)
		}
		for _, f := range got.Faults {
			testkit.WantText(t, c.what, f.Finding.Cause, "Deployment x/web (x): shares PersistentVolumeClaim x/data, which is ReadWriteOnce, among pods on 2 nodes")
		}
	}
}
