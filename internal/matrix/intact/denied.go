package intact

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// inForce is how long an API server that has time may take until it enforces a policy that it has
// stored, and limitsInForce the same for what needs no compilation.
const (
	inForce       = 3 * time.Second
	limitsInForce = time.Second
)

// makers are the accounts of kube-controller-manager that create the pods of each kind, and the
// ReplicaSets of a Deployment.
var makers = map[string]string{"Deployment": "deployment-controller", "ReplicaSet": "replicaset-controller", "ReplicationController": "replication-controller", "StatefulSet": "statefulset-controller", "DaemonSet": "daemon-set-controller", "Job": "job-controller"}

// trial is an object that a controller has made, as it would make it again.
type trial struct {
	kind   string // for people
	object metav1.Object
	owner  *metav1.OwnerReference
	// as is the account that makes it, for a workload that has no pod yet; empty for what there is already.
	as string
	// create makes it again, in a dry run, and returns the pod that would come of it.
	create func(context.Context, kubernetes.Interface) (*corev1.Pod, error)
}

// Denied finds pods and ReplicaSets that are there only because they were created before a policy, a
// quota, a limit or a pod security level of the recipe was in force: their controllers could not
// create them again, e.g. once a node is drained. Of each owner one is tried, in a dry run and under
// the controller's account, and the first pod of each workload that has none yet. It asks nothing where the recipe has none of these. Where these could be
// made again and the recipe has a policy, it tries what the next delivery would change, and then what was created
// too early for what denies it.
// Pods that a mutating policy of the recipe would change so that no node admits them are found
// likewise; what such a policy takes from the next pod or delivery is a warning. since is when all of the
// recipe's objects were there. Reasons: WORKLOAD_FAILED, DEPLOY_FAILED, CLUSTER_FAILED.
func Denied(ctx context.Context, clients *infra.Clients, e *bundle.Expectation, since time.Time, rule judge.Ruling) (warnings []result.Finding, err error) {
	why := reason.WorkloadFailed
	failure := func(found []result.Finding) error {
		if len(found) == 0 {
			return nil
		}
		return rule.On(&reason.Error{Reason: why, Err: &result.Failure{Findings: found, Stage: result.StageApply}})
	}
	sure, err := enforced(ctx, clients, e, since)
	var found []result.Finding
	if err == nil {
		warnings, found, err = denied(ctx, clients, e)
	}
	if err == nil && len(found) == 0 && !sure { // a busy API server enforces a policy late
		if err = pause(ctx, inForce); err == nil {
			warnings, found, err = denied(ctx, clients, e)
		}
	}
	fails := failure(found)
	if err == nil && fails == nil && reachOf(e).everywhere {
		why = reason.DeployFailed
		var more []result.Finding
		more, found, err = refusedNext(ctx, clients, e)
		warnings, fails = append(warnings, more...), failure(found)
	}
	if err == nil && fails == nil && waitFor(e) > 0 {
		why = reason.DeployFailed
		var all []refusal
		all, err = refusedCreated(ctx, clients, e)
		fails = failure(refusalFindings(e, all))
	}
	warnings = bounded(warnings)
	if err != nil {
		return warnings, reason.Wrap(reason.ClusterFailed, err)
	}
	return warnings, fails
}

// enforced waits until the API server enforces what the bundle has that denies pods, which it has had
// since a time, and reports whether that is certain.
func enforced(ctx context.Context, clients *infra.Clients, e *bundle.Expectation, since time.Time) (sure bool, err error) {
	least := waitFor(e)
	if least == inForce && canary(ctx, clients, e, canaryWait) == nil {
		sure, least = true, limitsInForce // of which a bundle may have some, too
	}
	return sure || least < inForce, pause(ctx, least-time.Since(since))
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func denied(ctx context.Context, clients *infra.Clients, e *bundle.Expectation) (warnings, all []result.Finding, err error) {
	if waitFor(e) == 0 {
		return nil, nil, nil
	}
	trials, err := trialsOf(ctx, clients.Kube)
	if err != nil {
		return nil, nil, fmt.Errorf("list what is to be tried against the recipe's policies: %w", err)
	}
	trials = append(trials, idle(e)...)
	steers, nodes := steered(e), &corev1.NodeList{}
	if steers {
		if nodes, err = clients.Kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{}); err != nil {
			return nil, nil, fmt.Errorf("list the nodes for what the recipe's policies change: %w", err)
		}
	}
	var found refusals
	tried, as, asked := map[string]bool{}, newAccounts(clients), reachOf(e)
	for _, t := range trials {
		if t.owner == nil || tried[string(t.owner.UID)] || !asked.has(t.object.GetNamespace()) {
			continue
		}
		maker := cmp.Or(t.as, makers[t.owner.Kind])
		if tried[string(t.owner.UID)] = true; maker == "" {
			continue
		}
		client, err := as.controller(maker)
		if err != nil {
			return nil, nil, err
		}
		next, err := t.create(ctx, client)
		if why := reasonOf(err); why != "" {
			found.add(e, t, why)
		}
		if now, ok := t.object.(*corev1.Pod); ok && err == nil && steers {
			warnings = append(warnings, strippedPod(e, t, now, next)...)
			if f, ok := strayed(e, t, now, next, nodes.Items); ok {
				found.findings, found.of = append(found.findings, f), append(found.of, "")
			}
		}
	}
	return warnings, found.findings, nil
}

