package workload

import (
	"slices"
	"strconv"
	"strings"

	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

var preStop = judge.Check{
	ID: "MX161", Name: "pre-stop-longer-than-grace", Needs: judge.Rendered,
	Title: "A preStop hook ends before the pod's grace period does",
	Why:   "The grace period begins before the hook (https://kubernetes.io/docs/concepts/containers/container-lifecycle-hooks/#hook-handler-execution), 30 seconds by default. A hook that only sleeps for longer leaves the program no time to end. The API server compares a sleep action alone.",
	Fix:   "Raise terminationGracePeriodSeconds, or sleep for less.",
	Says:  "the preStop hook of container %s sleeps for %d s, and the pod has %d s to end (terminationGracePeriodSeconds)", Then: "its program is killed before it is asked to end",
	Run: func(s *judge.Scope) {
		for _, p := range s.Pods() {
			grace := int64(30)
			if own := p.Template.Spec.TerminationGracePeriodSeconds; own != nil {
				grace = *own
			}
			for _, c := range p.Containers() {
				if c.Lifecycle == nil || c.Lifecycle.PreStop == nil || c.Lifecycle.PreStop.Exec == nil {
					continue
				}
				command := strings.Fields(strings.Join(c.Lifecycle.PreStop.Exec.Command, " "))
				if len(command) > 2 && slices.Contains([]string{"sh", "/bin/sh", "bash", "/bin/bash"}, command[0]) && command[1] == "-c" {
					command = command[2:]
				}
				if len(command) != 2 || command[0] != "sleep" && command[0] != "/bin/sleep" {
					continue
				}
				if seconds, err := strconv.ParseInt(strings.TrimSuffix(command[1], "s"), 10, 64); err == nil && seconds >= grace {
					s.Report(p.Object, c.Path+".lifecycle.preStop", c.Name, seconds, grace)
				}
			}
		}
	},
}
