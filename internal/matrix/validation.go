package matrix

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/verify/snapshot"
	"github.com/nvidia/aicr-action/internal/verify/snapshot/collect"
	"github.com/nvidia/aicr-action/internal/verify/validate"
)

// patience is how long a failed check is repeated. The gate has counted pods, and the status of
// their controllers may follow later.
const patience = 20 * time.Second

// planValidation returns what the recipe's own validation phases check, before anything is started;
// nil without --validate.
func (r *Runner) planValidation(res *recipe.Result) (*validate.Plan, error) {
	if len(r.Validate) == 0 {
		return nil, nil
	}
	plan, err := validate.NewPlan(res, r.Validate)
	if err != nil {
		return nil, &reason.Error{Reason: reason.Usage, Err: err}
	}
	if plan.Count() == 0 {
		return nil, reason.New(reason.Usage, "recipe %s has no constraints and no checks for these phases, so --validate would check nothing; choose other phases, or leave it out", res.Metadata.Name)
	}
	return plan, nil
}

// unevaluated returns the constraints that no step of a cell evaluates.
func (r *Runner) unevaluated(res *recipe.Result) []string {
	for _, p := range r.Validate {
		if p == validate.Readiness {
			return nil
		}
	}
	return res.Unevaluated()
}

// runValidation is the last step of a cell. Reasons: VALIDATION_FAILED; CLUSTER_FAILED if the
// cluster could not be measured.
func (c *cellRun) runValidation(ctx context.Context) error {
	taken, err := c.snapshot(ctx)
	if err != nil {
		return err
	}
	list, err := c.plan.validation.Run(ctx, validate.Direct{Patience: patience}, validate.Inputs{Snapshot: taken, Kube: c.env.Clients.Kube, Dynamic: c.env.Clients.Dynamic})
	c.result.Validation = append(c.result.Validation, list...)
	if err != nil {
		return reason.Wrap(reason.ClusterFailed, err)
	}
	for _, phase := range c.plan.validation.Phases {
		c.result.Notes = append(c.result.Notes, phase.Notes...)
	}
	for i := range list {
		if list[i].Status == result.StepSkipped {
			c.result.NotVerified = append(c.result.NotVerified, fmt.Sprintf("validation %s: %s", &list[i], list[i].Message))
		}
	}
	if failure := validationFinding(list); failure != nil {
		return &reason.Error{Reason: reason.ValidationFailed, Component: "", Err: failure}
	}
	return nil
}

// snapshot measures the cell's cluster and writes the file to the cell's logs. Simulated nodes
// cannot be measured: values from their profile are marked as simulated.
func (c *cellRun) snapshot(ctx context.Context) (*snapshot.Snapshot, error) {
	taken, failures := collect.Take(ctx, collect.Options{Kube: c.env.Clients.Kube, Dynamic: c.env.Clients.Dynamic, Only: []string{snapshot.TypeK8s, snapshot.TypeNodeTopology}, Now: time.Now()})
	for _, failure := range failures {
		return nil, reason.New(reason.ClusterFailed, "take a snapshot of the cell's cluster: %w", failure)
	}
	taken.Metadata["source"] = c.plan.Cell.String()
	taken.Measurements = append(taken.Measurements, simulatedReadings(c.plan.nodes)...)
	text, err := yaml.Marshal(taken)
	if err != nil {
		return nil, fmt.Errorf("write the cell's snapshot: %w", err)
	}
	if err := os.WriteFile(c.snapshotFile(), text, 0o644); err != nil {
		return nil, reason.Wrap(infra.DiskReason(err, reason.Internal), fmt.Errorf("write the cell's snapshot: %w", err))
	}
	return taken, nil
}

func (c *cellRun) snapshotFile() string { return filepath.Join(c.dir, "snapshot.yaml") }

// simulatedReadings returns what the profile of the accelerated nodes says about them.
func simulatedReadings(groups []simulate.NodeGroup) []snapshot.Measurement {
	for _, g := range groups {
		if g.Profile == nil || g.Profile.Spec.GPU == nil || g.Count == 0 {
			continue
		}
		gpu := g.Profile.Spec.GPU
		marked := map[string]string{validate.Simulated: "node profile " + g.Profile.Metadata.Name}
		reading := func(v any) snapshot.Reading { return snapshot.Reading{Value: v} }
		return []snapshot.Measurement{{Type: snapshot.TypeGPU, Subtypes: []snapshot.Subtype{
			{Name: "smi", Context: marked, Data: map[string]snapshot.Reading{
				"driver-version": reading(gpu.Driver), "product-name": reading(gpu.Product), "gpu-count": reading(int64(gpu.Count)), "memory-total-mib": reading(int64(gpu.MemoryMiB)),
			}},
			{Name: "driver", Context: marked, Data: map[string]snapshot.Reading{"version": reading(gpu.Driver)}},
		}}}
	}
	return nil
}

// validationFinding reports every failed check, the first one as the cause; nil if none failed.
func validationFinding(list []result.Check) *result.Failure {
	var failed []*result.Check
	for i := range list {
		if list[i].Status == result.StepFailed {
			failed = append(failed, &list[i])
		}
	}
	if len(failed) == 0 {
		return nil
	}
	first := failed[0]
	f := result.Finding{Cause: fmt.Sprintf("validation %s: %s", first, first.Message), Component: first.Component, Place: first.Place}
	if n := len(failed) - 1; n > 0 {
		f.Cause += fmt.Sprintf(" (and %d more)", n)
	}
	for _, check := range failed {
		line := fmt.Sprintf("%s: %s", check, check.Message)
		if check.Component != "" {
			line += "; component " + check.Component
		}
		if check.Place.File != "" {
			line += fmt.Sprintf(" (%s:%d)", check.Place.File, check.Place.Line)
		}
		f.Story = append(f.Story, line)
		for _, detail := range check.Details {
			if detail != check.Message {
				f.Story = append(f.Story, "  "+detail)
			}
		}
	}
	return result.NewFailure(f)
}
