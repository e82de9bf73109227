package facts

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// ReadyFor is how long the pods of a workload must be ready before it counts as available.
func ReadyFor(o *unstructured.Unstructured) time.Duration {
	const mostSeconds = 24 * 60 * 60 // what a sum of is still a duration, whatever a chart renders
	seconds, _, _ := unstructured.NestedInt64(o.Object, "spec", "minReadySeconds")
	if group := o.GroupVersionKind().Group; group != "apps" && group != "" {
		return 0
	}
	return time.Duration(min(seconds, mostSeconds)) * time.Second
}

// MinReady is the time that the minReadySeconds of workloads take, at most: releases wait for each
// other, and the workloads of one do not.
func MinReady(e *bundle.Expectation) time.Duration {
	longest := map[string]time.Duration{}
	for i := range e.Objects {
		o := &e.Objects[i]
		longest[o.Release] = max(longest[o.Release], ReadyFor(o.Object))
	}
	var sum time.Duration
	for _, d := range longest {
		sum += d
	}
	return sum
}
