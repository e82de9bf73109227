package operator

import (
	"slices"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/podspec"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

// runs reports whether a workload's first container has an image of a repository, e.g. jobset/jobset.
func runs(s *judge.Scope, repository string) bool {
	return slices.ContainsFunc(s.Expectation.Workloads, func(w bundle.Workload) bool {
		return len(w.PodSpec.Containers) > 0 && podspec.OfRepository(w.PodSpec.Containers[0].Image, repository)
	})
}
