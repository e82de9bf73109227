package everyday

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/refs/problem"
	"github.com/nvidia/aicr-action/internal/observe"
)

// reference is a variable in a value or an argument. What a shell writes in the same way has other
// letters, or stands among other words.
var reference = regexp.MustCompile(`\$?\$\(([A-Z][A-Z0-9_]*)\)`)

// variables warns of references that a kubelet leaves as they are: to a variable that the container does
// not have, or, from another variable, to one that comes later
// (https://kubernetes.io/docs/tasks/inject-data-application/define-interdependent-environment-variables/).
func (f *finder) variables(w *bundle.Workload) {
	for _, c := range slices.Concat(w.PodSpec.InitContainers, w.PodSpec.Containers) {
		for i := range c.Env {
			for _, name := range referred(c.Env[i].Value) {
				if has(c.Env[:i], name) {
					continue
				}
				why := "which comes after it"
				if !has(c.Env[i:], name) {
					if why = "which the container does not have"; elsewhere(&c, name) {
						continue
					}
				}
				f.literal(w, name, fmt.Sprintf("variable %s of container %s has $(%s), %s", c.Env[i].Name, c.Name, name, why))
			}
		}
		for _, arg := range slices.Concat(c.Command, c.Args) {
			if strings.ContainsAny(arg, " \t\n;|&") {
				continue // a script
			}
			for _, name := range referred(arg) {
				if !has(c.Env, name) && !elsewhere(&c, name) {
					f.literal(w, name, fmt.Sprintf("argument %s of container %s has $(%s), a variable that the container does not have", arg, c.Name, name))
				}
			}
		}
	}
}

func (f *finder) literal(w *bundle.Workload, name, text string) {
	f.found = append(f.found, problem.Problem{
		From: observe.WorkloadRef(w.Kind, w.Namespace, w.Name), Component: w.Component, Template: w.Template, Name: "$(" + name + ")",
		Text: text, Then: "its program gets the text as it is",
	})
}

// referred are the variables of a text, without those that are escaped.
func referred(text string) (names []string) {
	for _, m := range reference.FindAllStringSubmatch(text, -1) {
		if !strings.HasPrefix(m[0], "$$") {
			names = append(names, m[1])
		}
	}
	return names
}

func has(env []corev1.EnvVar, name string) bool {
	return slices.ContainsFunc(env, func(e corev1.EnvVar) bool { return e.Name == name })
}

// elsewhere reports whether a variable may come from a ConfigMap, a Secret or a Service.
func elsewhere(c *corev1.Container, name string) bool {
	return len(c.EnvFrom) > 0 || strings.Contains(name, "_SERVICE_") || strings.HasSuffix(name, "_PORT") || strings.Contains(name, "_PORT_")
}
