package observe

import (
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// wantReport is what one look must say; each entry is a part of the text.
type wantReport struct {
	pods                           int
	waiting, pending, wrong, notes []string
}

func (want wantReport) check(t *testing.T, got WorkloadReport) {
	t.Helper()
	if got.Pods != want.pods {
		t.Errorf("pods: got %d, want %d", got.Pods, want.pods)
	}
	var pending, wrong []string
	for _, p := range got.Pending {
		pending = append(pending, PodName(p.Pod)+": "+p.Message)
	}
	for _, w := range got.Wrong {
		wrong = append(wrong, w.Workload.Name+": "+w.Text)
	}
	testkit.WantEach(t, "waiting", got.WaitingTexts(), want.waiting)
	testkit.WantEach(t, "pending", pending, want.pending)
	testkit.WantEach(t, "wrong", wrong, want.wrong)
	testkit.WantEach(t, "notes", got.Notes, want.notes)
}

func TestCheckWorkloads(t *testing.T) {
	with := func(w bundle.Workload, change func(*bundle.Workload)) bundle.Workload { change(&w); return w }
	operator := func(w *bundle.Workload) { w.Operator = "Prometheus ns/k8s" }
	ephemeral := func(w *bundle.Workload) { w.Hook, w.Ephemeral = true, true }
	unseen := testkit.Deployment("d")
	unseen[0].(*appsv1.Deployment).Generation = 2
	complains := testkit.Deployment("d")
	complains[0].(*appsv1.Deployment).Status.Conditions = []appsv1.DeploymentCondition{
		{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: `pods "d-" is forbidden: exceeded quota`},
	}
	going := testkit.Pod("d-2", "ReplicaSet", "d", "s1")
	now := going.CreationTimestamp
	going.DeletionTimestamp, going.Finalizers = &now, []string{"test"}
	scheduled := testkit.Job("c-1", batchv1.JobComplete)
	scheduled.OwnerReferences = testkit.ControlledBy("CronJob", "c")
	ownedSet := testkit.StatefulSet("prometheus-k8s")
	ownedSet.OwnerReferences = testkit.ControlledBy("Prometheus", "k8s")

	tests := map[string]struct {
		workload bundle.Workload
		live     []runtime.Object
		want     wantReport
	}{
		"Deployment complete": {
			testkit.Expected("Deployment", "d", 2, testkit.Sys), testkit.Objects(testkit.Deployment("d"), testkit.List(testkit.Pod("d-1", "ReplicaSet", "d", "s0"), testkit.Pod("d-2", "ReplicaSet", "d", "s1"))), wantReport{pods: 2},
		},
		"Deployment missing":                {testkit.Expected("Deployment", "d", 2, testkit.Sys), nil, wantReport{waiting: []string{"Deployment ns/d: does not exist yet"}}},
		"another Deployment is no stand-in": {testkit.Expected("Deployment", "d", 1, testkit.Sys), testkit.Objects(testkit.Deployment("e"), testkit.List(testkit.Pod("d-1", "ReplicaSet", "e", "s0"))), wantReport{waiting: []string{"does not exist yet"}}},
		"Deployment not seen by its controller": {
			testkit.Expected("Deployment", "d", 1, testkit.Sys), testkit.Objects(unseen, testkit.List(testkit.Pod("d-1", "ReplicaSet", "d", "s0"))), wantReport{waiting: []string{"controller has not seen it"}},
		},
		"Deployment whose pods are refused": {testkit.Expected("Deployment", "d", 1, testkit.Sys), complains, wantReport{waiting: []string{"exceeded quota"}}},
		"Deployment without pods (F03)":     {testkit.Expected("Deployment", "d", 2, testkit.Sys), testkit.Deployment("d"), wantReport{waiting: []string{"0 of 2 pods"}}},
		"Deployment with a pod too few":     {testkit.Expected("Deployment", "d", 2, testkit.Sys), testkit.Objects(testkit.Deployment("d"), testkit.List(testkit.Pod("d-1", "ReplicaSet", "d", "s0"))), wantReport{pods: 1, waiting: []string{"1 of 2 pods"}}},
		"Deployment with a pod too many": {
			testkit.Expected("Deployment", "d", 1, testkit.Sys), testkit.Objects(testkit.Deployment("d"), testkit.List(testkit.Pod("d-1", "ReplicaSet", "d", "s0"), testkit.Pod("d-2", "ReplicaSet", "d", "s1"))), wantReport{pods: 2, waiting: []string{"2 of 1 pods"}},
		},
		"a pod that is going does not count": {testkit.Expected("Deployment", "d", 2, testkit.Sys), testkit.Objects(testkit.Deployment("d"), testkit.List(testkit.Pod("d-1", "ReplicaSet", "d", "s0"), going)), wantReport{pods: 1, waiting: []string{"1 of 2 pods"}}},
		"pod on the wrong kind of node": {
			testkit.Expected("Deployment", "d", 1, testkit.Sys), testkit.Objects(testkit.Deployment("d"), testkit.List(testkit.Pod("d-1", "ReplicaSet", "d", "a0"))),
			wantReport{waiting: []string{"0 of 1"}, wrong: []string{"pod ns/d-1 is on node a0 (accelerated); it belongs on system nodes"}},
		},
		"pod anywhere": {testkit.Expected("Deployment", "d", 1, bundle.NodeAny), testkit.Objects(testkit.Deployment("d"), testkit.List(testkit.Pod("d-1", "ReplicaSet", "d", "a0"))), wantReport{pods: 1}},
		"pod failed":   {testkit.Expected("Deployment", "d", 1, testkit.Sys), testkit.Objects(testkit.Deployment("d"), testkit.List(testkit.Pod("d-1", "ReplicaSet", "d", "s0", testkit.Phase(corev1.PodFailed)))), wantReport{waiting: []string{"0 of 1"}, wrong: []string{"pod ns/d-1 is Failed"}}},
		"its probe fails": {testkit.Expected("Deployment", "d", 1, testkit.Sys), testkit.Objects(testkit.Deployment("d"), testkit.List(testkit.Pod("d-1", "ReplicaSet", "d", "s0", testkit.NotReady, func(p *corev1.Pod) {
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.ContainersReady, Status: corev1.ConditionFalse, Message: infra.ProbeFails + "refused"})
		}))), wantReport{waiting: []string{"Running but not Ready: its readiness probe fails: refused"}}},
		"pod not ready": {testkit.Expected("Deployment", "d", 1, testkit.Sys), testkit.Objects(testkit.Deployment("d"), testkit.List(testkit.Pod("d-1", "ReplicaSet", "d", "s0", testkit.NotReady))), wantReport{waiting: []string{"Running but not Ready"}}},
		"pod bound, not running (F04)": {
			testkit.Expected("Deployment", "d", 1, testkit.Sys), testkit.Objects(testkit.Deployment("d"), testkit.List(testkit.Pod("d-1", "ReplicaSet", "d", "s0", testkit.Phase(corev1.PodPending)))), wantReport{waiting: []string{"is Pending"}},
		},
		"pod that the scheduler has not looked at": {
			testkit.Expected("Deployment", "d", 1, testkit.Sys), testkit.Objects(testkit.Deployment("d"), testkit.List(testkit.Pod("d-1", "ReplicaSet", "d", "", testkit.Phase(corev1.PodPending)))), wantReport{waiting: []string{"pod ns/d-1 is not scheduled"}},
		},
		"pod refused by the scheduler": {
			testkit.Expected("Deployment", "d", 1, testkit.Sys),
			testkit.Objects(testkit.Deployment("d"), testkit.List(testkit.Pod("d-1", "ReplicaSet", "d", "", testkit.Refused("0/4 nodes are available: 4 Insufficient cpu. preemption: 0/4 nodes are available: 4 no victims.")))),
			wantReport{waiting: []string{"0 of 1"}, pending: []string{"ns/d-1: 0/4 nodes are available: 4 Insufficient cpu."}},
		},
		"an operator's workload before it is made": {with(testkit.Expected("StatefulSet", "prometheus-k8s", 1, testkit.Sys), operator), nil, wantReport{waiting: []string{"not made yet from Prometheus ns/k8s"}}},
		"an operator's workload": {
			with(testkit.Expected("StatefulSet", "prometheus-k8s", 1, testkit.Sys), operator), testkit.List(ownedSet, testkit.Pod("prometheus-k8s-0", "StatefulSet", "prometheus-k8s", "s1")), wantReport{pods: 1},
		},
		"Job complete":                          {testkit.Expected("Job", "j", 1, testkit.Sys), testkit.List(testkit.Job("j", batchv1.JobComplete), testkit.Pod("j-1", "Job", "j", "s0", testkit.Phase(corev1.PodSucceeded))), wantReport{pods: 1}},
		"Job complete at its second try":        {testkit.Expected("Job", "j", 1, testkit.Sys), testkit.List(testkit.Job("j", batchv1.JobComplete), testkit.Pod("j-1", "Job", "j", "s0", testkit.Phase(corev1.PodFailed)), testkit.Pod("j-2", "Job", "j", "s0", testkit.Phase(corev1.PodSucceeded))), wantReport{pods: 1}},
		"Job not complete (F04)":                {testkit.Expected("Job", "j", 1, testkit.Sys), testkit.List(testkit.Job("j", ""), testkit.Pod("j-1", "Job", "j", "s0")), wantReport{waiting: []string{"not complete yet", "0 of 1 pods as expected (pod ns/j-1 on node s0 is Running)"}}},
		"Job whose pod succeeded, not complete": {testkit.Expected("Job", "j", 1, testkit.Sys), testkit.List(testkit.Job("j", ""), testkit.Pod("j-1", "Job", "j", "s0", testkit.Phase(corev1.PodSucceeded))), wantReport{pods: 1, waiting: []string{"not complete yet"}}},
		"a node that does not exist": {with(testkit.Expected("Deployment", "d", 1, testkit.Sys), func(w *bundle.Workload) { w.PodSpec.NodeName = "ghost" }), testkit.Objects(testkit.Deployment("d"), testkit.List(testkit.Pod("d-1", "ReplicaSet", "d", "ghost", testkit.Phase(corev1.PodPending)))),
			wantReport{wrong: []string{"pod ns/d-1 is for node ghost (spec.nodeName), which does not exist"}, waiting: []string{"0 of 1"}}},
		"Job that some of its pods complete":  {testkit.Expected("Job", "j", 3, testkit.Sys), testkit.List(completeBy(&batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{{SucceededCount: new(int32(1))}}}), testkit.Pod("j-1", "Job", "j", "s0", testkit.Phase(corev1.PodSucceeded)), testkit.Pod("j-2", "Job", "j", "s0")), wantReport{pods: 1}},
		"Job that is complete, of three pods": {testkit.Expected("Job", "j", 3, testkit.Sys), testkit.List(completeBy(nil), testkit.Pod("j-1", "Job", "j", "s0", testkit.Phase(corev1.PodSucceeded)), testkit.Pod("j-2", "Job", "j", "s0")), wantReport{pods: 1, waiting: []string{"1 of 3"}}},
		"Job suspended":                       {testkit.Expected("Job", "j", 0, testkit.Sys), testkit.List(jobWith(func(s *batchv1.JobSpec) { s.Suspend = new(true) })), wantReport{wrong: []string{"it is suspended (spec.suspend), and nothing here resumes it"}}},
		"Job without pods":                    {testkit.Expected("Job", "j", 0, testkit.Sys), testkit.List(jobWith(func(s *batchv1.JobSpec) { s.Parallelism = new(int32(0)) })), wantReport{wrong: []string{"spec.parallelism: 0"}}},
		"Job of another controller":           {testkit.Expected("Job", "j", 1, testkit.Sys), testkit.List(jobWith(func(s *batchv1.JobSpec) { s.ManagedBy = new("example.com/jobs") })), wantReport{wrong: []string{"spec.managedBy: example.com/jobs"}}},
		"Job failed":                          {testkit.Expected("Job", "j", 1, testkit.Sys), testkit.List(testkit.Job("j", batchv1.JobFailed)), wantReport{wrong: []string{"the Job failed: BackoffLimitExceeded: it was tried 6 times"}}},
		"Job whose program ended": {testkit.Expected("Job", "j", 1, testkit.Sys), testkit.List(testkit.Job("j", batchv1.JobFailed), testkit.Pod("j-1", "Job", "j", "s0", endedWith(1, "")), testkit.Pod("j-2", "Job", "j", "s0", endedWith(127, "no such program"))),
			wantReport{wrong: []string{"BackoffLimitExceeded: it was tried 6 times; pod ns/j-2 ended with exit code 127: no such program"}}},
		"Job whose pod cannot run": {testkit.Expected("Job", "j", 1, testkit.Sys), testkit.List(testkit.Job("j", ""), testkit.Pod("j-1", "Job", "j", "s0", testkit.Phase(corev1.PodPending), func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CreateContainerConfigError", Message: "it has a hostPath"}}}}
		})), wantReport{waiting: []string{"not complete yet", "is Pending: CreateContainerConfigError, it has a hostPath"}}},
		"Job that ran and is being deleted": {testkit.Expected("Job", "j", 1, testkit.Sys), testkit.List(leavingJob(batchv1.JobComplete)), wantReport{pods: 1}},
		"Job that is being deleted":         {testkit.Expected("Job", "j", 1, testkit.Sys), testkit.List(leavingJob("")), wantReport{waiting: []string{"not complete yet", "0 of 1"}}},
		"hook Job missing":                  {with(testkit.Expected("Job", "j", 1, testkit.Sys), func(w *bundle.Workload) { w.Hook = true }), nil, wantReport{waiting: []string{"does not exist yet"}}},
		"hook Job gone after it ran":        {with(testkit.Expected("Job", "j", 1, testkit.Sys), ephemeral), nil, wantReport{}},
		"hook Job that failed":              {with(testkit.Expected("Job", "j", 1, testkit.Sys), ephemeral), testkit.List(testkit.Job("j", batchv1.JobFailed)), wantReport{wrong: []string{"the Job failed"}}},
		"hook Job refused by the scheduler": {
			with(testkit.Expected("Job", "j", 1, testkit.Sys), ephemeral), testkit.List(testkit.Job("j", ""), testkit.Pod("j-1", "Job", "j", "", testkit.Refused("0/4 nodes"))), wantReport{waiting: []string{"not complete", "0 of 1"}, pending: []string{"ns/j-1: 0/4 nodes"}},
		},
		"CronJob":                      {testkit.Expected("CronJob", "c", 0, testkit.Sys), testkit.List(testkit.CronJob("c")), wantReport{}},
		"CronJob missing":              {testkit.Expected("CronJob", "c", 0, testkit.Sys), nil, wantReport{waiting: []string{"CronJob ns/c: does not exist yet"}}},
		"CronJob whose time has come":  {testkit.Expected("CronJob", "c", 0, testkit.Sys), testkit.List(testkit.CronJob("c"), scheduled, testkit.Pod("c-1-x", "Job", "c-1", "s0", testkit.Phase(corev1.PodSucceeded))), wantReport{}},
		"bare Pod":                     {testkit.Expected("Pod", "p", 1, testkit.Sys), testkit.List(testkit.Pod("p", "", "", "s0")), wantReport{pods: 1}},
		"bare Pod missing":             {testkit.Expected("Pod", "p", 1, testkit.Sys), nil, wantReport{waiting: []string{"Pod ns/p: 0 of 1"}}},
		"bare Pod on the wrong node":   {testkit.Expected("Pod", "p", 1, testkit.Sys), testkit.List(testkit.Pod("p", "", "", "a1")), wantReport{waiting: []string{"0 of 1"}, wrong: []string{"on node a1 (accelerated)"}}},
		"bare Pod refused":             {testkit.Expected("Pod", "p", 1, testkit.Sys), testkit.List(testkit.Pod("p", "", "", "", testkit.Refused("0/4 nodes"))), wantReport{waiting: []string{"0 of 1"}, pending: []string{"ns/p: 0/4 nodes"}}},
		"hook Pod that ran to its end": {with(testkit.Expected("Pod", "p", 1, testkit.Sys), func(w *bundle.Workload) { w.Hook = true; w.PodSpec.RestartPolicy = corev1.RestartPolicyNever }), testkit.List(testkit.Pod("p", "", "", "s0", testkit.Phase(corev1.PodSucceeded))), wantReport{pods: 1}},
		"hook Pod gone after it ran":   {with(testkit.Expected("Pod", "p", 1, testkit.Sys), ephemeral), nil, wantReport{}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			tc.want.check(t, CheckWorkloads([]bundle.Workload{tc.workload}, viewOf(t, testkit.Objects(testkit.TestNodes(), tc.live)...)))
		})
	}
}

