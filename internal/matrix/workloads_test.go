package matrix

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result"
)

// wantReport is what one look must say; each entry is a part of the text.
type wantReport struct {
	pods                           int
	waiting, pending, wrong, notes []string
}

func (want wantReport) check(t *testing.T, got workloadReport) {
	t.Helper()
	if got.pods != want.pods {
		t.Errorf("pods: got %d, want %d", got.pods, want.pods)
	}
	var pending, wrong []string
	for _, p := range got.pending {
		pending = append(pending, podName(p.pod)+": "+p.message)
	}
	for _, w := range got.wrong {
		wrong = append(wrong, w.workload.Name+": "+w.text)
	}
	wantEach(t, "waiting", got.waitingTexts(), want.waiting)
	wantEach(t, "pending", pending, want.pending)
	wantEach(t, "wrong", wrong, want.wrong)
	wantEach(t, "notes", got.notes, want.notes)
}

func TestCheckWorkloads(t *testing.T) {
	with := func(w bundle.Workload, change func(*bundle.Workload)) bundle.Workload { change(&w); return w }
	operator := func(w *bundle.Workload) { w.Operator = "Prometheus ns/k8s" }
	ephemeral := func(w *bundle.Workload) { w.Hook, w.Ephemeral = true, true }
	unseen := deployment("d")
	unseen[0].(*appsv1.Deployment).Generation = 2
	complains := deployment("d")
	complains[0].(*appsv1.Deployment).Status.Conditions = []appsv1.DeploymentCondition{
		{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: `pods "d-" is forbidden: exceeded quota`},
	}
	going := pod("d-2", "ReplicaSet", "d", "s1")
	now := going.CreationTimestamp
	going.DeletionTimestamp, going.Finalizers = &now, []string{"test"}
	scheduled := job("c-1", batchv1.JobComplete)
	scheduled.OwnerReferences = controlledBy("CronJob", "c")
	ownedSet := statefulSet("prometheus-k8s")
	ownedSet.OwnerReferences = controlledBy("Prometheus", "k8s")

	tests := map[string]struct {
		workload bundle.Workload
		live     []runtime.Object
		want     wantReport
	}{
		"Deployment complete": {
			expected("Deployment", "d", 2, sys), objects(deployment("d"), list(pod("d-1", "ReplicaSet", "d", "s0"), pod("d-2", "ReplicaSet", "d", "s1"))), wantReport{pods: 2},
		},
		"Deployment missing":                {expected("Deployment", "d", 2, sys), nil, wantReport{waiting: []string{"Deployment ns/d: does not exist yet"}}},
		"another Deployment is no stand-in": {expected("Deployment", "d", 1, sys), objects(deployment("e"), list(pod("d-1", "ReplicaSet", "e", "s0"))), wantReport{waiting: []string{"does not exist yet"}}},
		"Deployment not seen by its controller": {
			expected("Deployment", "d", 1, sys), objects(unseen, list(pod("d-1", "ReplicaSet", "d", "s0"))), wantReport{waiting: []string{"controller has not seen it"}},
		},
		"Deployment whose pods are refused": {expected("Deployment", "d", 1, sys), complains, wantReport{waiting: []string{"exceeded quota"}}},
		"Deployment without pods (F03)":     {expected("Deployment", "d", 2, sys), deployment("d"), wantReport{waiting: []string{"0 of 2 pods"}}},
		"Deployment with a pod too few":     {expected("Deployment", "d", 2, sys), objects(deployment("d"), list(pod("d-1", "ReplicaSet", "d", "s0"))), wantReport{pods: 1, waiting: []string{"1 of 2 pods"}}},
		"Deployment with a pod too many": {
			expected("Deployment", "d", 1, sys), objects(deployment("d"), list(pod("d-1", "ReplicaSet", "d", "s0"), pod("d-2", "ReplicaSet", "d", "s1"))), wantReport{pods: 2, waiting: []string{"2 of 1 pods"}},
		},
		"a pod that is going does not count": {expected("Deployment", "d", 2, sys), objects(deployment("d"), list(pod("d-1", "ReplicaSet", "d", "s0"), going)), wantReport{pods: 1, waiting: []string{"1 of 2 pods"}}},
		"pod on the wrong kind of node": {
			expected("Deployment", "d", 1, sys), objects(deployment("d"), list(pod("d-1", "ReplicaSet", "d", "a0"))),
			wantReport{waiting: []string{"0 of 1"}, wrong: []string{"pod ns/d-1 is on node a0 (accelerated); it belongs on system nodes"}},
		},
		"pod anywhere":  {expected("Deployment", "d", 1, bundle.NodeAny), objects(deployment("d"), list(pod("d-1", "ReplicaSet", "d", "a0"))), wantReport{pods: 1}},
		"pod failed":    {expected("Deployment", "d", 1, sys), objects(deployment("d"), list(pod("d-1", "ReplicaSet", "d", "s0", phase(corev1.PodFailed)))), wantReport{waiting: []string{"0 of 1"}, wrong: []string{"pod ns/d-1 is Failed"}}},
		"pod not ready": {expected("Deployment", "d", 1, sys), objects(deployment("d"), list(pod("d-1", "ReplicaSet", "d", "s0", notReady))), wantReport{waiting: []string{"Running but not Ready"}}},
		"pod bound, not running (F04)": {
			expected("Deployment", "d", 1, sys), objects(deployment("d"), list(pod("d-1", "ReplicaSet", "d", "s0", phase(corev1.PodPending)))), wantReport{waiting: []string{"is Pending"}},
		},
		"pod that the scheduler has not looked at": {
			expected("Deployment", "d", 1, sys), objects(deployment("d"), list(pod("d-1", "ReplicaSet", "d", "", phase(corev1.PodPending)))), wantReport{waiting: []string{"pod ns/d-1 is not scheduled"}},
		},
		"pod refused by the scheduler": {
			expected("Deployment", "d", 1, sys),
			objects(deployment("d"), list(pod("d-1", "ReplicaSet", "d", "", refused("0/4 nodes are available: 4 Insufficient cpu. preemption: 0/4 nodes are available: 4 no victims.")))),
			wantReport{waiting: []string{"0 of 1"}, pending: []string{"ns/d-1: 0/4 nodes are available: 4 Insufficient cpu."}},
		},
		"an operator's workload before it is made": {with(expected("StatefulSet", "prometheus-k8s", 1, sys), operator), nil, wantReport{waiting: []string{"not made yet from Prometheus ns/k8s"}}},
		"an operator's workload": {
			with(expected("StatefulSet", "prometheus-k8s", 1, sys), operator), list(ownedSet, pod("prometheus-k8s-0", "StatefulSet", "prometheus-k8s", "s1")), wantReport{pods: 1},
		},
		"Job complete":                          {expected("Job", "j", 1, sys), list(job("j", batchv1.JobComplete), pod("j-1", "Job", "j", "s0", phase(corev1.PodSucceeded))), wantReport{pods: 1}},
		"Job complete at its second try":        {expected("Job", "j", 1, sys), list(job("j", batchv1.JobComplete), pod("j-1", "Job", "j", "s0", phase(corev1.PodFailed)), pod("j-2", "Job", "j", "s0", phase(corev1.PodSucceeded))), wantReport{pods: 1}},
		"Job not complete (F04)":                {expected("Job", "j", 1, sys), list(job("j", ""), pod("j-1", "Job", "j", "s0")), wantReport{waiting: []string{"not complete yet", "0 of 1 pods as they should be (pod ns/j-1 on node s0 is Running)"}}},
		"Job whose pod succeeded, not complete": {expected("Job", "j", 1, sys), list(job("j", ""), pod("j-1", "Job", "j", "s0", phase(corev1.PodSucceeded))), wantReport{pods: 1, waiting: []string{"not complete yet"}}},
		"Job failed":                            {expected("Job", "j", 1, sys), list(job("j", batchv1.JobFailed)), wantReport{wrong: []string{"the Job failed: BackoffLimitExceeded: it was tried 6 times"}}},
		"hook Job missing":                      {with(expected("Job", "j", 1, sys), func(w *bundle.Workload) { w.Hook = true }), nil, wantReport{waiting: []string{"does not exist yet"}}},
		"hook Job gone after it ran":            {with(expected("Job", "j", 1, sys), ephemeral), nil, wantReport{}},
		"hook Job that failed":                  {with(expected("Job", "j", 1, sys), ephemeral), list(job("j", batchv1.JobFailed)), wantReport{wrong: []string{"the Job failed"}}},
		"hook Job refused by the scheduler": {
			with(expected("Job", "j", 1, sys), ephemeral), list(job("j", ""), pod("j-1", "Job", "j", "", refused("0/4 nodes"))), wantReport{waiting: []string{"not complete", "0 of 1"}, pending: []string{"ns/j-1: 0/4 nodes"}},
		},
		"CronJob":                      {expected("CronJob", "c", 0, sys), list(cronJob("c")), wantReport{}},
		"CronJob missing":              {expected("CronJob", "c", 0, sys), nil, wantReport{waiting: []string{"CronJob ns/c: does not exist yet"}}},
		"CronJob whose time has come":  {expected("CronJob", "c", 0, sys), list(cronJob("c"), scheduled, pod("c-1-x", "Job", "c-1", "s0", phase(corev1.PodSucceeded))), wantReport{}},
		"bare Pod":                     {expected("Pod", "p", 1, sys), list(pod("p", "", "", "s0")), wantReport{pods: 1}},
		"bare Pod missing":             {expected("Pod", "p", 1, sys), nil, wantReport{waiting: []string{"Pod ns/p: 0 of 1"}}},
		"bare Pod on the wrong node":   {expected("Pod", "p", 1, sys), list(pod("p", "", "", "a1")), wantReport{waiting: []string{"0 of 1"}, wrong: []string{"on node a1 (accelerated)"}}},
		"bare Pod refused":             {expected("Pod", "p", 1, sys), list(pod("p", "", "", "", refused("0/4 nodes"))), wantReport{waiting: []string{"0 of 1"}, pending: []string{"ns/p: 0/4 nodes"}}},
		"hook Pod that ran to its end": {with(expected("Pod", "p", 1, sys), func(w *bundle.Workload) { w.Hook = true; w.PodSpec.RestartPolicy = corev1.RestartPolicyNever }), list(pod("p", "", "", "s0", phase(corev1.PodSucceeded))), wantReport{pods: 1}},
		"hook Pod gone after it ran":   {with(expected("Pod", "p", 1, sys), ephemeral), nil, wantReport{}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			tc.want.check(t, checkWorkloads([]bundle.Workload{tc.workload}, snapshotOf(t, objects(testNodes(), tc.live)...)))
		})
	}
}

