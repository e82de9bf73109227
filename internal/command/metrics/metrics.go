// Package metrics serves the progress and the placement of a run to Prometheus, for --metrics of
// several commands.
package metrics

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/matrix"
	"github.com/nvidia/aicr-action/internal/observe/placement"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/workflow"
)

// Flag adds --metrics.
func Flag(cmd *cobra.Command, value *string) {
	cmd.Flags().StringVar(value, "metrics", "", "`address` at which to serve progress and placement to Prometheus while the run goes on; a port alone is one of 127.0.0.1 (docs/workflows.md)")
}

// served are the metrics of one run; nil without --metrics.
type served struct {
	server    *metricsServer
	registry  *prometheus.Registry
	placement *metricsPlacement
}

// Serve opens the address, so that an unavailable one is an error before any process starts.
func Serve(a *cli.App, address string) (*served, error) {
	if address == "" {
		return nil, nil
	}
	s := &served{registry: prometheus.NewRegistry(), placement: newPlacement()}
	s.registry.MustRegister(s.placement)
	var err error
	if s.server, err = metricsListen(address, s.registry); err != nil {
		return nil, err
	}
	_, err = fmt.Fprintf(a.Stderr, "metrics: %s\n", s.server.URL())
	return s, err
}

// Cells follows a run of cells, besides what follows it already.
func (s *served) Cells(runner *matrix.Runner, planned int, skipped []result.Result) {
	if s == nil {
		return
	}
	cells := newCells(planned, skipped)
	cells.Register(s.registry)
	onEvent, onResult := runner.OnEvent, runner.OnResult
	runner.OnEvent = func(e matrix.Event) {
		cells.Tell(e)
		if e.Kind == matrix.CellEnd {
			s.placement.End(e.Cell.String())
		}
		if onEvent != nil {
			onEvent(e)
		}
	}
	runner.OnResult = func(results []result.Result) {
		cells.Results(results)
		if onResult != nil {
			onResult(results)
		}
	}
	runner.Watching = func(c result.Cell, o *placement.Observer) {
		s.placement.Watch(c.String(), o, nil, placement.DefaultTopology())
	}
}

// Workflows follows a run of workflows.
func (s *served) Workflows(engine *workflow.Engine, plan *workflow.Plan) {
	if s == nil {
		return
	}
	tasks := newTasks(plan)
	tasks.Register(s.registry)
	engine.OnTask = tasks.Tell
	engine.Watching = func(o *placement.Observer) {
		s.placement.Watch("workflows", o, engine.Submitted, engine.Topology)
	}
}

// Close ends the server with the run.
func (s *served) Close(a *cli.App) {
	if s == nil {
		return
	}
	if err := s.server.Close(); err != nil {
		_, _ = fmt.Fprintf(a.Stderr, "warning: %s\n", err)
	}
}