func TestCheckDaemonSets(t *testing.T) {
	on := func(nodes ...string) []runtime.Object {
		objs := testkit.List(testkit.DaemonSet("ds"))
		for _, n := range nodes {
			objs = append(objs, testkit.Pod("ds-"+n, "DaemonSet", "ds", n))
		}
		return objs
	}
	template := func(kind bundle.NodeKind, selector map[string]string) bundle.Workload {
		w := testkit.Expected("DaemonSet", "ds", -1, kind)
		w.PodSpec.NodeSelector = selector
		return w
	}
	chart := func(selector map[string]string, line string) bundle.Workload {
		w := template(bundle.NodeAny, selector)
		w.Template = "c/templates/ds.yaml"
		w.Chart = &chart.Chart{Metadata: &chart.Metadata{Name: "c"}, Templates: []*chart.File{{Name: "templates/ds.yaml", Data: []byte("nodeSelector:\n  " + line)}}}
		return w
	}
	zoned := testkit.Node("a2", testkit.Acc)
	zoned.Labels["zone"] = "b"
	tests := map[string]struct {
		workload bundle.Workload
		live     []runtime.Object
		want     wantReport
	}{
		"on every node of its kind": {testkit.Expected("DaemonSet", "ds", -1, testkit.Acc), on("a0", "a1"), wantReport{pods: 2}},
		"a node without a pod":      {testkit.Expected("DaemonSet", "ds", -1, testkit.Acc), on("a0"), wantReport{pods: 1, waiting: []string{"1 of 2"}}},
		"without pods (F03)":        {testkit.Expected("DaemonSet", "ds", -1, testkit.Acc), on(), wantReport{waiting: []string{"0 of 2"}}},
		"on every node":             {testkit.Expected("DaemonSet", "ds", -1, bundle.NodeAny), on("a0", "a1", "s0", "s1"), wantReport{pods: 4}},
		"any node, one without":     {testkit.Expected("DaemonSet", "ds", -1, bundle.NodeAny), on("a0", "a1", "s0"), wantReport{pods: 3, waiting: []string{"3 of 4"}}},
		"no node admits it (F05)": {
			template(testkit.Acc, map[string]string{"disktype": "ssd"}), on(), wantReport{wrong: []string{"no node admits its pods"}},
		},
		"a label of its chart that a person sets": {
			chart(map[string]string{"nvidia.com/mps.capable": "true"}, `nvidia.com/mps.capable: "true"`), on(), wantReport{notes: []string{"DaemonSet ns/ds runs on no node: its chart's template is for nodes with nvidia.com/mps.capable"}},
		},
		"a label that a value sets": {
			chart(map[string]string{"nvidia.com/mps.capable": "true"}, "{{ toYaml .Values.nodeSelector }}"), on(), wantReport{wrong: []string{"no node admits its pods"}},
		},
		"a label of its chart, and one of a value": {
			chart(map[string]string{"nvidia.com/mps.capable": "true", "disktype": "ssd"}, `nvidia.com/mps.capable: "true"`), on(), wantReport{wrong: []string{"no node admits its pods"}},
		},
		"a misspelt label of its chart": {
			chart(map[string]string{"aicr.nvidia.com/node-typ": "system"}, "aicr.nvidia.com/node-typ: system"), on(), wantReport{wrong: []string{"no node admits its pods"}},
		},
		"its selector admits the wrong kind": {
			template(testkit.Acc, nil), on("a0", "a1", "s0", "s1"), wantReport{wrong: []string{"it belongs on accelerated nodes, but its template also admits s0 (system)"}},
		},
		"an operating system that no node has": {
			template(testkit.Acc, map[string]string{corev1.LabelOSStable: "windows"}), on(), wantReport{notes: []string{"DaemonSet ns/ds wants windows nodes; the cluster has none"}},
		},
		"a part of its kind": {
			template(testkit.Acc, map[string]string{"zone": "b"}), testkit.Objects(testkit.List(zoned), on("a2")), wantReport{pods: 1, notes: []string{"runs on 1 of 3 accelerated nodes"}},
		},
		"a pod where its template admits none": {
			template(testkit.Acc, map[string]string{"zone": "b"}), testkit.Objects(testkit.List(zoned), on("a2", "a0")), wantReport{notes: []string{"runs on 1 of 3"}, wrong: []string{"pod ns/ds-a0 is on node a0, which its template does not admit"}},
		},
		"a pod that does not fit its node": {
			testkit.Expected("DaemonSet", "ds", -1, testkit.Acc), append(on("a0"), testkit.Pod("ds-a1", "DaemonSet", "ds", "", testkit.Refused("0/4 nodes are available: 1 Insufficient nvidia.com/gpu"))),
			wantReport{pods: 1, waiting: []string{"1 of 2"}, pending: []string{"Insufficient nvidia.com/gpu"}},
		},
		"missing": {testkit.Expected("DaemonSet", "ds", -1, testkit.Acc), nil, wantReport{waiting: []string{"does not exist yet"}}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			tc.want.check(t, CheckWorkloads([]bundle.Workload{tc.workload}, viewOf(t, testkit.Objects(testkit.TestNodes(), tc.live)...)))
		})
	}
}