func TestCheckDaemonSets(t *testing.T) {
	on := func(nodes ...string) []runtime.Object {
		objs := list(daemonSet("ds"))
		for _, n := range nodes {
			objs = append(objs, pod("ds-"+n, "DaemonSet", "ds", n))
		}
		return objs
	}
	template := func(kind bundle.NodeKind, selector map[string]string) bundle.Workload {
		w := expected("DaemonSet", "ds", -1, kind)
		w.PodSpec.NodeSelector = selector
		return w
	}
	zoned := node("a2", acc)
	zoned.Labels["zone"] = "b"
	tests := map[string]struct {
		workload bundle.Workload
		live     []runtime.Object
		want     wantReport
	}{
		"on every node of its kind": {expected("DaemonSet", "ds", -1, acc), on("a0", "a1"), wantReport{pods: 2}},
		"a node without a pod":      {expected("DaemonSet", "ds", -1, acc), on("a0"), wantReport{pods: 1, waiting: []string{"1 of 2"}}},
		"without pods (F03)":        {expected("DaemonSet", "ds", -1, acc), on(), wantReport{waiting: []string{"0 of 2"}}},
		"on every node":             {expected("DaemonSet", "ds", -1, bundle.NodeAny), on("a0", "a1", "s0", "s1"), wantReport{pods: 4}},
		"any node, one without":     {expected("DaemonSet", "ds", -1, bundle.NodeAny), on("a0", "a1", "s0"), wantReport{pods: 3, waiting: []string{"3 of 4"}}},
		"no node admits it (F05)": {
			template(acc, map[string]string{"disktype": "ssd"}), on(), wantReport{wrong: []string{"no node admits its pods"}},
		},
		"its selector admits the wrong kind": {
			template(acc, nil), on("a0", "a1", "s0", "s1"), wantReport{wrong: []string{"it belongs on accelerated nodes, but its template also admits s0 (system)"}},
		},
		"an operating system that no node has": {
			template(acc, map[string]string{corev1.LabelOSStable: "windows"}), on(), wantReport{notes: []string{"DaemonSet ns/ds wants windows nodes; the cluster has none"}},
		},
		"a part of its kind": {
			template(acc, map[string]string{"zone": "b"}), objects(list(zoned), on("a2")), wantReport{pods: 1, notes: []string{"runs on 1 of 3 accelerated nodes"}},
		},
		"a pod where its template admits none": {
			template(acc, map[string]string{"zone": "b"}), objects(list(zoned), on("a2", "a0")), wantReport{notes: []string{"runs on 1 of 3"}, wrong: []string{"pod ns/ds-a0 is on node a0, which its template does not admit"}},
		},
		"a pod that does not fit its node": {
			expected("DaemonSet", "ds", -1, acc), append(on("a0"), pod("ds-a1", "DaemonSet", "ds", "", refused("0/4 nodes are available: 1 Insufficient nvidia.com/gpu"))),
			wantReport{pods: 1, waiting: []string{"1 of 2"}, pending: []string{"Insufficient nvidia.com/gpu"}},
		},
		"missing": {expected("DaemonSet", "ds", -1, acc), nil, wantReport{waiting: []string{"does not exist yet"}}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			tc.want.check(t, checkWorkloads([]bundle.Workload{tc.workload}, snapshotOf(t, objects(testNodes(), tc.live)...)))
		})
	}
}

// Objects that are missing are a finding with all of them.
func TestMissingFields(t *testing.T) {
	two := []missingObject{
		{result.Ref{Group: "example.com", Kind: "Widget", Namespace: "ns", Name: "w"}, "web-stack", "t.yaml"}, {result.Ref{Kind: "Service", Namespace: "ns", Name: "s"}, "db", "s.yaml"},
	}
	wantOutline(t, "missing objects", missingFinding(two[0], two, "gone"), "Widget.example.com ns/w + Service ns/s (web-stack)")
}
