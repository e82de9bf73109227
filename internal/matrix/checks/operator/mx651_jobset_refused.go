package operator

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

const jobSetGroup = "jobset.x-k8s.io"

var jobSetRefused = judge.Check{
	ID: "MX651", Name: "jobset-refused", Needs: judge.Rendered, Kinds: judge.KindsOf(jobSetGroup, "JobSet"), Gives: reason.DeployFailed,
	Title: "JobSet's webhook takes the JobSet",
	Why: "JobSet's webhook refuses a JobSet whose jobs wait for one that does not come before them, whose policies or coordinator name a job that it does not have, or whose Jobs and pods would get names that are too long " +
		"(https://github.com/kubernetes-sigs/jobset/blob/main/pkg/webhooks/jobset_webhook.go). A warning where the bundle has no JobSet controller.",
	Fix:  "Name jobs of the JobSet, in their order, and keep the names short.",
	Says: "%s", Then: "JobSet's webhook refuses it",
	Run: func(s *judge.Scope) {
		controlled := runs(s, "jobset/jobset")
		for _, o := range s.OfKind(judge.KindsOf(jobSetGroup, "JobSet")...) {
			spec, _, _ := unstructured.NestedMap(o.Object.Object, "spec")
			var set jobSet
			if runtime.DefaultUnstructuredConverter.FromUnstructured(spec, &set) != nil {
				continue // the API server says what is wrong with it
			}
			name, why := set.refused(o.Object.GetName())
			if why == "" {
				continue
			}
			if found := s.Report(o, "spec", why).SetBy(name).OneCause(o.Ref().String()); !controlled {
				found.Warning()
			}
		}
	},
}

// jobSet is what of a JobSet is checked.
type jobSet struct {
	ReplicatedJobs []replicatedJob `json:"replicatedJobs"`
	SuccessPolicy  targets         `json:"successPolicy"`
	FailurePolicy  struct {
		Rules []targets `json:"rules"`
	} `json:"failurePolicy"`
	Coordinator *struct {
		ReplicatedJob string `json:"replicatedJob"`
	} `json:"coordinator"`
}

type replicatedJob struct {
	Name      string `json:"name"`
	Replicas  *int64 `json:"replicas"`
	DependsOn []struct {
		Name string `json:"name"`
	} `json:"dependsOn"`
	Template struct {
		Spec struct {
			CompletionMode string `json:"completionMode"`
			Completions    *int64 `json:"completions"`
		} `json:"spec"`
	} `json:"template"`
}

type targets struct {
	TargetReplicatedJobs []string `json:"targetReplicatedJobs"`
}

// refused is why the webhook refuses a JobSet of this name, and the text that the recipe sets.
func (s *jobSet) refused(name string) (at, why string) {
	var names []string
	for i := range s.ReplicatedJobs {
		j := &s.ReplicatedJobs[i]
		names = append(names, j.Name)
		for _, d := range j.DependsOn {
			if i == 0 || !slices.Contains(names, d.Name) {
				return d.Name, fmt.Sprintf("has the job %s wait for %s (dependsOn), which does not come before it", j.Name, d.Name)
			}
		}
		if made := j.longest(name); len(made) > validation.DNS1035LabelMaxLength {
			return j.Name, fmt.Sprintf("gives its job %s the name %s, which has %d characters, and %d are the most", j.Name, made, len(made), validation.DNS1035LabelMaxLength)
		}
	}
	if s.Coordinator != nil && !slices.Contains(names, s.Coordinator.ReplicatedJob) {
		return s.Coordinator.ReplicatedJob, fmt.Sprintf("is coordinated by the job %s, which it does not have", s.Coordinator.ReplicatedJob)
	}
	for _, t := range append([]targets{s.SuccessPolicy}, s.FailurePolicy.Rules...) {
		for _, of := range t.TargetReplicatedJobs {
			if !slices.Contains(names, of) {
				return of, fmt.Sprintf("has a policy for the job %s, which it does not have", of)
			}
		}
	}
	return "", ""
}

// longest is the longest name that the controller gives to a Job or pod of a job.
func (j *replicatedJob) longest(set string) string {
	last := int64(0)
	if j.Replicas != nil {
		last = max(*j.Replicas-1, 0)
	}
	made := fmt.Sprintf("%s-%s-%d", set, j.Name, last)
	if c := j.Template.Spec.Completions; c != nil && j.Template.Spec.CompletionMode == "Indexed" {
		made += fmt.Sprintf("-%d-abcde", max(*c-1, 0))
	}
	return made
}