// Objects that are missing are a finding with all of them.
func TestMissingFields(t *testing.T) {
	two := []MissingObject{
		{result.Ref{Group: "example.com", Kind: "Widget", Namespace: "ns", Name: "w"}, "web-stack", "t.yaml"}, {result.Ref{Kind: "Service", Namespace: "ns", Name: "s"}, "db", "s.yaml"},
	}
	testkit.WantOutline(t, "missing objects", MissingFinding(two[0], two, "gone"), "Widget.example.com ns/w + Service ns/s (web-stack)")
}

// viewOf is a look at a cluster that has these objects.
func viewOf(t *testing.T, objs ...runtime.Object) *View {
	t.Helper()
	v, err := Poll(t.Context(), fake.NewClientset(objs...))
	if err != nil {
		t.Fatalf("read a cluster of %d objects: %v", len(objs), err)
	}
	return v
}

// completeBy is a Job of three that is complete, with a success policy or without one.
func completeBy(policy *batchv1.SuccessPolicy) *batchv1.Job {
	j := testkit.Job("j", batchv1.JobComplete)
	j.Spec.Completions, j.Spec.SuccessPolicy = new(int32(3)), policy
	return j
}

// leavingJob is a Job that is being deleted, and whose pods are gone.
func leavingJob(condition batchv1.JobConditionType) *batchv1.Job {
	j := testkit.Job("j", condition)
	j.DeletionTimestamp, j.Finalizers = new(metav1.Now()), []string{"argocd.argoproj.io/hook-finalizer"}
	return j
}

// jobWith is a Job that is not complete, with a changed spec.
func jobWith(change func(*batchv1.JobSpec)) *batchv1.Job {
	j := testkit.Job("j", "")
	change(&j.Spec)
	return j
}

// endedWith is a pod's program that has failed; a higher code has ended later.
func endedWith(code int32, said string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodFailed
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Message: said, FinishedAt: metav1.Unix(int64(code), 0)}}}}
	}
}

// A Job of Argo CD's own hooks may be missing, whatever was seen of Jobs; an ordinary one may not.
func TestWorkloads_Unhooked(t *testing.T) {
	for unhooked, waiting := range map[bool]int{true: 0, false: 1} {
		w := bundle.Workload{Kind: "Job", Namespace: "b", Name: "clean", Ephemeral: true, Unhooked: unhooked}
		var r WorkloadReport
		r.check(&w, &View{Jobs: &Jobs{}}, nil)
		if len(r.Waiting) != waiting {
			t.Errorf("unhooked %t: got %+v", unhooked, r.Waiting)
		}
	}
}
