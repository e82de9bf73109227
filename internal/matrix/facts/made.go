package facts

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/manifestline"
	"github.com/nvidia/aicr-action/internal/matrix/problem"
	"github.com/nvidia/aicr-action/internal/result"
)

// Maker is what creates an object at run time, on a cluster whose operators and Jobs do their work.
type Maker struct {
	// By is the object, with its component.
	By string
	// Keys are those that it is known to create; nil if that is not known.
	Keys []string
	// Known: it is no guess.
	Known bool
}

// Without returns the keys that the maker is known not to create.
func (m *Maker) Without(keys []string) []string {
	if m.Keys == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return slices.Contains(m.Keys, k) })
}

// MadeAtRunTime returns what will create an object at run time; nil if nothing in the bundle seems to. A
// custom resource of package products is known to. Others only seem to: a Job or an operator whose
// arguments name the object, a custom resource that names it, a Job that may create such
// objects, or a workload with a role for one of that very name. Reports call these "not verified", never existing.
func (x *Index) MadeAtRunTime(kind, namespace, name string, from result.Ref) *Maker {
	var guess *Maker
	for _, m := range x.Makers(kind, namespace, name, from) {
		if m.Known {
			return &m
		}
		if guess == nil {
			guess = &m
		}
	}
	return guess
}

// Makers iterates over all that will, or seem to, create an object, each with the object of the bundle that it is or is in.
func (x *Index) Makers(kind, namespace, name string, from result.Ref) iter.Seq2[*bundle.Object, Maker] {
	return func(yield func(*bundle.Object, Maker) bool) {
		for i := range x.Expectation.Objects {
			o := &x.Expectation.Objects[i]
			if ns := o.Object.GetNamespace(); ns != "" && ns != namespace && namespace != "" {
				continue
			}
			keys, known := ProductMakes(o.Object, kind, name)
			own := o.Ref() == from
			if !known && (own || !x.SeemsToMake(o, kind, name)) && !x.entitled(o, kind, name, own) {
				continue
			}
			if !yield(o, Maker{By: fmt.Sprintf("%s (%s)", o.Ref(), o.Component), Keys: keys, Known: known}) {
				return
			}
		}
		for _, m := range FindManifests(x.Expectation, kind, name) {
			in := cmp.Or(m.Object.GetNamespace(), m.By.Object.GetNamespace())
			if (namespace == "" || namespace == in) && !yield(m.By, Maker{By: fmt.Sprintf("the text of %s (%s)", m.By.Ref(), m.By.Component)}) {
				return
			}
		}
	}
}

// MakesSecret reports whether an object is a custom resource whose operator makes a Secret.
func MakesSecret(o *bundle.Object, secret string) bool {
	_, ok := ProductMakes(o.Object, NeedSecret, secret)
	return ok
}

// SeemsToMake reports whether an object seems to make another at run time: a workload whose arguments name it, a
// Job that may, a custom resource that names it.
func (x *Index) SeemsToMake(o *bundle.Object, kind, name string) bool {
	group := o.Object.GroupVersionKind().Group
	if spec := PodSpec(o); spec != nil {
		return ArgumentsName(spec, name) || o.Object.GetKind() == "Job" && x.mayCreate(o, spec, kind)
	}
	// A monitor names Secrets that it reads.
	if !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io") || group == "monitoring.coreos.com" {
		return false
	}
	return slices.Contains(Leaves(o.Object.Object["spec"]), name)
}

// PodSpec returns the pod spec of a workload; nil for another object.
func PodSpec(o *bundle.Object) *corev1.PodSpec {
	template := problem.Template(o)
	if template == nil {
		return nil
	}
	return &template.Spec
}

// ArgumentsName reports whether a command, an argument or a variable of a container mentions a name.
func ArgumentsName(spec *corev1.PodSpec, name string) bool {
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
func (x *Index) mayCreate(job *bundle.Object, spec *corev1.PodSpec, kind string) bool {
	return TextMay(x.Expectation, job.Object.GetNamespace(), spec.ServiceAccountName, "", strings.ToLower(kind)+"s", "create", "update")
}

// entitled reports whether the bundle lets a workload's service account create objects of the kind, and
// names this one in a role (resourceNames). Its own pods may need the object too, if an init container
// makes it for the others: then it is no volume, which a kubelet mounts first, and not the first's variable.
func (x *Index) entitled(o *bundle.Object, kind, name string, own bool) bool {
	spec := PodSpec(o)
	if spec == nil {
		return false
	}
	names, creates := false, false
	for _, rule := range rulesOf(x.Expectation, o.Object.GetNamespace(), spec.ServiceAccountName) {
		if problem.Covers(rule.Resources, strings.ToLower(kind)+"s") {
			names = names || slices.Contains(rule.ResourceNames, name)
			creates = creates || len(rule.ResourceNames) == 0 && problem.Covers(rule.Verbs, "create")
		}
	}
	if !names || !creates || !own {
		return names && creates
	}
	if len(spec.InitContainers) == 0 {
		return false
	}
	first := needsOf(spec, spec.InitContainers[:1])
	return !slices.ContainsFunc(first, func(n Need) bool { return n.Kind == kind && n.Name == name })
}