// refusals are the findings, one for what denies, whatever the number of workloads.
type refusals struct {
	findings []result.Finding
	of       []string // what denied each
}

func (r *refusals) add(e *bundle.Expectation, t trial, why string) {
	f, what := deniedFinding(e, t, why), why
	o := blamed(e, t.object.GetNamespace(), why)
	if o != nil {
		what = o.Ref().String()
	}
	if i := slices.Index(r.of, what); i >= 0 {
		first := &r.findings[i]
		first.Others = append(first.Others, *f.Object)
		first.Story = append(first.Story, fmt.Sprintf("  nor would it accept the next %s of %s (%s)", t.kind, f.Object, f.Component))
		return
	}
	if o != nil {
		blame(&f, o)
	}
	r.findings, r.of = append(r.findings, f), append(r.of, what)
}

// blame says of a finding which object of the recipe denies it, and where a person changes that.
func blame(f *result.Finding, o *bundle.Object) {
	if at, ok := o.Origin(); ok {
		f.Place = result.Place{File: at.File, Line: at.Line}
	}
	f.Story = append(f.Story, fmt.Sprintf("  %s (%s) denies it, set in %s", o.Ref(), o.Component, o.Where()))
}

// trialsOf lists the pods and ReplicaSets of all controllers.
func trialsOf(ctx context.Context, kube kubernetes.Interface) (all []trial, err error) {
	dry := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	pods, err := kube.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for i := range pods.Items {
		pod := pods.Items[i]
		all = append(all, trial{kind: "pod", object: &pod, owner: metav1.GetControllerOf(&pod), create: func(ctx context.Context, as kubernetes.Interface) (*corev1.Pod, error) {
			next := corev1.Pod{ObjectMeta: again(&pod), Spec: pod.Spec}
			next.Spec.NodeName = ""
			return as.CoreV1().Pods(pod.Namespace).Create(ctx, &next, dry)
		}})
	}
	sets, err := kube.AppsV1().ReplicaSets(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for i := range sets.Items {
		set := sets.Items[i]
		all = append(all, trial{kind: "ReplicaSet", object: &set, owner: metav1.GetControllerOf(&set), create: func(ctx context.Context, as kubernetes.Interface) (*corev1.Pod, error) {
			_, err := as.AppsV1().ReplicaSets(set.Namespace).Create(ctx, &appsv1.ReplicaSet{ObjectMeta: again(&set), Spec: set.Spec}, dry)
			return nil, err
		}})
	}
	return all, nil
}

// again is what the controller of an object sets when it creates it once more.
func again(o metav1.Object) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: o.GetNamespace(), Name: renamed(o.GetName(), 'z'), GenerateName: o.GetGenerateName(), Labels: o.GetLabels(), Annotations: o.GetAnnotations(), OwnerReferences: o.GetOwnerReferences()}
}

// deniedFinding names the workload that the object belongs to.
func deniedFinding(e *bundle.Expectation, t trial, why string) result.Finding {
	ref := result.Ref{Kind: t.owner.Kind, Namespace: t.object.GetNamespace(), Name: t.owner.Name}
	f := result.Finding{Check: podDenied.ID, Object: &ref}
	for i := range e.Workloads {
		w := &e.Workloads[i]
		replicas := w.Kind == "Deployment" && t.owner.Kind == "ReplicaSet" && t.owner.Name == w.Name+"-"+t.object.GetLabels()["pod-template-hash"]
		if w.Namespace == ref.Namespace && (replicas || w.Kind == t.owner.Kind && w.Name == t.owner.Name) {
			ref.Kind, ref.Name, f.Component = w.Kind, w.Name, w.Component
		}
	}
	f.Cause = fmt.Sprintf("%s (%s): the API server would reject its next %s: %s", ref, f.Component, t.kind, why)
	then := "  what it has was created before that was in force: once that is deleted, e.g. with its node, nothing takes its place"
	if t.as != "" {
		f.Cause = fmt.Sprintf("%s (%s): the API server would reject its pods: %s", ref, f.Component, why)
		then = "  it has none yet; once it is to have one, none comes"
	}
	f.Story = []string{f.Cause, then}
	return f
}
