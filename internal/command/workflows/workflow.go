// Package workflows has the command workflow, with the clusters that it makes.
package workflows

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/command/metrics"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/observe/placement"
	"github.com/nvidia/aicr-action/internal/report"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/filesys"
	"github.com/nvidia/aicr-action/internal/verify/chaos"
	"github.com/nvidia/aicr-action/internal/workflow"
)

// app is what the commands of this package share.
type app struct{ *cli.App }

// WorkflowCommand is `matrix workflow`.
func WorkflowCommand(shared *cli.App) *cobra.Command {
	a := &app{App: shared}
	cmd := &cobra.Command{Use: "workflow", Short: "Run workflows of NVIDIA Knavigator on virtual nodes, and report how their jobs are placed", Args: cobra.NoArgs, RunE: cli.NeedSubcommand}
	cmd.AddCommand(a.workflowRunCommand(), a.workflowLintCommand(), a.workflowManifestCommand())
	return cmd
}

// workflowFlags are those of workflow run.
type workflowFlags struct {
	where          workflowPlace
	cleanup        bool
	cleanupTimeout time.Duration
	waitPods       time.Duration
	output         string
	junit, html    string
	ctrf           string
	block, spine   string
	chaos          string
	metrics        string
}

func (a *app) workflowRunCommand() *cobra.Command {
	var f workflowFlags
	cmd := &cobra.Command{
		Use:   "run FILE|DIR...",
		Short: "Run workflows one after the other, and report how their pods were placed",
		Long: `Run workflows in NVIDIA Knavigator's format, one after the other, on one cluster. The first task that fails ends the run.

Every file is checked before a cluster is made. The cluster is one of the run's own and is removed at the end, or stays with --keep; with
--platform kind it is made of containers. --name
takes one that ` + "`matrix cluster up`" + ` made, and --kubeconfig and --context any cluster in which KWOK runs. The result says for each workflow
where its pods went, how long that took, how many GPUs were taken over time, and whether its jobs were placed as a whole.

Exit codes: 0 when every task passed; 2 for a mistake in a file or a flag; 4 when the cluster of a kubeconfig cannot be reached; 63 when a
task failed; 64 when a pod asks for a scheduler that does not run; 67 when a second scheduler does not start, or ends. ` + "`matrix explain`" + ` has the others.`,
		Example: `  matrix workflow run nodes.yaml jobs.yaml --html placement.html
  matrix workflow run resources/workflows/k8s --kubeconfig ~/.kube/config --cleanup`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			a.EndsUnread()
			return a.workflowRun(cmd, args, f)
		},
	}
	f.where.register(cmd)
	cmd.Flags().BoolVar(&f.cleanup, "cleanup", false, "delete what the run created when it ends, also after a failure")
	cmd.Flags().DurationVar(&f.cleanupTimeout, "cleanup-timeout", 5*time.Minute, "`time` to wait until that is gone")
	cmd.Flags().DurationVar(&f.waitPods, "wait-pods", 0, "after the last task, wait at most this `time` until the pods of all jobs have ended")
	cli.OutputFlag(cmd, &f.output)
	cmd.Flags().StringVar(&f.junit, "junit", "", "`file` for a JUnit XML report")
	cmd.Flags().StringVar(&f.html, "html", "", "`file` for an HTML page with a picture of the nodes over time")
	cmd.Flags().StringVar(&f.ctrf, "ctrf", "", "`file` for a CTRF report (JSON)")
	cmd.Flags().StringVar(&f.chaos, "chaos", "", "`file` of steps that break nodes and pods while the workflows run; the result says which workloads survive (docs/workflows.md)")
	metrics.Flag(cmd, &f.metrics)
	cmd.Flags().StringVar(&f.block, "block-label", "", "node `label` that names the block a node is in (default: Topograph's)")
	cmd.Flags().StringVar(&f.spine, "spine-label", "", "node `label` that names the spine a node is under (default: Topograph's)")
	return cmd
}

func (a *app) workflowRun(cmd *cobra.Command, args []string, f workflowFlags) error {
	switch {
	case f.cleanupTimeout <= 0 || f.waitPods < 0:
		return cli.Usagef("--cleanup-timeout and --wait-pods: want a positive time")
	}
	if err := f.where.check(cmd); err != nil {
		return err
	}
	plan, err := checkWorkflows(args)
	if err != nil {
		return err
	}
	a.warnWorkflows(plan)
	broken, err := workflowChaos(f, plan)
	if err != nil {
		return err
	}
	f.where.chaos = broken != nil
	for flag, file := range map[string]string{"--junit": f.junit, "--html": f.html, "--ctrf": f.ctrf} {
		if file == "" {
			continue
		}
		if info, err := os.Stat(filepath.Dir(file)); err != nil || !info.IsDir() {
			return cli.Usagef("%s %s: there is no directory %s", flag, file, filepath.Dir(file))
		}
	}
	served, err := metrics.Serve(a.App, f.metrics)
	if err != nil {
		return err
	}
	defer served.Close(a.App)
	ctx, cancel := context.WithCancelCause(cmd.Context())
	defer cancel(nil)
	on, err := a.openWorkflowCluster(ctx, cancel, f.where, plan)
	if err != nil {
		return err
	}
	topology := placement.DefaultTopology()
	if f.block != "" {
		topology.Block = []string{f.block}
	}
	if f.spine != "" {
		topology.Spine = []string{f.spine}
	}
	engine := &workflow.Engine{
		Clients: on.clients, Progress: a.Progress, Stdin: os.Stdin, CleanUp: f.cleanup, CleanupTimeout: f.cleanupTimeout, WaitPods: f.waitPods, Topology: topology, Chaos: broken, NodeLabels: on.labels,
	}
	served.Workflows(engine, plan)
	result, err := engine.Run(ctx, plan)
	result.Cluster, result.Notes = on.name, append(on.notes, result.Notes...)
	if endErr := on.end(context.WithoutCancel(ctx)); err == nil {
		err = endErr
	}
	if on.processes != nil {
		result.Processes = on.processes()
	}
	if reportErr := a.reportWorkflows(result, f); err == nil {
		err = reportErr
	}
	return err
}

