package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/command/cli/docio"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/report"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/httpstatus"
	"github.com/nvidia/aicr-action/internal/verify/snapshot"
	"github.com/nvidia/aicr-action/internal/verify/snapshot/collect"
	"github.com/nvidia/aicr-action/internal/verify/validate"
)

// The formats of a validation's result besides those of other documents.
const (
	formatCTRF  = "ctrf"
	formatJUnit = "junit"
)

func validationFormats() []string { return append(formats(), formatCTRF, formatJUnit) }

type validateFlags struct {
	recipe, snapshot, phase, output, format, kubeconfig string
	failOnError                                         bool
	agent                                               agentFlags
}

func (a *app) validateCommand() *cobra.Command {
	f := validateFlags{agent: agentFlags{forResults: true}}
	cmd := &cobra.Command{
		Use: "validate", Short: "Compare a cluster with a recipe", Args: cobra.NoArgs,
		Long: `Compare the recipe's constraints with the readings of a snapshot, and run the checks that its validation block names.

The phases are readiness (the constraints on the system), deployment (the components are there and healthy), performance and conformance.
Only the phases of --phase are looked at. After a phase with a failure, the later ones are skipped. Without --snapshot the cluster is
measured now, as aicr snapshot does.

What cannot be told is skipped, and never passes: a constraint without a reading, a check that needs hardware, a check that this program
does not have. The status is pass, fail, or partial if something was skipped. The exit code is 58 if something failed.`,
		Example: `  aicr validate -r recipe.yaml -s snapshot.yaml
  aicr validate -r recipe.yaml -s snapshot.yaml --fail-on-error=false
  aicr validate -r cm://gpu-operator/aicr-recipe -s cm://gpu-operator/aicr-snapshot --phase all`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.agent.check(cmd); err != nil {
				return err
			}
			return a.validate(cmd.Context(), f)
		},
	}
	cmd.Flags().StringVarP(&f.recipe, "recipe", "r", "", "`address` of the recipe: a file, https://…, cm://NAMESPACE/NAME, or - (required)")
	cmd.Flags().StringVarP(&f.snapshot, "snapshot", "s", "", "`address` of a snapshot: a file, https://…, cm://NAMESPACE/NAME, or - (default: measure the cluster now)")
	cmd.Flags().StringVar(&f.phase, "phase", string(validate.Readiness), "`phases`: readiness, deployment, performance, conformance, all, or a list")
	cmd.Flags().BoolVar(&f.failOnError, "fail-on-error", true, "end with exit code 8 if something failed, 2 in the phase readiness; false prints it and ends with 0")
	cmd.Flags().StringVarP(&f.output, "output", "o", "-", "`address` to write the result to: a file, cm://NAMESPACE/NAME, or - for standard output")
	cmd.Flags().StringVar(&f.format, "format", "yaml", "output format: yaml, json, table, ctrf or junit")
	cmd.Flags().StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig `file` of the cluster (default: KUBECONFIG, ~/.kube/config, or the pod's own cluster)")
	f.agent.register(cmd, "run the checks of each phase in a Job, with the permissions that they need")
	return cmd
}

// validation is the document that the command prints.
type validation struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Summary    summary        `json:"summary"`
	Results    []result.Check `json:"results"`
}

type summary struct {
	Status  string `json:"status"` // pass, fail or partial
	Passed  int    `json:"passed"`
	Failed  int    `json:"failed"`
	Skipped int    `json:"skipped"`
	Total   int    `json:"total"`
}

func (s summary) String() string {
	return fmt.Sprintf("status %s: %d passed, %d failed, %d skipped", s.Status, s.Passed, s.Failed, s.Skipped)
}

func (a *app) validate(ctx context.Context, f validateFlags) error {
	phases, err := f.check()
	if err != nil {
		return err
	}
	places := a.places(f.kubeconfig)
	data, called, err := places.Read(ctx, "recipe", f.recipe)
	if err != nil {
		return err
	}
	made, err := a.readResult(called, data)
	if err != nil {
		return err
	}
	plan, err := validate.NewPlan(made, phases)
	if err != nil {
		return cli.WrapUsage(err)
	}
	for _, phase := range plan.Phases {
		for _, note := range phase.Notes {
			a.note("note: %s", note)
		}
	}
	if plan.Count() == 0 {
		return cli.Usagef("%s has no constraints and no checks for --phase %s, so nothing would be checked", called, f.phase)
	}
	started := time.Now()
	in := validate.Inputs{}
	var taken *snapshot.Snapshot
	if f.snapshot != "" {
		if taken, err = a.readSnapshot(ctx, f.kubeconfig, f.snapshot); err != nil {
			return err
		}
	}
	if plan.NeedsCluster() || taken == nil {
		kube, dyn, err := a.cluster(f.kubeconfig)
		if err == nil {
			err = answers(kube)
		}
		if err != nil && plan.NeedsCluster() {
			return fmt.Errorf("--phase %s looks at the cluster: %w", f.phase, err)
		}
		if err != nil {
			return fmt.Errorf("without --snapshot the cluster is measured: %w", err)
		}
		in.Kube, in.Dynamic = kube, dyn
	}
	if in.Snapshot = taken; taken == nil {
		in.Snapshot = a.measure(ctx, in.Kube, in.Dynamic)
	}
	with, done, err := a.executor(f, in, data, called)
	if err != nil {
		return err
	}
	list, err := plan.Run(ctx, with, in)
	left := done(ctx)
	if err == nil { // the results are printed even if an object could not be removed
		err = a.finish(ctx, f, called, list, started)
	}
	var told *cli.Reported
	if left != nil && errors.As(err, &told) {
		a.note("%v", left) // it would not be printed any more
		return err
	}
	return errors.Join(err, left)
}

