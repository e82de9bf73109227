package daytwo

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit/lanetest"
)

// A new pod that a quota rejects is the upgrade's failure if it waits for its own old pods, which the
// rolling update keeps: a first installation has none of them.
func TestFailed_Quota(t *testing.T) {
	b := Bundles{Before: &bundle.Bundle{}, Now: bundleOf(t, `{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: b, name: web}}`)}
	ref := b.Now.Expectation.Objects[0].Ref()
	b.Now.Expectation.Workloads = []bundle.Workload{{Kind: "Deployment", Namespace: "b", Name: "web", Component: "b", Replicas: 1}}
	for name, tc := range map[string]struct {
		surge int
		said  string
		want  reason.Reason
	}{
		"waits for its old pod":        {1, `pods "web-2" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1`, reason.UpgradeFailed},
		"waits for its old pod's GPUs": {1, `pods "web-2" is forbidden: exceeded quota: q, requested: requests.nvidia.com/gpu=8, used: requests.nvidia.com/gpu=8, limited: requests.nvidia.com/gpu=8`, reason.UpgradeFailed},
		"its old pod has no CPU":       {1, `pods "web-2" is forbidden: exceeded quota: q, requested: limits.cpu=1, used: limits.cpu=1, limited: limits.cpu=1`, reason.WorkloadFailed},
		"none has room":                {1, `pods "web-2" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=0`, reason.WorkloadFailed},
		"others use it":                {1, `pods "web-2" is forbidden: exceeded quota: q, requested: pods=1, used: pods=3, limited: pods=2`, reason.WorkloadFailed},
		"one of two":                   {1, `pods "web-2" is forbidden: exceeded quota: q, requested: limits.cpu=1,pods=1, used: limits.cpu=5,pods=1, limited: limits.cpu=5,pods=1`, reason.WorkloadFailed},
		"the old pod goes first":       {0, `pods "web-2" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1`, reason.WorkloadFailed},
		"no quota":                     {1, `pods "web-2" is forbidden: violates PodSecurity`, reason.WorkloadFailed},
	} {
		t.Run(name, func(t *testing.T) {
			one, yes := int32(1), true
			surge, none := intstr.FromInt32(int32(tc.surge)), intstr.FromInt32(int32(1-tc.surge))
			owned := func(kind, name, uid string) []metav1.OwnerReference {
				return []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: name, UID: types.UID(uid), Controller: &yes}}
			}
			view, err := observe.Poll(t.Context(), fake.NewClientset(
				&appsv1.Deployment{
					ObjectMeta: metav1.ObjectMeta{Namespace: "b", Name: "web", UID: "d"},
					Spec:       appsv1.DeploymentSpec{Replicas: &one, Strategy: appsv1.DeploymentStrategy{RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &surge, MaxUnavailable: &none}}},
					Status:     appsv1.DeploymentStatus{Conditions: []appsv1.DeploymentCondition{{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: tc.said}}},
				},
				&appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "b", Name: "web-1", UID: "r", OwnerReferences: owned("Deployment", "web", "d")}},
				&corev1.Pod{
					ObjectMeta: metav1.ObjectMeta{Namespace: "b", Name: "web-1-x", UID: "p", OwnerReferences: owned("ReplicaSet", "web-1", "r")},
					Spec:       corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("8")}}}}},
				},
			))
			if err != nil {
				t.Fatal(err)
			}
			failed := &reason.Error{Reason: reason.WorkloadFailed, Err: result.NewFailure(result.Finding{Object: &ref, Cause: "Deployment b/web (b): the API server rejects its pods: " + tc.said})}
			v := result.VerdictOf(Failed(UpgradeFrom("main"), failed, b, view))
			if v.Reason != tc.want {
				t.Fatalf("got %s: %s, want %s", v.Reason, v.Cause, tc.want)
			}
			if tc.want == reason.UpgradeFailed && (!strings.HasPrefix(v.Cause, "the upgrade from main: ") || !strings.HasSuffix(v.Cause, "and the new one waits for the quota of b/web-1-x") || !strings.Contains(strings.Join(v.Details, "\n"), "maxSurge: 0")) {
				t.Errorf("got %s\n%q", v.Cause, v.Details)
			}
		})
	}
}

// A pod that has no room since the deployer leaves what the recipe has no more is the upgrade's failure: a
// first installation has none of that. What the recipe still has is no leftover.
func TestStandoff_Left(t *testing.T) {
	room := corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("8"), "pods": resource.MustParse("110")}
	yes, one := true, int32(1)
	set := func(name string) *appsv1.DaemonSet {
		return &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)}, Status: appsv1.DaemonSetStatus{DesiredNumberScheduled: one, CurrentNumberScheduled: one}}
	}
	pod := func(of, node string) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: of + "-x", UID: types.UID(of + "-x"), OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: of, UID: types.UID(of), Controller: &yes}}},
			Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Limits: room, Requests: corev1.ResourceList{"nvidia.com/gpu": room["nvidia.com/gpu"]}}}}},
		}
	}
	waiting := pod("new", "")
	waiting.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."}}
	view := lanetest.ViewOf(t, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Status: corev1.NodeStatus{Capacity: room, Allocatable: room}}, set("old"), set("new"), waiting, pod("old", "n"))
	object := func(name string) string {
		return name + " {apiVersion: apps/v1, kind: DaemonSet, metadata: {namespace: ns, name: " + name + "}}"
	}
	workloads := func(names ...string) (all []bundle.Workload) {
		for _, name := range names {
			all = append(all, bundle.Workload{Component: name, Kind: "DaemonSet", Namespace: "ns", Name: name, Replicas: 1, Node: bundle.NodeAny})
		}
		return all
	}
	b := Bundles{Before: bundleOf(t, object("old")), Now: bundleOf(t, object("new"))}
	b.Before.Expectation.Workloads, b.Now.Expectation.Workloads = workloads("old"), workloads("new")
	ref := b.Now.Expectation.Objects[0].Ref()
	err := &reason.Error{Reason: reason.SchedulingFailed, Err: result.NewFailure(result.Finding{Object: &ref, Cause: "no node."})}
	v := result.VerdictOf(Failed(UpgradeFrom("main"), err, b, view))
	if v.Reason != reason.UpgradeFailed || v.Cause != "the upgrade from main: no node; DaemonSet ns/old has the room: the new bundle has it no more (component old, old/templates/x.yaml), and the deployer leaves it where it is" || !strings.Contains(v.Details[0], "before the upgrade, helm uninstall old") {
		t.Errorf("got %s: %s\n%q", v.Reason, v.Cause, v.Details)
	}
	b.Now = bundleOf(t, object("new"), object("old"))
	b.Now.Expectation.Workloads = workloads("new")
	if v := result.VerdictOf(Failed(UpgradeFrom("main"), err, b, view)); v.Reason != reason.SchedulingFailed {
		t.Errorf("what the recipe still has: got %s: %s", v.Reason, v.Cause)
	}
}
