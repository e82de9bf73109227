package daytwo

// failing.go makes the delivery of a bundle fail, as it does where a webhook does not answer, a quota is used up or a
// migration breaks: of each release one object is rejected, or one hook Job fails. What the deployer does then is its own.
// It must not know which deployer a lane belongs to.

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/podspec"
	"github.com/nvidia/aicr-action/internal/bundle/rendering"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// Failing is a delivery that is made to fail.
type Failing struct {
	env   *lane.Env
	picks []pick
}

// pick is how one release fails: its Job job, which is a hook, comes to no end, or object is rejected.
type pick struct {
	release     string
	object, job *bundle.Object
}

// NewFailing chooses how each release of the bundle fails.
func NewFailing(env *lane.Env, order lane.Order) *Failing {
	f := &Failing{env: env}
	for _, r := range env.Bundle.Expectation.Releases {
		p := pick{release: r.Name}
		if !order.AtOnce { // else a hook that fails is no failure of its release
			p.job = hookThatFails(&env.Bundle.Expectation, r.Name)
		}
		if p.job == nil {
			p.object = lastObject(&env.Bundle.Expectation, r.Name)
		}
		if p.job != nil || p.object != nil {
			f.picks = append(f.picks, p)
		}
	}
	return f
}

// hookThatFails is a Job of a release's installation that is a hook: one after it if there is one, since all else is there
// then; nil if the release has none.
func hookThatFails(e *bundle.Expectation, release string) (found *bundle.Object) {
	for _, phases := range [][]string{{"post-install", "postsync"}, {"pre-install", "presync", "sync"}} {
		for i := range e.Objects {
			o := &e.Objects[i]
			notes := o.Object.GetAnnotations()
			argo := strings.Split(strings.ToLower(notes["argocd.argoproj.io/hook"]), ",")
			if o.Release != release || !o.Hook || o.Object.GetKind() != "Job" || o.Object.GetName() == "" {
				continue
			}
			if rendering.RunsInHelm(notes, phases...) || slices.ContainsFunc(argo, func(p string) bool { return slices.Contains(phases, strings.TrimSpace(p)) }) {
				found = o
			}
		}
		if found != nil {
			return found
		}
	}
	return nil
}

// lastObject is what a release is denied: its last workload, or else its last object. Without a namespace or a definition all
// that follows would fail for that.
func lastObject(e *bundle.Expectation, release string) (found *bundle.Object) {
	workload := false
	for i := range e.Objects {
		o := &e.Objects[i]
		kind := o.Object.GetKind()
		if o.Release != release || o.Hook || o.Object.GetName() == "" || kind == "Namespace" || kind == "CustomResourceDefinition" {
			continue
		}
		_, pods := podspec.Of(o.Object)
		if pods || !workload {
			found, workload = o, workload || pods
		}
	}
	return found
}

// How says in a line how each release fails.
func (f *Failing) How() (lines []string) {
	for _, p := range f.picks {
		if p.job != nil {
			lines = append(lines, fmt.Sprintf("release %s: hook %s fails", p.release, p.job.Ref()))
			continue
		}
		lines = append(lines, fmt.Sprintf("release %s: %s is rejected", p.release, p.object.Ref()))
	}
	return lines
}

const (
	// failingName is none of the harness's other policies, which nobody can delete.
	failingName = "sequence.aicr-action.nvidia.com"
	// failingSaid is what the API server says of an object that is rejected.
	failingSaid = "rejected on purpose by --sequence failed, as by a webhook that does not answer"
)

// The policies' resources.
var (
	failingPolicy  = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicies"}
	failingBinding = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicybindings"}
)

