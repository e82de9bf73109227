package probe

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/lists"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// Groups are the API groups of a probe's objects, sorted.
func (p *Probe) Groups(v Values) ([]string, error) {
	objects, _, err := p.renderOnce(context.Background(), v)
	groups := map[string]bool{}
	for _, o := range objects {
		groups[o.object.GroupVersionKind().Group] = true
	}
	return slices.Sorted(maps.Keys(groups)), err
}

// made names the real controller that creates the pods of an object; empty if none runs.
func (r *Run) made(o rendered) string { return r.Made[o.object.GroupVersionKind().Group] }

// makers names the real controllers that create the pods of a probe's objects, sorted and each
// once.
func (r *Run) makers(p *Probe) []string {
	if len(r.Made) == 0 {
		return nil
	}
	groups, err := p.Groups(r.Values)
	if err != nil {
		return nil // the probe has said so
	}
	by := map[string]bool{}
	for _, g := range groups {
		if r.Made[g] != "" {
			by[r.Made[g]] = true
		}
	}
	return slices.Sorted(maps.Keys(by))
}

// real reports whether a controller that runs makes pods of one of a probe's objects.
func (r *Run) real(p *Probe) bool { return len(r.makers(p)) > 0 }

// answerBudget is how long the webhooks of a controller may take until they answer: it may say that
// it is ready before all of them are.
const answerBudget = 10 * time.Second

// submit creates an object. A webhook that gives no answer says nothing of the job, and is asked
// again.
func (r *Run) submit(ctx context.Context, p *Probe, o rendered, to dynamic.ResourceInterface) (err error) {
	// What the API server said last is worth more than that the time is up.
	_ = wait.For(ctx, "the webhooks of "+r.made(o), wait.Options{Budget: min(answerBudget, p.Spec.timeout)}, func(context.Context) wait.Result {
		_, err = to.Create(ctx, o.object, metav1.CreateOptions{FieldManager: infra.FieldManager, FieldValidation: metav1.FieldValidationStrict})
		switch {
		case err == nil:
			return wait.Done()
		case r.made(o) != "" && apierrors.IsInternalError(err):
			return wait.NotYet("%v", err)
		}
		return wait.Never(err)
	})
	return err
}

// tolerate lets the pods of a TrainJob onto simulated nodes, whose taint no runtime of a recipe
// knows: as a user's TrainJob would, with an override of the runtime's pod templates. An override
// replaces all tolerations, so that it repeats those that the pods would have without it.
func (r *Run) tolerate(ctx context.Context, p *Probe, o rendered) error {
	if r.made(o) == "" || !o.trains() {
		return nil
	}
	_, _, blueprint, err := r.runtimeOf(ctx, o.object)
	switch {
	case apierrors.IsNotFound(err):
		return nil // Trainer says so itself
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return reason.New(reason.ClusterFailed, "read the runtime of %s: %w", o, err)
	}
	if err := setTolerations(o.object, blueprint); err != nil {
		return reason.New(reason.Usage, "probe %s: %s: %w", p.Name, o, err)
	}
	r.overrides = append(r.overrides, fmt.Sprintf("probe %s: %s: podTemplateOverrides add a toleration of %s, the taint of simulated nodes", p.Name, o, simulate.KwokTaint))
	return nil
}

// setTolerations adds the override for each job of the runtime.
func setTolerations(job, blueprint *unstructured.Unstructured) error {
	jobs, _, err := unstructured.NestedSlice(blueprint.Object, "spec", "template", "spec", "replicatedJobs")
	if err != nil {
		return fmt.Errorf("its runtime %s: %w", blueprint.GetName(), err)
	}
	overrides, _, err := unstructured.NestedSlice(job.Object, "spec", "podTemplateOverrides")
	if err != nil {
		return err
	}
	own := slices.Clone(overrides)
	for _, j := range jobs {
		j, _ := j.(map[string]any)
		name, _, _ := unstructured.NestedString(j, "name")
		have, _, _ := unstructured.NestedSlice(j, "template", "spec", "template", "spec", "tolerations")
		for _, o := range own { // the last one for the job counts
			o, _ := o.(map[string]any)
			targets, _, _ := unstructured.NestedSlice(o, "targetJobs")
			if given, ok, _ := unstructured.NestedSlice(o, "spec", "tolerations"); ok && slices.ContainsFunc(targets, func(t any) bool {
				target, _ := t.(map[string]any)
				return target["name"] == name
			}) {
				have = given
			}
		}
		overrides = append(overrides, map[string]any{
			"targetJobs": []any{map[string]any{"name": name}},
			"spec":       map[string]any{"tolerations": append(slices.Clone(have), map[string]any{"key": simulate.KwokTaint, "operator": string(corev1.TolerationOpExists)})},
		})
	}
	return unstructured.SetNestedSlice(job.Object, overrides, "spec", "podTemplateOverrides")
}

// jobSetName is the label of a JobSet's pods, and exclusiveTopology the annotation of pods that
// require an exclusive topology domain.
const (
	jobSetName        = "jobset.sigs.k8s.io/jobset-name"
	exclusiveTopology = "alpha.jobset.sigs.k8s.io/exclusive-topology"
)

// removeMade removes the objects that controllers created for deleted jobs. The garbage collector
// would too, but it discovers new kinds only every 30 s.
func (r *Run) removeMade(ctx context.Context) error {
	if len(r.Made) == 0 {
		return nil
	}
	policy := metav1.DeletePropagationBackground
	for _, made := range []schema.GroupVersionResource{{Group: "jobset.x-k8s.io", Version: "v1alpha2", Resource: "jobsets"}, batchv1.SchemeGroupVersion.WithResource("jobs")} {
		err := r.Clients.Dynamic.Resource(made).Namespace(Namespace).DeleteCollection(ctx, metav1.DeleteOptions{PropagationPolicy: &policy}, metav1.ListOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return reason.New(reason.ClusterFailed, "remove the %s of namespace %s: %w", made.Resource, Namespace, err)
		}
	}
	return nil
}

// chain lists the controllers that created the pods, by their owners; empty if no controller runs.
func (r *Run) chain(p *Probe, pods []corev1.Pod) []string {
	by := r.makers(p)
	if len(by) == 0 {
		return nil
	}
	owners := map[string]bool{}
	for i := range pods {
		if owner := metav1.GetControllerOf(&pods[i]); owner != nil {
			text := owner.Kind + " " + owner.Name
			if set := pods[i].Labels[jobSetName]; set != "" {
				text += " of JobSet " + set
			}
			owners[text] = true
		}
	}
	return []string{fmt.Sprintf("made by %s: %s", strings.Join(by, ", "), strings.Join(lists.AtMost(slices.Sorted(maps.Keys(owners)), 4), ", "))}
}

// exclusive is an error if pods are placed whose placement JobSet's webhook for pods would have
// changed. The webhook is not called, since the controllers that create pods use the API server
// that calls no webhooks.
func exclusive(p *Probe, pods []corev1.Pod) error {
	for i := range pods {
		if pods[i].Annotations[exclusiveTopology] != "" && pods[i].Labels[jobSetName] != "" {
			return reason.New(reason.Usage, "probe %s: pod %s asks for exclusive placement (annotation %s), which JobSet's webhook for pods arranges, and that one is not called in a cell; leave --controller out, or the annotation",
				p.Name, pods[i].Name, exclusiveTopology)
		}
	}
	return nil
}
