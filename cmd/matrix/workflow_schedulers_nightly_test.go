//go:build nightly

package main

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/kwok"
)

func workflowFile(name string) string { return filepath.Join("testdata", "workflows", name) }

// TestNightlySecondSchedulers runs a second scheduler, the stack's own kube-scheduler under another
// name: it places pods; one that does not start, and one that is killed, end the run with 67. Gangs
// that the default scheduler tears fail a workflow that forbids it.
func TestNightlySecondSchedulers(t *testing.T) {
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
		want(t, 63, "whole-gangs.yaml:3: halfPlacedAtMost 5s: ", " jobs of two-gangs held nodes for some of their pods while others waited: gangs/gang")
}

// TestNightlyGangSchedulers: the same gangs are placed as a whole by scheduler-plugins' scheduler,
// and admitted as a whole by Kueue.
func TestNightlyGangSchedulers(t *testing.T) {
	t.Parallel()
	paths := needSchedulers(t, stack.GroupCoscheduling, stack.GroupKueue)
	p := newProgram(t, buildProgram(t), paths)
	for file, note := range map[string]string{
		"../../workflows/gangs/coscheduling.yaml": "places the pods of scheduler-plugins-scheduler", workflowFile("kueue-gangs.yaml"): "admits Jobs, and the default scheduler places their pods",
	} {
		p.run(t, 5*time.Minute, nil, "workflow", "run", file, workflowFile("two-gangs.yaml")).want(t, 0, "two-gangs", "3 of ", "1 of 2", note)
	}
}

// TestNightlyControllers: a JobSet and a TrainJob are reconciled by the real programs: their pods
// get nodes with GPUs, end, and the objects are complete. An object that the real webhooks reject
// fails with file, line, task and their message, as does a pod that fits on no node. A controller
// that is killed ends the run with 67. Kueue does not admit a JobSet that exceeds its queue.
func TestNightlyControllers(t *testing.T) {
	t.Parallel()
	paths := needSchedulers(t, stack.GroupJobSet, stack.GroupTrainer, stack.GroupKueue)
	p := newProgram(t, buildProgram(t), paths)
	p.run(t, 5*time.Minute, nil, "workflow", "run", "../../workflows/training").
		want(t, 0, "jobset     passed   5 of 5   5 of 5", "trainjob   passed   8 of 8   4 of 4", "makes Jobs of JobSets", "makes JobSets of TrainJobs")
	p.run(t, 5*time.Minute, nil, "workflow", "run", workflowFile("bad-trainjob.yaml"), "--controller", "jobset").
		want(t, 63, "bad-trainjob.yaml:10: task submit (SubmitObj): create TrainJob default/bad: admission webhook", `"no-such-runtime" not found`)
	p.run(t, 5*time.Minute, nil, "workflow", "run", workflowFile("big-jobset.yaml")).
		want(t, 63, "big-jobset.yaml:24: task placed (CheckPod)", "big-worker-0-0-", "Insufficient nvidia.com/gpu")
	p.run(t, 5*time.Minute, nil, "workflow", "run", workflowFile("bad-jobset.yaml")).
		want(t, 63, "bad-jobset.yaml:10: task submit (SubmitObj): create JobSet default/bad: admission webhook", "invalid replicatedJob name 'leader'")
	p.run(t, 5*time.Minute, nil, "workflow", "run", workflowFile("kueue-gangs.yaml"), workflowFile("kueue-jobsets.yaml")).
		want(t, 0, "kueue-jobsets   passed   5 of 5   3 of 3", "1 of 2", "admits Jobs, JobSets, and the default scheduler places their pods")

	killed := p.start(t, nil, "workflow", "run", workflowFile("second-scheduler.yaml"), "--play-scheduler", "volcano", "--controller", "jobset")
	killed.until(t, "second-scheduler: forever (Sleep)")
	if err := syscall.Kill(p.find(t, "schedulers/jobset/kubeconfig.yaml"), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	killed.wait(t, time.Minute)
	killed.want(t, 67, "controller jobset ended unexpectedly (signal: killed)")
}

// needSchedulers is needStack for tests of the second schedulers and the controllers, which
// `make test-nightly` compiles before.
func needSchedulers(t *testing.T, groups ...stack.Group) host.Paths {
	t.Helper()
	paths, _ := needStack(t)
	built, err := stack.NewSchedulers(paths, kwok.SchedulersMod, kwok.SchedulersSum)
	if err != nil {
		t.Fatal(err)
	}
	if len(built.Missing(groups...)) > 0 {
		t.Fatalf("%v are not in the cache: compile them with `matrix stack build --schedulers`", groups)
	}
	return paths
}

// find is the one process of these runs whose environment has the text.
func (p program) find(t *testing.T, environ string) int {
	t.Helper()
	var found []int
	for _, pid := range p.processes(t) {
		if strings.Contains(procFile(pid, "environ"), environ+"\x00") {
			found = append(found, pid)
		}
	}
	if len(found) != 1 {
		t.Fatalf("processes with %s: got %v, want one", environ, found)
	}
	return found[0]
}