// objects are the policy that rejects the objects, and the pods of the Jobs, and its binding.
func (f *Failing) objects() (policy, binding *unstructured.Unstructured) {
	denied := []string{quote("ConfigMap", "default", failingName)} // by which one sees that the policy is in force
	var jobs []string
	for _, p := range f.picks {
		o := p.object
		if o != nil {
			denied = append(denied, quote(o.Object.GetKind(), o.Object.GetNamespace(), o.Object.GetName()))
			continue
		}
		jobs = append(jobs, quote("Job", p.job.Object.GetNamespace(), p.job.Object.GetName()))
	}
	id := "request.kind.kind + ' ' + (has(request.namespace) ? request.namespace : '') + '/' + (has(object.metadata.name) ? object.metadata.name : '')"
	owners := "has(object.metadata.ownerReferences) ? object.metadata.ownerReferences.map(o, o.kind + ' ' + request.namespace + '/' + o.name) : []"
	policy = &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": failingPolicy.GroupVersion().String(), "kind": "ValidatingAdmissionPolicy", "metadata": map[string]any{"name": failingName},
		"spec": map[string]any{
			"failurePolicy": "Ignore", // an object that the rule cannot read is none of these
			"matchConstraints": map[string]any{"resourceRules": []any{map[string]any{
				"apiGroups": []any{"*"}, "apiVersions": []any{"*"}, "operations": []any{"CREATE"}, "resources": []any{"*"},
			}}},
			"variables": []any{map[string]any{"name": "id", "expression": id}, map[string]any{"name": "owners", "expression": owners}},
			"validations": []any{
				map[string]any{"expression": "!(variables.id in dyn([" + strings.Join(denied, ", ") + "]))", "message": failingSaid},
				map[string]any{"expression": "request.kind.kind != 'Pod' || !variables.owners.exists(o, o in dyn([" + strings.Join(jobs, ", ") + "]))", "message": failingSaid},
			},
		},
	}}
	binding = &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": failingPolicy.GroupVersion().String(), "kind": "ValidatingAdmissionPolicyBinding", "metadata": map[string]any{"name": failingName},
		"spec": map[string]any{"policyName": failingName, "validationActions": []any{"Deny"}},
	}}
	return policy, binding
}

func quote(kind, namespace, name string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(kind+" "+namespace+"/"+name) + "'"
}

// policyWithin is how long the API server may take to see a policy, or that it is gone.
const policyWithin = 30 * time.Second

// Begin makes what is delivered from now on fail.
func (f *Failing) Begin(ctx context.Context) error {
	policy, binding := f.objects()
	err := f.env.Clients.Apply(ctx, failingPolicy, policy)
	if err == nil {
		err = f.env.Clients.Apply(ctx, failingBinding, binding)
	}
	if err == nil {
		err = f.inForce(ctx, true)
	}
	return reason.Wrap(reason.ClusterFailed, err)
}

// End lets what is delivered from now on be.
func (f *Failing) End(ctx context.Context) error {
	for _, gvr := range []schema.GroupVersionResource{failingBinding, failingPolicy} {
		if err := f.env.Clients.Dynamic.Resource(gvr).Delete(ctx, failingName, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return reason.Wrap(reason.ClusterFailed, err)
		}
	}
	return reason.Wrap(reason.ClusterFailed, f.inForce(ctx, false))
}