// check refuses flags before anything is read.
func (f *validateFlags) check() ([]validate.Phase, error) {
	phases, err := validate.ParsePhases(f.phase)
	switch {
	case err != nil:
		return nil, cli.Usagef("--phase: %w", err)
	case f.recipe == "":
		return nil, cli.Usagef("--recipe: name the recipe, e.g. -r recipe.yaml, or -r - for standard input")
	case f.recipe == "-" && f.snapshot == "-":
		return nil, cli.Usagef("--recipe and --snapshot cannot both be read from standard input")
	case !slices.Contains(validationFormats(), f.format):
		return nil, cli.Usagef("--format %q: want %s", f.format, strings.Join(validationFormats(), ", "))
	case strings.HasPrefix(f.output, "cm://") && f.format != "yaml" && f.format != "json":
		return nil, cli.Usagef("--format %s: write yaml or json to %s", f.format, f.output)
	}
	return phases, docio.CheckOutput("validation", f.output)
}

// answers says whether the cluster can be reached at all: otherwise every check would say that it
// cannot.
func answers(kube kubernetes.Interface) error {
	if _, err := kube.Discovery().ServerVersion(); err != nil {
		return reason.New(reason.ClusterAccess, "the cluster does not answer: %w; check the kubeconfig's server, the network and the login", err)
	}
	return nil
}

// measure takes a snapshot of the cluster and of this machine.
func (a *app) measure(ctx context.Context, kube kubernetes.Interface, dyn dynamic.Interface) *snapshot.Snapshot {
	// This machine need not be one of the cluster's nodes.
	taken, failures := collect.Take(ctx, collect.Options{Kube: kube, Dynamic: dyn, Only: []string{snapshot.TypeK8s, snapshot.TypeNodeTopology}})
	a.note("note: without --snapshot, the cluster is measured now; for readings of its nodes, take a snapshot there")
	for _, failure := range failures {
		a.note("warning: %s", failure)
	}
	return taken
}

// finish prints the result, and says what failed.
func (a *app) finish(ctx context.Context, f validateFlags, recipeName string, list []result.Check, started time.Time) error {
	made := validation{APIVersion: recipe.APIVersion, Kind: "ValidationResult", Results: list, Summary: summary{Status: validate.Verdict(list), Total: len(list)}}
	made.Summary.Passed, made.Summary.Failed, made.Summary.Skipped = result.CountChecks(list)
	data, err := made.print(f.format, report.Checks{
		Meta:   report.Meta{Tool: cli.BuildOf(released).Version, Started: started, Written: time.Now()},
		Recipe: recipeName, Status: made.Summary.Status, List: list,
	})
	if err != nil {
		return err
	}
	if err := a.places(f.kubeconfig).Write(ctx, "validation", f.output, f.format, data); err != nil {
		return err
	}
	a.note("%s", made.Summary)
	var first *result.Check
	for i := range list {
		if list[i].Status == result.StepFailed {
			a.note("%s", report.CheckLine(&list[i]))
			if first == nil {
				first = &list[i]
			}
		}
	}
	if first == nil || !f.failOnError {
		return nil
	}
	err = &reason.Error{Reason: reason.ValidationFailed, Component: first.Component, Err: fmt.Errorf("%s: %s", first, first.Message)}
	if first.Phase == string(validate.Readiness) { // the cluster is not one that the recipe is for
		err = httpstatus.With(http.StatusPreconditionFailed, err)
	}
	return &cli.Reported{Err: err}
}

func (v *validation) print(format string, checks report.Checks) ([]byte, error) {
	var out bytes.Buffer
	switch format {
	case "json":
		return cli.DocumentJSON(v)
	case "table":
		rows := [][]string{{"PHASE", "CHECK", "STATUS", "EXPECTED", "ACTUAL", "MESSAGE"}}
		for i := range v.Results {
			c := &v.Results[i]
			rows = append(rows, []string{c.Phase, c.Name, string(c.Status), dash(c.Expected), dash(c.Actual), dash(c.Message)})
		}
		return []byte(cli.Inert(cli.Table(rows) + "\n" + v.Summary.String() + "\n")), nil
	case formatCTRF:
		err := checks.WriteCTRF(&out)
		return []byte(cli.Inert(out.String())), err
	case formatJUnit:
		err := checks.WriteJUnit(&out)
		return []byte(cli.Inert(out.String())), err
	}
	return cli.DocumentYAML(v)
}
