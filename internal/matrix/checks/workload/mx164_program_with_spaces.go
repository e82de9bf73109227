package workload

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

const spacedSays = "has the program %q in %s, and no file is called so"

var programWithSpaces = judge.Check{
	ID: "MX164", Name: "program-with-arguments", Needs: judge.Rendered, Gives: reason.WorkloadFailed,
	Title: "The first entry of a command is the program alone",
	Why: "No shell takes a command apart: its first entry is the name of a file, with all spaces in it " +
		"(https://kubernetes.io/docs/tasks/inject-data-application/define-command-argument-container/). A simulated pod runs nothing.",
	Fix:  "Write each argument as an entry of its own, or run a shell: [sh, -c, ...].",
	Says: spacedSays, Then: "the container ends with no such file or directory: each argument is an entry of its own",
	Others: map[string]judge.Message{
		"probe": {Says: spacedSays, Then: "the probe always fails: each argument is an entry of its own"},
		"stop":  {Says: spacedSays, Then: "the hook fails, and the container is stopped at once: each argument is an entry of its own"},
	},
	Run: func(s *judge.Scope) {
		for _, p := range s.Pods() {
			for _, c := range p.Containers() {
				commands(c, func(kind, field string, command []string) {
					// Windows has spaces in paths; a flag, or a program that is found by PATH, tells that it is no path.
					if len(command) == 0 || strings.Contains(command[0], `\`) {
						return
					}
					program, rest, spaced := strings.Cut(strings.TrimSpace(command[0]), " ")
					if spaced && (strings.HasPrefix(strings.TrimSpace(rest), "-") || strings.Contains(rest, " -") || !strings.Contains(program, "/")) {
						s.ReportAs(kind, p.Object, c.Path+"."+field+"[0]", command[0], c.Path+"."+field).OneOfTemplate()
					}
				})
			}
		}
	},
}

// commands gives what a container runs: its command, and those of its probes, which are of the kind probe, and its hooks.
func commands(c facts.Container, see func(kind, field string, command []string)) {
	see("", "command", c.Command)
	for i, probe := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
		if probe != nil && probe.Exec != nil {
			see("probe", []string{"livenessProbe", "readinessProbe", "startupProbe"}[i]+".exec.command", probe.Exec.Command)
		}
	}
	if c.Lifecycle == nil {
		return
	}
	if start := c.Lifecycle.PostStart; start != nil && start.Exec != nil {
		see("", "lifecycle.postStart.exec.command", start.Exec.Command)
	}
	if stop := c.Lifecycle.PreStop; stop != nil && stop.Exec != nil {
		see("stop", "lifecycle.preStop.exec.command", stop.Exec.Command)
	}
}
