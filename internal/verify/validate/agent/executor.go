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

	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/verify/validate"
)

// Documents are what the checks read, as YAML. Without a snapshot the Job has none.
type Documents struct{ Snapshot, Recipe []byte }

// Jobs runs the checks of each phase in a separate Job. Of the configuration, it sets JobName (with
// the phase at its end), TestPackage, TestPattern, ExpectedTests and Rules: a Job gets only the
// permissions that its checks need.
type Jobs struct {
	clientset kubernetes.Interface
	config    Config
	documents Documents
	// results are those of the phases that have run; unstored is why they could not be written to
	// Config.ResultConfigMap.
	results  []*ValidationResult
	unstored error
}

var _ validate.Executor = (*Jobs)(nil)

// NewJobs returns an executor. Close must be called.
func NewJobs(clientset kubernetes.Interface, config Config, documents Documents) *Jobs {
	if documents.Snapshot == nil {
		config.SnapshotConfigMap = ""
	}
	return &Jobs{clientset: clientset, config: config, documents: documents}
}

// pattern is the test pattern that runs exactly these checks.
func pattern(checks []*validate.Check) string {
	var names []string
	for _, c := range checks {
		names = append(names, regexp.QuoteMeta(c.TestName()))
	}
	return "^(" + strings.Join(names, "|") + ")$"
}

// cleanupBudget is how long removing all objects may take after a run, regardless of how it ended.
const cleanupBudget = 2 * time.Minute

// RunPhase runs the checks of a phase in a Job. Errors are a *JobError, or the API server's.
func (j *Jobs) RunPhase(ctx context.Context, phase validate.Phase, items []validate.Item, _ validate.Inputs) ([]validate.Outcome, error) {
	d := j.deployer(phase, items)
	if err := d.EnsureRBAC(ctx); err != nil {
		return nil, err
	}
	if err := d.EnsureInputs(ctx, j.documents.Snapshot, j.documents.Recipe); err != nil {
		return nil, err
	}
	r, err := d.runJob(ctx)
	if err != nil {
		return nil, err
	}
	j.results = append(j.results, r)
	if name := j.config.ResultConfigMap; name != "" {
		j.unstored = d.StoreResults(ctx, name, j.results) // Close says so: the results themselves are not lost
	}
	return outcomes(r, items)
}

// deployer is that of one phase.
func (j *Jobs) deployer(phase validate.Phase, items []validate.Item) *Deployer {
	c := j.config
	c.JobName, c.TestPackage, c.Rules = c.JobName+"-"+string(phase), "checks/"+string(phase), []rbacv1.PolicyRule{}
	var checks []*validate.Check
	for i := range items {
		checks = append(checks, items[i].Check)
		c.Rules = append(c.Rules, items[i].Check.Rules...)
	}
	c.TestPattern, c.ExpectedTests = pattern(checks), len(checks)
	return NewDeployer(j.clientset, c)
}

// outcomes are those of the items, in their order.
func outcomes(r *ValidationResult, items []validate.Item) ([]validate.Outcome, error) {
	byTest := map[string]*TestResult{}
	for i := range r.Tests {
		byTest[r.Tests[i].Name] = &r.Tests[i]
	}
	var all []validate.Outcome
	for i := range items {
		t := byTest[items[i].Check.TestName()]
		if t == nil {
			return nil, fmt.Errorf("%s has no result of the check %s: %s", named("Job", fmt.Sprint(r.Details["namespace"]), fmt.Sprint(r.Details["job"])), items[i].Name, r.Message)
		}
		out, ok := t.Outcome()
		if !ok || out.Status != t.Status {
			out = validate.Outcome{
				Status: result.StepFailed, Message: "the check ended before it had an outcome", Details: t.Output, Component: items[i].Check.Component, Duration: t.Duration,
			}
		}
		all = append(all, out)
	}
	return all, nil
}

// Results are those of the phases that have run.
func (j *Jobs) Results() []*ValidationResult { return j.results }

// Close removes the permissions and inputs, unless Config.Cleanup is not set. It does so even if
// ctx has ended. The results in Config.ResultConfigMap stay; the error says if they could not be
// written.
func (j *Jobs) Close(ctx context.Context) error {
	if !j.config.Cleanup {
		return j.unstored
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupBudget)
	defer cancel()
	d := NewDeployer(j.clientset, j.config)
	return errors.Join(j.unstored, d.CleanupRBAC(ctx), d.CleanupInputs(ctx))
}

// runJob runs the Job of one phase, and always removes it.
func (d *Deployer) runJob(ctx context.Context) (_ *ValidationResult, err error) {
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
	case done != nil && r.Status != result.StepFailed:
		return nil, fmt.Errorf("%w; its results do not say why", done)
	}
	return r, nil
}
