package refs

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/manifestline"
	"github.com/nvidia/aicr-action/internal/matrix/refs/needs"
	"github.com/nvidia/aicr-action/internal/matrix/refs/problem"
	"github.com/nvidia/aicr-action/internal/matrix/refs/products"
	"github.com/nvidia/aicr-action/internal/matrix/refs/texts"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result"
)

// maker is what creates an object at run time, on a cluster whose operators and Jobs do their work.
type maker struct {
	by string
	// keys are those that it is known to create; nil if that is not known.
	keys []string
	// known: it is no guess.
	known bool
}

// without returns the keys that the maker is known not to create.
func (m *maker) without(keys []string) []string {
	if m.keys == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return slices.Contains(m.keys, k) })
}

// maker returns what will create an object at run time; nil if nothing in the bundle seems to. A
// custom resource of package products is known to. Others only seem to: a Job or an operator whose
// arguments name the object, a custom resource that names it, or a Job that may create such
// objects. Reports call these "not verified", never existing.
func (c *checker) maker(kind, namespace, name string, from result.Ref) *maker {
	var guess *maker
	for _, m := range c.makers(kind, namespace, name, from) {
		if m.known {
			return &m
		}
		if guess == nil {
			guess = &m
		}
	}
	return guess
}

// makers iterates over all that will, or seem to, create an object, each with the object of the bundle that it is or is in.
func (c *checker) makers(kind, namespace, name string, from result.Ref) iter.Seq2[*bundle.Object, maker] {
	return func(yield func(*bundle.Object, maker) bool) {
		for i := range c.expectation.Objects {
			o := &c.expectation.Objects[i]
			if ns := o.Object.GetNamespace(); ns != "" && ns != namespace && namespace != "" {
				continue
			}
			keys, known := products.Makes(o.Object, kind, name)
			if !known && (o.Ref() == from || !c.seemsToMake(o, kind, name)) {
				continue
			}
			if !yield(o, maker{by: fmt.Sprintf("%s (%s)", o.Ref(), o.Component), keys: keys, known: known}) {
				return
			}
		}
		for _, m := range texts.Find(c.expectation, kind, name) {
			in := cmp.Or(m.Object.GetNamespace(), m.By.Object.GetNamespace())
			if (namespace == "" || namespace == in) && !yield(m.By, maker{by: fmt.Sprintf("the text of %s (%s)", m.By.Ref(), m.By.Component)}) {
				return
			}
		}
	}
}

// makes reports whether an object is a custom resource whose operator makes a Secret.
func makes(o *bundle.Object, secret string) bool {
	_, ok := products.Makes(o.Object, needs.Secret, secret)
	return ok
}

func (c *checker) seemsToMake(o *bundle.Object, kind, name string) bool {
	group := o.Object.GroupVersionKind().Group
	if spec := podSpecOf(o); spec != nil {
		return argumentsName(spec, name) || o.Object.GetKind() == "Job" && c.mayCreate(o, spec, kind)
	}
	// A monitor names Secrets that it reads.
	if !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io") || group == "monitoring.coreos.com" {
		return false
	}
	return slices.Contains(leaves(o.Object.Object["spec"]), name)
}

// podSpecOf returns the pod spec of a workload; nil for another object.
func podSpecOf(o *bundle.Object) *corev1.PodSpec {
	template := problem.Template(o)
	if template == nil {
		return nil
	}
	return &template.Spec
}

func argumentsName(spec *corev1.PodSpec, name string) bool {
	for _, list := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range list {
			texts := slices.Concat(list[i].Command, list[i].Args)
			for _, e := range list[i].Env {
				texts = append(texts, e.Value)
			}
			if slices.ContainsFunc(texts, func(t string) bool { return manifestline.Mentions(t, name) }) {
				return true
			}
		}
	}
	return false
}

// mayCreate reports whether the bundle lets a Job's service account create objects of the kind.
func (c *checker) mayCreate(job *bundle.Object, spec *corev1.PodSpec, kind string) bool {
	return texts.May(c.expectation, job.Object.GetNamespace(), spec.ServiceAccountName, "", strings.ToLower(kind)+"s", "create", "update")
}

// Schedulers returns the names of the schedulers besides Kubernetes' own that pods of the recipe
// are for and that the recipe itself runs, sorted. A platform whose pods are simulated has to
// simulate them, except those whose images run, according to runs.
func Schedulers(e *bundle.Expectation, runs func(*corev1.Container) bool) []string {
	names := map[string]bool{}
	for i := range e.Workloads {
		if name := observe.OtherScheduler(&e.Workloads[i].PodSpec); name != "" && runsScheduler(e, name) != "" && !RunsForReal(e, name, runs) {
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

// RunsScheduler reports whether something of the bundle seems to run a scheduler of that name.
func RunsScheduler(e *bundle.Expectation, name string) bool { return runsScheduler(e, name) != "" }

// runsScheduler returns what seems to run a scheduler of that name; "" if nothing does. A mere
// reference does not count: a resource or a pod with it as schedulerName, or an operator with a
// flag for its jobs' scheduler.
func runsScheduler(e *bundle.Expectation, name string) string {
	for i := range e.Objects {
		if o := &e.Objects[i]; configuresScheduler(o.Object.GroupVersionKind().GroupKind()) && slices.Contains(leaves(o.Object.Object["spec"]), name) {
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
	return isScheduler(w.Name, spec) && (argumentsName(spec, name) || w.Chart != nil && w.Chart.Name() == name || configured(e, w.Namespace, spec, name))
}

// configured reports whether a ConfigMap that pods use configures a kube-scheduler with that name.
func configured(e *bundle.Expectation, namespace string, spec *corev1.PodSpec, name string) bool {
	all := needs.Of(spec)
	for i := range e.Objects {
		o := e.Objects[i].Object
		if o.GetNamespace() != namespace || !slices.ContainsFunc(all, func(n needs.Need) bool {
			return n.Kind == needs.ConfigMap && o.GetKind() == n.Kind && o.GetName() == n.Name
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
