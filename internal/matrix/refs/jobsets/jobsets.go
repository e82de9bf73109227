// Package jobsets finds JobSets that JobSet's webhook refuses by what they say alone. It must not know what a job does.
package jobsets

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/podspec"
	"github.com/nvidia/aicr-action/internal/matrix/refs/problem"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// set is what of a JobSet is checked.
type set struct {
	ReplicatedJobs []job    `json:"replicatedJobs"`
	SuccessPolicy  targets  `json:"successPolicy"`
	FailurePolicy  failures `json:"failurePolicy"`
	Coordinator    *struct {
		ReplicatedJob string `json:"replicatedJob"`
	} `json:"coordinator"`
}

type job struct {
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

type failures struct {
	Rules []targets `json:"rules"`
}

// Find returns the JobSets that are refused. They are faults where the bundle has JobSet's controller.
func Find(e *bundle.Expectation) []problem.Problem {
	controlled := slices.ContainsFunc(e.Workloads, func(w bundle.Workload) bool {
		return len(w.PodSpec.Containers) > 0 && podspec.OfRepository(w.PodSpec.Containers[0].Image, "jobset/jobset")
	})
	var found []problem.Problem
	for i := range e.Objects {
		o := &e.Objects[i]
		if gvk := o.Object.GroupVersionKind(); gvk.Group != "jobset.x-k8s.io" || gvk.Kind != "JobSet" {
			continue
		}
		spec, _, _ := unstructured.NestedMap(o.Object.Object, "spec")
		var s set
		if runtime.DefaultUnstructuredConverter.FromUnstructured(spec, &s) != nil {
			continue // the API server says what is wrong with it
		}
		name, why := s.refused(o.Object.GetName())
		if why == "" {
			continue
		}
		p := problem.Of(o)
		p.Name, p.Text, p.Then, p.Cause = name, why, "JobSet's webhook refuses it", "jobset "+o.Ref().String()
		if controlled {
			p.Reason = reason.DeployFailed
		}
		found = append(found, p)
	}
	return found
}

// refused is why the webhook refuses a JobSet of this name, and the text that the recipe sets.
func (s *set) refused(name string) (at, why string) {
	var names []string
	for i := range s.ReplicatedJobs {
		j := &s.ReplicatedJobs[i]
		names = append(names, j.Name)
		for _, d := range j.DependsOn {
			if i == 0 || !slices.Contains(names, d.Name) {
				return d.Name, fmt.Sprintf("has the job %s wait for %s (dependsOn), which does not come before it", j.Name, d.Name)
			}
		}
		last := int64(0)
		if j.Replicas != nil {
			last = max(*j.Replicas-1, 0)
		}
		made := fmt.Sprintf("%s-%s-%d", name, j.Name, last)
		if c := j.Template.Spec.Completions; c != nil && j.Template.Spec.CompletionMode == "Indexed" {
			made += fmt.Sprintf("-%d-abcde", max(*c-1, 0))
		}
		if len(made) > validation.DNS1035LabelMaxLength {
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