func (f *Failing) inForce(ctx context.Context, want bool) error {
	probe := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": failingName, "namespace": "default"}}}
	return wait.For(ctx, "the policy "+failingName, wait.Options{Budget: policyWithin, Interval: 100 * time.Millisecond}, func(ctx context.Context) wait.Result {
		_, err := f.env.Clients.Dynamic.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace("default").Create(ctx, probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		switch rejects := err != nil && strings.Contains(err.Error(), failingSaid); {
		case rejects == want:
			return wait.Done()
		case err != nil && !rejects:
			return wait.NotYet("%v", err)
		case want:
			return wait.NotYet("the API server still accepts what it rejects")
		}
		return wait.NotYet("the API server still rejects by it")
	})
}

// Deliveries that fail are given up within this time; a deployer that tries again for longer still tries when the new version
// comes, as in life. Between two polls that find the same nothing has changed.
const (
	failsWithin = 60 * time.Second
	samePolls   = 3
)

// Await lets the hook Jobs fail, and waits until the deployer has given up each release or waits for one that it has given up.
// It returns what the deployer says of them.
func (f *Failing) Await(ctx context.Context, l lane.Lane) (said []string, err error) {
	same := 0
	err = wait.For(ctx, "the delivery to fail", wait.Options{Budget: failsWithin, Interval: time.Second, Changed: f.env.Tell}, func(ctx context.Context) wait.Result {
		if err := f.breakJobs(ctx); err != nil {
			return wait.NotYet("%v", err)
		}
		state, err := l.Poll(ctx, f.env)
		if err != nil {
			return wait.NotYet("%v", err)
		}
		var failed []string
		waits := ""
		for _, it := range state.Items {
			switch it.State {
			case lane.ItemFailed, lane.ItemSuspect:
				failed = append(failed, it.ID+": "+strings.SplitN(it.Text, "\n", 2)[0])
			case lane.ItemWaiting:
				waits = it.ID + ": " + it.Text
				if strings.Contains(it.Text, failingSaid) { // and it is being tried again
					failed = append(failed, it.ID+": "+strings.SplitN(it.Text, "\n", 2)[0])
				}
			case lane.ItemGood, lane.ItemAccepted, lane.ItemBlocked:
			}
		}
		if len(failed) != len(said) {
			same = 0
		}
		said = failed
		if len(failed) == 0 {
			return wait.NotYet("nothing has failed yet; %s", waits)
		}
		if same++; same < samePolls || waits != "" {
			return wait.NotYet("%d have failed; %s", len(failed), waits)
		}
		return wait.Done()
	})
	switch {
	case wait.IsTimeout(err) && len(said) > 0:
		return said, nil
	case wait.IsTimeout(err):
		return nil, reason.New(reason.Internal, "the delivery could not be made to fail: %w", err)
	}
	return said, err
}

// breakJobs ends the hook Jobs that are there: no pod of them was admitted, and their deadline passes at once.
func (f *Failing) breakJobs(ctx context.Context) error {
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"activeDeadlineSeconds": 1}})
	if err != nil {
		return err
	}
	for _, p := range f.picks {
		if p.job == nil {
			continue
		}
		_, err := f.env.Clients.Kube.BatchV1().Jobs(p.job.Object.GetNamespace()).Patch(ctx, p.job.Object.GetName(), types.MergePatchType, patch, metav1.PatchOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("end hook %s: %w", p.job.Ref(), err)
		}
	}
	return nil
}

// FailedJobs are the Jobs of the cluster that have failed. spent are those that are hooks of an installation alone: Helm's upgrade
// to the next bundle leaves them as they are, which the notes say.
func FailedJobs(ctx context.Context, env *lane.Env, next *bundle.Bundle, order lane.Order) (failed, spent map[types.UID]bool, notes []string, err error) {
	list, err := env.Clients.Kube.BatchV1().Jobs("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, nil, nil, fmt.Errorf("list the Jobs that have failed: %w", err)
	}
	failed, spent = map[types.UID]bool{}, map[types.UID]bool{}
	for i := range list.Items {
		for _, c := range list.Items[i].Status.Conditions {
			if c.Type != batchv1.JobFailed || c.Status != corev1.ConditionTrue {
				continue
			}
			job := &list.Items[i]
			failed[job.UID] = true
			o := next.Expectation.Object(result.Ref{Group: batchv1.GroupName, Kind: "Job", Namespace: job.Namespace, Name: job.Name})
			if o != nil && o.Hook && !order.ArgoCD && !order.AtOnce && !rendering.RunsInHelm(o.Object.GetAnnotations(), "pre-upgrade", "post-upgrade") {
				spent[job.UID] = true
				notes = append(notes, fmt.Sprintf("hook %s of release %s has failed, and stays so: it is for an installation only (%s), and Helm upgrades a release that failed", o.Ref(), o.Release, o.Object.GetAnnotations()[rendering.HelmHook]))
			}
		}
	}
	return failed, spent, notes, nil
}

// FailedTries are the tries that have failed, by the item's ID.
func FailedTries(ctx context.Context, env *lane.Env, l lane.Lane) map[string]string {
	tries := map[string]string{}
	state, err := l.Poll(ctx, env)
	if err != nil {
		return tries // what the gate then sees of them is taken for new
	}
	for _, it := range state.Items {
		if it.Open() {
			tries[it.ID] = it.Attempt
		}
	}
	return tries
}

// AfterFailure names the delivery after one of this name that has failed, for people.
func AfterFailure(name string) string { return "the delivery after a failed one from " + name }

// AfterRemoval names the installation after the removal of what ran before, for people.
func AfterRemoval(name string) string { return "the installation after the removal of " + name }
