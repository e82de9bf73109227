package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/nvidia/aicr-action/internal/matrix"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/workflow"
)

// metricsCells are the metrics of how far a run of cells is.
type metricsCells struct {
	cells *prometheus.GaugeVec
	steps *prometheus.HistogramVec

	mu      sync.Mutex
	planned int
	others  []result.Result
	begun   map[result.Cell]bool
	ended   map[result.Cell]result.Status
}

// The states of a cell that has no verdict.
const (
	waiting = "waiting"
	running = "running"
)

// newCells is of a run of so many cells; others are those that have their verdict without being
// run.
func newCells(planned int, others []result.Result) *metricsCells {
	c := &metricsCells{
		cells: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "aicr_cells", Help: "Cells of the run: waiting, running, or their verdict's status. A cell that passed may become red when the lanes of its recipe are compared.",
		}, []string{"status"}),
		steps: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "aicr_step_duration_seconds", Help: "Time that the steps of cells took.", Buckets: []float64{.1, .5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600},
		}, []string{"step"}),
		planned: planned, others: others, begun: map[result.Cell]bool{}, ended: map[result.Cell]result.Status{},
	}
	c.count()
	return c
}

// Register adds the metrics to a registry.
func (c *metricsCells) Register(r *prometheus.Registry) { r.MustRegister(c.cells, c.steps) }

// Tell is a Runner's OnEvent.
func (c *metricsCells) Tell(e matrix.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch e.Kind {
	case matrix.StepBegin:
		c.begun[e.Cell] = true
	case matrix.StepEnd:
		c.steps.WithLabelValues(e.Step).Observe(e.Duration.Seconds())
	case matrix.CellEnd:
		c.ended[e.Cell] = e.Result.Status
	}
	c.count()
}

// Results is a Runner's OnResult: the comparison of lanes changes verdicts.
func (c *metricsCells) Results(results []result.Result) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range results {
		if _, ok := c.ended[results[i].Cell]; ok {
			c.ended[results[i].Cell] = results[i].Status
		}
	}
	c.count()
}

// count sets the gauges. A status without a cell is 0, so that a rate or an alert has something to
// compare with.
func (c *metricsCells) count() {
	n := map[string]int{waiting: c.planned - len(c.ended), running: 0}
	for _, s := range []result.Status{result.Passed, result.Reused, result.Failed, result.Timeout, result.Infrastructure, result.Interrupted, result.Skipped, result.NotRun} {
		n[string(s)] = 0
	}
	for i := range c.others {
		n[string(c.others[i].Status)]++
	}
	for cell := range c.begun {
		if _, ok := c.ended[cell]; !ok {
			n[running]++
			n[waiting]--
		}
	}
	for _, s := range c.ended {
		n[string(s)]++
	}
	for status, count := range n {
		c.cells.WithLabelValues(status).Set(float64(count))
	}
}

// metricsTasks are the metrics of how far a run of workflows is.
type metricsTasks struct {
	tasks    *prometheus.GaugeVec
	duration *prometheus.HistogramVec
}

// newTasks is of a plan's tasks.
func newTasks(plan *workflow.Plan) *metricsTasks {
	t := &metricsTasks{
		tasks:    prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "aicr_workflow_tasks", Help: "Tasks of the run's workflows: waiting, running, passed or failed."}, []string{"status"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "aicr_workflow_task_duration_seconds", Help: "Time that tasks took.", Buckets: []float64{.01, .1, 1, 5, 10, 30, 60, 300, 600}}, []string{"type"}),
	}
	n := 0
	for _, w := range plan.Workflows {
		n += len(w.Tasks)
	}
	for _, status := range []string{waiting, running, string(result.StepPassed), string(result.StepFailed)} {
		t.tasks.WithLabelValues(status).Set(0)
	}
	t.tasks.WithLabelValues(waiting).Set(float64(n))
	return t
}

// Register adds the metrics to a registry.
func (t *metricsTasks) Register(r *prometheus.Registry) { r.MustRegister(t.tasks, t.duration) }

// Tell is an Engine's OnTask.
func (t *metricsTasks) Tell(e workflow.TaskEvent) {
	if e.Status == "" {
		t.tasks.WithLabelValues(waiting).Dec()
		t.tasks.WithLabelValues(running).Inc()
		return
	}
	t.tasks.WithLabelValues(running).Dec()
	t.tasks.WithLabelValues(string(e.Status)).Inc()
	t.duration.WithLabelValues(e.Type).Observe(e.Duration.Seconds())
}