// workflowChaos reads the file of --chaos; nil without the flag. What it breaks must be the run's
// own.
func workflowChaos(f workflowFlags, plan *workflow.Plan) (*chaos.Plan, error) {
	if f.chaos == "" {
		return nil, nil
	}
	if !f.where.own() {
		return nil, cli.Usagef("--chaos is for a cluster of the run's own; leave out --name, --kubeconfig, --context and --in-cluster")
	}
	broken, err := chaos.Read(f.chaos)
	if err != nil {
		return nil, err
	}
	return broken, broken.CheckTasks(plan.TaskIDs())
}

// checkWorkflows reads and checks workflows; the error has every mistake.
func checkWorkflows(args []string) (*workflow.Plan, error) {
	files, err := workflow.Files(cli.SplitList(args))
	if err != nil {
		return nil, err
	}
	flows, problems := workflow.Read(files)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	plan, problems := workflow.Check(flows)
	return plan, problems.Err()
}

// warnWorkflows prints warnings. It ignores errors of writing to stderr.
func (a *app) warnWorkflows(plan *workflow.Plan) {
	for _, w := range plan.Warnings {
		_, _ = fmt.Fprintf(a.Stderr, "warning: %s\n", w)
	}
}

// reportWorkflows prints the result and writes the reports.
func (a *app) reportWorkflows(r *workflow.Result, f workflowFlags) error {
	for _, report := range []struct {
		file  string
		write func(io.Writer) error
	}{{f.junit, r.WriteJUnit}, {f.html, r.WriteHTML}, {f.ctrf, r.WriteCTRF}} {
		if report.file == "" {
			continue
		}
		var b bytes.Buffer
		if err := report.write(&b); err != nil {
			return err
		}
		if err := filesys.WriteFile(report.file, b.Bytes(), 0o644); err != nil {
			return reason.Wrap(infra.DiskReason(err, reason.Usage), fmt.Errorf("write the report %s: %w", report.file, err))
		}
	}
	if f.output == "json" {
		return cli.PrintJSON(a.Stdout, r)
	}
	_, err := io.WriteString(a.Stdout, cli.Inert(workflowTable(r)))
	return err
}

func workflowTable(r *workflow.Result) string {
	rows := [][]string{{"WORKFLOW", "RESULT", "TASKS", "PODS PLACED", "SCHEDULED (MEDIAN, MAX)", "GPUS TAKEN (MEAN, PEAK)", "WHOLE JOBS", "TIME"}}
	for _, flow := range r.Workflows {
		passed := 0
		for _, t := range flow.Tasks {
			if t.Status == result.StepPassed {
				passed++
			}
		}
		row := []string{flow.Name, string(flow.Status), fmt.Sprintf("%d of %d", passed, len(flow.Tasks)), "-", "-", "-", "-", flow.Duration.Round(100 * time.Millisecond).String()}
		if p := flow.Placement; p != nil && p.Pods > 0 {
			row[3] = fmt.Sprintf("%d of %d", p.Placed, p.Pods)
			row[4] = fmt.Sprintf("%d ms, %d ms", p.TimeToSchedule.Median, p.TimeToSchedule.Max)
			row[5] = fmt.Sprintf("%.0f%%, %.0f%%", p.MeanOccupancy, p.PeakOccupancy)
			if p.Gangs.Jobs > 0 {
				row[6] = fmt.Sprintf("%d of %d", p.Gangs.Whole, p.Gangs.Jobs)
			}
		}
		rows = append(rows, row)
	}
	text := cli.Table(rows)
	if r.Chaos != nil {
		text += fmt.Sprintf("chaos: %s, seed %d\n", r.Chaos.File, r.Chaos.Seed)
		for i := range r.Chaos.Steps {
			text += "  " + strings.Join(report.ChaosLines(&r.Chaos.Steps[i]), "\n    ") + "\n"
		}
	}
	for _, n := range r.Notes {
		text += "note: " + n + "\n"
	}
	return text
}

func (a *app) workflowLintCommand() *cobra.Command {
	var names []string
	cmd := &cobra.Command{
		Use: "lint FILE|DIR...", Short: "Check workflows without a cluster", Args: cobra.MinimumNArgs(1),
		Long: `Check workflows as ` + "`matrix workflow run`" + ` does before it makes a cluster: every field, every reference, every template with its values, node
types, podCount, regular expressions, and the schedulers that pods ask for. Files are checked in order: what one registers, the next may use.`,
		RunE: func(_ *cobra.Command, args []string) error {
			plan, err := checkWorkflows(args)
			if err != nil {
				return err
			}
			a.warnWorkflows(plan)
			if _, err := a.secondSchedulers(workflowPlace{}, plan, cli.SplitList(names)); reason.Of(err) == reason.SchedulerMissing {
				return &reason.Error{Reason: reason.SchedulerMissing, Err: fmt.Errorf("%w\n--scheduler NAME says that the cluster has one", err)}
			} else if err != nil {
				return err
			}
			for _, w := range plan.Workflows {
				if _, err := fmt.Fprintf(a.Stdout, "%s: %d tasks, no mistakes\n", cli.Inert(w.File), len(w.Tasks)); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().StringSliceVar(&names, "scheduler", nil, "`name` of a scheduler that the cluster has besides default-scheduler")
	return cmd
}
