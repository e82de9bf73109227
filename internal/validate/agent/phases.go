package agent

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/nvidia/aicr-action/internal/reason"
	"github.com/nvidia/aicr-action/internal/validate"
)

// PhaseChecks are the checks of one phase, by their names in the table of checks.
type PhaseChecks struct {
	Phase  validate.Phase
	Checks []string
}

// Pattern is the test pattern that runs exactly these checks.
func Pattern(checks []*validate.Check) string {
	var names []string
	for _, c := range checks {
		names = append(names, regexp.QuoteMeta(c.TestName()))
	}
	return "^(" + strings.Join(names, "|") + ")$"
}

// Inputs are the documents that the checks read, as YAML. Recipe is required.
type Inputs struct{ Snapshot, Recipe []byte }

// cleanupBudget is how long everything may take to be removed after a run, whatever ended it.
const cleanupBudget = 2 * time.Minute

// Phases runs one Job per phase, in the order given, and stops at the first phase that fails: the results of later ones are skips. Of config, it sets
// JobName (a name per phase), TestPackage, TestPattern, ExpectedTests and Rules (those of the checks that run). What it created is removed if
// config.Cleanup is set, also after an error or when ctx ends. Errors are a *JobError, or the API server's.
func Phases(ctx context.Context, clientset kubernetes.Interface, config Config, in Inputs, phases []PhaseChecks) (results []*ValidationResult, err error) {
	base := config.JobName
	runs, err := plan(config, phases)
	if err != nil || len(runs) == 0 {
		return nil, err
	}
	if in.Snapshot == nil {
		config.SnapshotConfigMap = ""
	}
	shared := config
	shared.JobName, shared.TestPackage, shared.Rules = base, runs[0].TestPackage, []rbacv1.PolicyRule{}
	for i := range runs {
		runs[i].SnapshotConfigMap = config.SnapshotConfigMap
		shared.Rules = append(shared.Rules, runs[i].Rules...)
	}
	whole := NewDeployer(clientset, shared)
	defer func() {
		if !config.Cleanup {
			return
		}
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupBudget)
		defer cancel()
		err = errors.Join(err, whole.CleanupRBAC(clean), whole.CleanupInputs(clean))
	}()
	if err := whole.EnsureRBAC(ctx); err != nil {
		return nil, err
	}
	if err := whole.EnsureInputs(ctx, in.Snapshot, in.Recipe); err != nil {
		return nil, err
	}
	failed := ""
	for i, run := range runs {
		if failed != "" {
			results = append(results, &ValidationResult{
				CheckName: run.TestPattern, Phase: string(phases[i].Phase), Status: StatusSkip,
				Message: fmt.Sprintf("not run, since the phase %s failed", failed),
			})
			continue
		}
		r, err := NewDeployer(clientset, run).runPhase(ctx)
		if err != nil {
			return results, fmt.Errorf("run the phase %s as a Job: %w", phases[i].Phase, err)
		}
		results = append(results, r)
		if r.Status == StatusFail {
			failed = r.Phase
		}
	}
	return results, nil
}

// plan is the configuration of each phase's Job. Names that are no check are refused.
func plan(config Config, phases []PhaseChecks) ([]Config, error) {
	var runs []Config
	for _, p := range phases {
		run := config
		run.JobName, run.TestPackage = config.JobName+"-"+string(p.Phase), "checks/"+string(p.Phase)
		var checks []*validate.Check
		run.Rules = []rbacv1.PolicyRule{}
		for _, name := range p.Checks {
			c, ok := validate.Lookup(name)
			if !ok || c.Phase != p.Phase {
				return nil, reason.New(reason.Usage, "%q is no check of the phase %s; see the table of checks in docs/aicr-validate.md", name, p.Phase)
			}
			checks = append(checks, c)
			run.Rules = append(run.Rules, c.Rules...)
		}
		if len(checks) == 0 {
			return nil, reason.New(reason.Usage, "the phase %s has no check to run as a Job", p.Phase)
		}
		run.TestPattern, run.ExpectedTests = Pattern(checks), len(checks)
		if err := run.check(); err != nil {
			return nil, err
		}
		runs = append(runs, run)
	}
	return runs, nil
}

// runPhase runs the Job of one phase and removes it.
func (d *Deployer) runPhase(ctx context.Context) (result *ValidationResult, err error) {
	defer func() {
		if !d.config.Cleanup {
			return
		}
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupBudget)
		defer cancel()
		err = errors.Join(err, d.CleanupJob(clean))
	}()
	if err := d.DeployJob(ctx); err != nil {
		return nil, err
	}
	done := d.WaitForCompletion(ctx, d.config.Timeout)
	var job *JobError
	if done != nil && (!errors.As(done, &job) || job.Failure != Exited) {
		return nil, done
	}
	r, err := d.GetResult(ctx)
	switch {
	case err != nil:
		return nil, errors.Join(done, err)
	case done != nil && r.Status != StatusFail:
		return nil, fmt.Errorf("%w; its results do not say why", done)
	}
	return r, nil
}
