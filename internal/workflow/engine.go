package workflow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/restmapper"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/observe/placement"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/wait"
	"github.com/nvidia/aicr-action/internal/verify/chaos"
)

// Engine runs a plan on one cluster, once.
type Engine struct {
	Clients  *infra.Clients
	Progress infra.Progress
	// Stdin is where Pause reads a line from.
	Stdin io.Reader
	// CleanUp deletes what the run created when it has ended, whatever its result, within
	// CleanupTimeout.
	CleanUp        bool
	CleanupTimeout time.Duration
	// WaitPods is how long the run waits after its last task until the pods of all its jobs have
	// ended; 0: not at all. It is no error if they have not.
	WaitPods time.Duration
	// Topology is the labels by which a job's spread is measured.
	Topology placement.Topology
	// Chaos, if set, is what to break meanwhile, in a cluster of the run's own. A passing workflow
	// waits for its last step.
	Chaos *chaos.Plan
	// NodeLabels are labels that every virtual node gets besides those of its group.
	NodeLabels map[string]string
	// Watching, if set, gets the observer as soon as it watches.
	Watching func(*placement.Observer)
	// OnTask, if set, gets the start and the end of every task.
	OnTask func(TaskEvent)

	observer *placement.Observer
	mapper   meta.ResettableRESTMapper
	plan     *Plan
	made     []created
	jobsMu   sync.Mutex // of jobs, which Submitted reads meanwhile
	jobs     []job
	notes    []string
	chaos    *chaosRun // nil without Chaos
}

// job is a submitted object, and the workflow that submitted it.
type job struct {
	placement.Submitted
	flow *Workflow
}

// TaskEvent is the start or the end of a task.
type TaskEvent struct {
	Type string
	// Status is empty at the start.
	Status   result.StepStatus
	Duration time.Duration
}

func (e *Engine) tell(event TaskEvent) {
	if e.OnTask != nil {
		e.OnTask(event)
	}
}

// Submitted returns the objects that the run has submitted so far. It may be called while the run
// continues.
func (e *Engine) Submitted() []placement.Submitted {
	e.jobsMu.Lock()
	defer e.jobsMu.Unlock()
	all := make([]placement.Submitted, 0, len(e.jobs))
	for _, j := range e.jobs {
		all = append(all, j.Submitted)
	}
	return all
}

// Result is the outcome of a run.
type Result struct {
	Passed bool `json:"passed"`
	// Cluster is where it ran.
	Cluster   string           `json:"cluster"`
	Workflows []WorkflowResult `json:"workflows"`
	// Processes are those of the run's own cluster, once it has ended: what CPU time and memory
	// they took.
	Processes []result.ProcessUse `json:"processes,omitempty"`
	// Chaos is what was broken meanwhile, and what survived; nil without a chaos file.
	Chaos *result.Chaos `json:"chaos,omitempty"`
	// Notes are what a reader should know besides, e.g. stand-ins.
	Notes []string `json:"notes,omitempty"`
	// CleanupError is why something that the run created may still be there.
	CleanupError string `json:"cleanupError,omitempty"`
}

// WorkflowResult is the outcome of one workflow.
type WorkflowResult struct {
	File     string            `json:"file"`
	Name     string            `json:"name"`
	Status   result.StepStatus `json:"status"`
	Started  time.Time         `json:"started"`
	Duration time.Duration     `json:"durationNs"`
	Tasks    []TaskResult      `json:"tasks"`
	// Placement is nil for a workflow that did not run.
	Placement *placement.Result `json:"placement,omitempty"`
}

// TaskResult is the outcome of one task.
type TaskResult struct {
	ID       string            `json:"id"`
	Type     string            `json:"type"`
	Line     int               `json:"line"`
	Status   result.StepStatus `json:"status"`
	Duration time.Duration     `json:"durationNs"`
	// Detail is what it did, in a few words.
	Detail string `json:"detail,omitempty"`
	// Error and Reason are set if it failed.
	Error  string        `json:"error,omitempty"`
	Reason reason.Reason `json:"reason,omitempty"`
}

