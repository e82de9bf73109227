package facts

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/manifestline"
	"github.com/nvidia/aicr-action/internal/observe"
)

// Schedulers returns the names of the schedulers besides Kubernetes' own that pods of the recipe
// are for and that the recipe itself runs, sorted. A platform whose pods are simulated has to
// simulate them, except those whose images run, according to runs.
func Schedulers(e *bundle.Expectation, runs func(*corev1.Container) bool) []string {
	names := map[string]bool{}
	for i := range e.Workloads {
		if name := observe.OtherScheduler(&e.Workloads[i].PodSpec); name != "" && RunsScheduler(e, name) != "" && !RunsForReal(e, name, runs) {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// OwnSchedulers returns the names of the schedulers that pods of the recipe are for and that run for
// real, as pods of the recipe, sorted.
func OwnSchedulers(e *bundle.Expectation, runs func(*corev1.Container) bool) []string {
	names := map[string]bool{}
	for i := range e.Workloads {
		if name := observe.OtherScheduler(&e.Workloads[i].PodSpec); name != "" && RunsForReal(e, name, runs) {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// RunsScheduler returns what seems to run a scheduler of that name; "" if nothing does. A mere
// reference does not count: a resource or a pod with it as schedulerName, or an operator with a
// flag for its jobs' scheduler.
func RunsScheduler(e *bundle.Expectation, name string) string {
	for i := range e.Objects {
		if o := &e.Objects[i]; configuresScheduler(o.Object.GroupVersionKind().GroupKind()) && slices.Contains(Leaves(o.Object.Object["spec"]), name) {
			return fmt.Sprintf("%s (%s)", o.Ref(), o.Component)
		}
	}
	for i := range e.Workloads {
		if w := &e.Workloads[i]; workloadRunsScheduler(e, w, name) {
			return fmt.Sprintf("%s (%s)", observe.WorkloadRef(w.Kind, w.Namespace, w.Name), w.Component)
		}
	}
	return ""
}

// RunsForReal reports whether a workload that seems to run the scheduler of that name has an image
// that runs.
func RunsForReal(e *bundle.Expectation, name string, runs func(*corev1.Container) bool) bool {
	return slices.ContainsFunc(e.Workloads, func(w bundle.Workload) bool {
		return workloadRunsScheduler(e, &w, name) && slices.ContainsFunc(w.PodSpec.Containers, func(c corev1.Container) bool { return runs(&c) })
	})
}

// workloadRunsScheduler reports whether a workload seems to run the scheduler of that name: it or its
// release has that name, or it is a scheduler that its arguments, a configuration that it mounts, or its
// chart call so.
func workloadRunsScheduler(e *bundle.Expectation, w *bundle.Workload, name string) bool {
	spec := &w.PodSpec
	switch {
	case spec.SchedulerName == name:
		return false
	case w.Name == name, w.Release == name:
		return true
	}
	return isScheduler(w.Name, spec) && (ArgumentsName(spec, name) || w.Chart != nil && w.Chart.Name() == name || configured(e, w.Namespace, spec, name))
}

// configured reports whether a ConfigMap that pods use configures a kube-scheduler with that name.
func configured(e *bundle.Expectation, namespace string, spec *corev1.PodSpec, name string) bool {
	all := NeedsOf(spec)
	for i := range e.Objects {
		o := e.Objects[i].Object
		if o.GetNamespace() != namespace || !slices.ContainsFunc(all, func(n Need) bool {
			return n.Kind == ConfigMap && o.GetKind() == n.Kind && o.GetName() == n.Name
		}) {
			continue
		}
		data, _, _ := unstructured.NestedStringMap(o.Object, "data")
		for _, text := range data {
			if strings.Contains(text, "KubeSchedulerConfiguration") && manifestline.Mentions(text, name) {
				return true
			}
		}
	}
	return false
}

// configuresScheduler reports whether an operator runs a scheduler for each resource of the kind.
// The list is closed: in other kinds the name is that of the scheduler for their pods.
func configuresScheduler(kind schema.GroupKind) bool {
	return kind.Group == "kai.scheduler" && (kind.Kind == "Config" || kind.Kind == "SchedulingShard")
}

// isScheduler reports whether a workload calls itself a scheduler, in its name or in that of a
// container or an image.
func isScheduler(workload string, spec *corev1.PodSpec) bool {
	texts := []string{workload}
	for i := range spec.Containers {
		texts = append(texts, spec.Containers[i].Name, spec.Containers[i].Image)
	}
	return slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(t, "scheduler") })
}
