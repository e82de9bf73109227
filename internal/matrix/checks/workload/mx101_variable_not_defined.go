package workload

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

var variableNotDefined = judge.Check{
	ID: "MX101", Name: "variable-not-defined", Needs: judge.Rendered,
	Title: "A variable in a container's arguments or values is defined before it is used",
	Why: "A kubelet replaces $(NAME) by a variable of the container that comes before it, and leaves the text as it is otherwise " +
		"(https://kubernetes.io/docs/tasks/inject-data-application/define-interdependent-environment-variables/).",
	Fix:  "Define the variable, before the one that uses it; write $$(NAME) for the text itself.",
	Says: "%s of container %s has $(%s), a variable that the container does not have", Then: "its program gets the text as it is",
	Others: map[string]judge.Message{"later": {Says: "%s of container %s has $(%s), which comes after it", Then: "its program gets the text as it is"}},
	Run: func(s *judge.Scope) {
		for _, p := range s.Pods() {
			for _, c := range p.Containers() {
				values(s, p, c)
				arguments(s, p, c)
			}
		}
	},
}

func values(s *judge.Scope, p facts.PodTemplate, c facts.Container) {
	for i, e := range c.Env {
		for _, name := range referred(e.Value) {
			message := ""
			switch {
			case c.HasVariable(name, i):
				continue
			case c.HasVariable(name, len(c.Env)):
				message = "later"
			case elsewhere(c, name):
				continue
			}
			s.ReportAs(message, p.Object, fmt.Sprintf("%s.env[%d].value", c.Path, i), "variable "+e.Name, c.Name, name).SetBy("$(" + name + ")")
		}
	}
}

func arguments(s *judge.Scope, p facts.PodTemplate, c facts.Container) {
	for i, arg := range slices.Concat(c.Command, c.Args) {
		path := fmt.Sprintf("%s.command[%d]", c.Path, i)
		if i >= len(c.Command) {
			path = fmt.Sprintf("%s.args[%d]", c.Path, i-len(c.Command))
		}
		if strings.ContainsAny(arg, " \t\n;|&") {
			continue // a script
		}
		for _, name := range referred(arg) {
			if !c.HasVariable(name, len(c.Env)) && !elsewhere(c, name) {
				s.Report(p.Object, path, "argument "+arg, c.Name, name).SetBy("$(" + name + ")")
			}
		}
	}
}

// reference is a variable in a value or an argument. What a shell writes in the same way has other letters, or stands
// among other words.
var referencePattern = regexp.MustCompile(`\$?\$\(([A-Z][A-Z0-9_]*)\)`)

// referred are the variables of a text, without those that are escaped.
func referred(text string) (names []string) {
	for _, m := range referencePattern.FindAllStringSubmatch(text, -1) {
		if !strings.HasPrefix(m[0], "$$") {
			names = append(names, m[1])
		}
	}
	return names
}

// elsewhere reports whether a variable may come from a ConfigMap, a Secret or a Service.
func elsewhere(c facts.Container, name string) bool {
	return len(c.EnvFrom) > 0 || strings.Contains(name, "_SERVICE_") || strings.HasSuffix(name, "_PORT") || strings.Contains(name, "_PORT_")
}
