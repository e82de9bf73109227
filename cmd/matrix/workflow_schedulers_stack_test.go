package main

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/kwok"
)

func workflowFile(name string) string { return filepath.Join("testdata", "workflows", name) }

// TestSecondSchedulers runs a second scheduler, the stack's own kube-scheduler under another name: it places pods; one that does not start, and one that
// is killed, end the run with 67. Gangs that the default scheduler tears fail a workflow that forbids it.
func TestSecondSchedulers(t *testing.T) {
	t.Parallel()
	paths, built := needStack(t)
	p := newProgram(t, buildProgram(t), paths)
	program := "volcano=" + built.Bin("kube-scheduler")

	p.run(t, 5*time.Minute, nil, "workflow", "run", workflowFile("second-scheduler.yaml"), "--scheduler-program", program, "--scheduler-config", workflowFile("no-such-plugin.conf")).
		want(t, 67, "✗ Starting scheduler volcano", "NoSuchPlugin", "SCHEDULER_FAILED")

	running := p.start(t, nil, "workflow", "run", workflowFile("second-scheduler.yaml"), "--scheduler-program", program)
	running.until(t, "second-scheduler: forever (Sleep)") // its pod has a node
	if err := syscall.Kill(p.find(t, "schedulers/volcano/kubeconfig.yaml"), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	running.wait(t, time.Minute)
	running.want(t, 67, "scheduler volcano ended unexpectedly (signal: killed)")

	p.run(t, 5*time.Minute, nil, "workflow", "run", workflowFile("whole-gangs.yaml"), workflowFile("two-gangs.yaml")).
		want(t, 63, "whole-gangs.yaml:3: halfPlacedAtMost 5s: 1 jobs of two-gangs held nodes for some of their pods while others waited: gangs/gang")
}

// TestGangSchedulers: the same gangs are placed as a whole by scheduler-plugins' scheduler, and admitted as a whole by Kueue, where these are compiled.
func TestGangSchedulers(t *testing.T) {
	t.Parallel()
	paths, _ := needStack(t)
	built, err := stack.NewSchedulers(paths, kwok.SchedulersMod, kwok.SchedulersSum)
	if err != nil {
		t.Fatal(err)
	}
	if len(built.Missing(stack.SchedulerGroups()...)) > 0 {
		t.Skip("the schedulers are not in the cache: compiling them takes minutes; `matrix stack build --schedulers` does")
	}
	p := newProgram(t, buildProgram(t), paths)
	for file, note := range map[string]string{
		"../../workflows/gangs/coscheduling.yaml": "places the pods of scheduler-plugins-scheduler", workflowFile("kueue-gangs.yaml"): "admits Jobs, and the default scheduler places their pods",
	} {
		p.run(t, 5*time.Minute, nil, "workflow", "run", file, workflowFile("two-gangs.yaml")).want(t, 0, "two-gangs", "3 of ", "1 of 2", note)
	}
}
