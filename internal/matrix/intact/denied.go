package intact

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// inForce is how long an API server may take until it enforces a policy that it has stored.
const inForce = 3 * time.Second

// byPolicy is how the API server says that a ValidatingAdmissionPolicy has denied a request.
var byPolicy = regexp.MustCompile(`ValidatingAdmissionPolicy '[^']+' with binding '[^']+' denied request: .*`)

// makers are the accounts of kube-controller-manager that create the pods of each kind.
var makers = map[string]string{"ReplicaSet": "replicaset-controller", "ReplicationController": "replication-controller", "StatefulSet": "statefulset-controller", "DaemonSet": "daemon-set-controller", "Job": "job-controller"}

// Denied finds pods that run only because they were created before a policy of the recipe was in
// force: their controllers could not create them again, e.g. once a node is drained. Of each owner
// one pod is tried, in a dry run and under the controller's account. It asks nothing where the
// recipe has no such policy.
// Reasons: SCHEDULING_FAILED, CLUSTER_FAILED.
func Denied(ctx context.Context, clients *infra.Clients, e *bundle.Expectation) error {
	found, err := denied(ctx, clients, e)
	if err != nil || len(found) == 0 {
		return reason.Wrap(reason.ClusterFailed, err)
	}
	return &reason.Error{Reason: reason.SchedulingFailed, Err: &result.Failure{Findings: found}}
}

func denied(ctx context.Context, clients *infra.Clients, e *bundle.Expectation) ([]result.Finding, error) {
	if !slices.ContainsFunc(e.Objects, func(o bundle.Object) bool { return o.Object.GetKind() == "ValidatingAdmissionPolicyBinding" }) {
		return nil, nil
	}
	select {
	case <-time.After(inForce):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	pods, err := clients.Kube.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list the pods to try against the recipe's policies: %w", err)
	}
	var found []result.Finding
	tried := map[string]bool{}
	for i := range pods.Items {
		pod := &pods.Items[i]
		owner := metav1.GetControllerOf(pod)
		if owner == nil || makers[owner.Kind] == "" || tried[string(owner.UID)] {
			continue
		}
		tried[string(owner.UID)] = true
		cfg := rest.CopyConfig(clients.Config)
		cfg.WarningHandler, cfg.WarningHandlerWithContext = rest.NoWarnings{}, nil
		cfg.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:kube-system:" + makers[owner.Kind], Groups: []string{"system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"}}
		as, err := kubernetes.NewForConfig(cfg)
		if err != nil {
			return nil, fmt.Errorf("make a client for dry runs of pods: %w", err)
		}
		_, err = as.CoreV1().Pods(pod.Namespace).Create(ctx, again(pod), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if why := reasonOf(err); why != "" {
			found = append(found, deniedFinding(e, pod, owner, why))
		}
	}
	return found, nil
}

// reasonOf is what a policy says of a request that it denied; empty for any other error.
func reasonOf(err error) string {
	if err == nil {
		return ""
	}
	return byPolicy.FindString(err.Error())
}

// again is a pod as its controller would create it once more.
func again(pod *corev1.Pod) *corev1.Pod {
	p := pod.DeepCopy()
	p.ObjectMeta = metav1.ObjectMeta{Namespace: pod.Namespace, Name: renamed(pod.Name, 'z'), GenerateName: pod.GenerateName, Labels: pod.Labels, Annotations: pod.Annotations, OwnerReferences: pod.OwnerReferences}
	p.Spec.NodeName, p.Status = "", corev1.PodStatus{}
	return p
}

// deniedFinding names the workload that the pods belong to.
func deniedFinding(e *bundle.Expectation, pod *corev1.Pod, owner *metav1.OwnerReference, why string) result.Finding {
	ref := result.Ref{Kind: owner.Kind, Namespace: pod.Namespace, Name: owner.Name}
	f := result.Finding{Object: &ref}
	for i := range e.Workloads {
		w := &e.Workloads[i]
		replicas := w.Kind == "Deployment" && owner.Kind == "ReplicaSet" && owner.Name == w.Name+"-"+pod.Labels["pod-template-hash"]
		if w.Namespace == pod.Namespace && (replicas || w.Kind == owner.Kind && w.Name == owner.Name) {
			ref.Kind, ref.Name, f.Component = w.Kind, w.Name, w.Component
		}
	}
	f.Cause = fmt.Sprintf("%s (%s): the API server would reject its next pod: %s", ref, f.Component, why)
	f.Story = []string{f.Cause, "  its pods were created before the policy was in force: once one is deleted, e.g. with its node, no other comes"}
	return f
}