// Run runs the plan's workflows in order, and stops at the first task that fails. The result shows
// its progress, also with an error. Reasons: WORKFLOW_FAILED, SCHEDULER_MISSING, those of
// placement.Watch, and that of the cause with which ctx was cancelled.
func (e *Engine) Run(ctx context.Context, plan *Plan) (*Result, error) {
	e.plan = plan
	e.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(e.Clients.Discovery))
	r := &Result{}
	for _, w := range plan.Workflows {
		one := WorkflowResult{File: w.File, Name: w.Name, Status: result.StepNotRun}
		for _, t := range w.Tasks {
			one.Tasks = append(one.Tasks, TaskResult{ID: t.ID, Type: t.Type, Line: t.Line, Status: result.StepNotRun})
		}
		r.Workflows = append(r.Workflows, one)
	}
	watches := observe.NewWatches(ctx, e.Clients.Kube)
	defer watches.Stop()
	observer, err := placement.Watch(ctx, watches)
	if err != nil {
		return r, err
	}
	e.observer = observer
	if e.Watching != nil {
		e.Watching(observer)
	}
	if e.Chaos != nil {
		e.chaos = e.startChaos(ctx)
	}
	ends := make([]time.Time, len(plan.Workflows))
	for i, w := range plan.Workflows {
		err = e.runOne(ctx, w, &r.Workflows[i])
		ends[i] = time.Now()
		if err != nil {
			break
		}
	}
	if e.chaos != nil {
		r.Chaos = e.chaos.end(err)
		ends[max(0, started(r)-1)] = time.Now()
	}
	if err == nil && e.WaitPods > 0 {
		e.waitPods(ctx)
		ends[len(ends)-1] = time.Now()
	}
	for i, w := range plan.Workflows {
		if one := &r.Workflows[i]; !one.Started.IsZero() {
			one.Placement = observer.Compute(one.Started, ends[i], e.submitted(w), e.Topology)
		}
	}
	r.Notes = e.notes
	if err == nil {
		err = checkGangs(plan, r)
	}
	if r.Chaos != nil {
		r.Notes = append(r.Notes, chaosNotes(r.Chaos)...)
	}
	if e.CleanUp {
		if cleanErr := e.cleanUp(context.WithoutCancel(ctx)); cleanErr != nil {
			r.CleanupError = cleanErr.Error()
			err = errors.Join(err, reason.Wrap(reason.WorkflowFailed, cleanErr))
		}
	}
	r.Passed = err == nil
	return r, err
}

func (e *Engine) submitted(w *Workflow) []placement.Submitted {
	var all []placement.Submitted
	for _, j := range e.jobs {
		if j.flow == w {
			all = append(all, j.Submitted)
		}
	}
	return all
}

func (e *Engine) runOne(ctx context.Context, w *Workflow, r *WorkflowResult) error {
	r.Started, r.Status = time.Now(), result.StepPassed
	defer func() { r.Duration = time.Since(r.Started) }()
	for i, t := range w.Tasks {
		one := &r.Tasks[i]
		start := time.Now()
		e.tell(TaskEvent{Type: t.Type})
		line := e.Progress.Begin(fmt.Sprintf("%s: %s (%s)", w.Name, t.ID, t.Type))
		detail, err := e.run(ctx, w, t, line)
		if cause := context.Cause(ctx); err != nil && cause != nil {
			err = cause // the task's error only follows from it
		}
		line.End(detail, err)
		one.Duration, one.Detail, one.Status = time.Since(start), detail, result.StepPassed
		if err != nil {
			named := reason.Wrap(reason.WorkflowFailed, fmt.Errorf("%s:%d: task %s (%s): %w", t.File, t.Line, t.ID, t.Type, err))
			one.Status, one.Error, one.Reason = result.StepFailed, err.Error(), reason.Of(named)
			r.Status = result.StepFailed
			e.tell(TaskEvent{t.Type, one.Status, one.Duration})
			return named
		}
		e.tell(TaskEvent{t.Type, one.Status, one.Duration})
		if e.chaos != nil {
			e.chaos.passed(t.ID)
		}
	}
	return nil
}

// run runs one task. Its text says what it did.
func (e *Engine) run(ctx context.Context, w *Workflow, t *Task, line infra.Task) (string, error) {
	switch p := t.params.(type) {
	case *configureParams:
		return e.configure(ctx, p, line)
	case *registerParams:
		return p.Template, nil // Check has read it
	case *submitParams:
		return e.submit(ctx, w, e.plan.submissions[t])
	case *stateParams:
		if t.Type == updateObj {
			return e.updateObjects(ctx, e.plan.refs[t], p)
		}
		return e.checkObjects(ctx, e.plan.refs[t], p, line)
	case *checkPodParams:
		return e.checkPods(ctx, e.plan.refs[t], p, line)
	case *checkConfigmapParams:
		return e.checkConfigMap(ctx, p)
	case *deleteParams:
		return e.deleteObjects(ctx, e.plan.refs[t])
	case *updateNodesParams:
		return e.updateNodes(ctx, p)
	case *sleepParams:
		return time.Duration(p.Timeout).String(), sleep(ctx, time.Duration(p.Timeout))
	case *pauseParams:
		return "", e.pause(ctx)
	}
	return "", fmt.Errorf("type %s is not known", t.Type) // Read refuses it
}

// until polls until a task's timeout, or once if it has none.
func until(ctx context.Context, what string, timeout Duration, line infra.Task, probe func(context.Context) wait.Result) error {
	if timeout > 0 {
		return wait.For(ctx, what, wait.Options{Budget: time.Duration(timeout), Changed: line.Update}, probe)
	}
	var first string
	err := wait.For(ctx, what, wait.Options{Budget: time.Minute, Changed: func(why string) { first = why }}, func(ctx context.Context) wait.Result {
		if first != "" {
			return wait.Never(fmt.Errorf("%s: %s (the task has no timeout, and so did not wait)", what, first))
		}
		return probe(ctx)
	})
	return err
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// pause waits for a line.
func (e *Engine) pause(ctx context.Context) error {
	pressed := make(chan error, 1)
	go func() {
		one := make([]byte, 1)
		for {
			n, err := e.Stdin.Read(one)
			if n == 1 && one[0] == '\n' {
				pressed <- nil
				return
			}
			if err != nil {
				pressed <- fmt.Errorf("waiting for Enter: standard input is closed (%w); run it in a terminal, or remove the task", err)
				return
			}
		}
	}()
	select {
	case err := <-pressed:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
