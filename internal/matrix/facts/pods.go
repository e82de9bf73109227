package facts

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// PodTemplate is the template of the pods of one object that was rendered or that an operator makes.
type PodTemplate struct {
	Object   *bundle.Object
	Template *corev1.PodTemplateSpec
}

// Path is the field of the pod spec, e.g. spec.template.spec.
func (p PodTemplate) Path() string { return PodPath(p.Object.Object.GetKind()) }

// PodPath is the field of the pod spec in an object of a kind.
func PodPath(kind string) string {
	switch kind {
	case "Pod":
		return "spec"
	case "CronJob":
		return "spec.jobTemplate.spec.template.spec"
	}
	return "spec.template.spec"
}

// Container is one container of a template, with its field.
type Container struct {
	*corev1.Container
	// Path is e.g. spec.template.spec.initContainers[0].
	Path string
	// Init: it is one of the init containers.
	Init bool
}

// Containers lists the init containers and then the others.
func (p PodTemplate) Containers() (all []Container) {
	spec := &p.Template.Spec
	for i := range spec.InitContainers {
		all = append(all, Container{&spec.InitContainers[i], fmt.Sprintf("%s.initContainers[%d]", p.Path(), i), true})
	}
	for i := range spec.Containers {
		all = append(all, Container{&spec.Containers[i], fmt.Sprintf("%s.containers[%d]", p.Path(), i), false})
	}
	return all
}

// HasVariable reports whether a container sets a variable by its name, in the first n entries of env.
func (c Container) HasVariable(name string, n int) bool {
	return slices.ContainsFunc(c.Env[:min(n, len(c.Env))], func(e corev1.EnvVar) bool { return e.Name == name })
}
