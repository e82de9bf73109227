// Package validate compares a cluster with the recipe that it was made by: the recipe's constraints
// with the readings of a snapshot, and the checks that the recipe's validation block names with the
// cluster itself. It must not know where it runs (in aicr, in a Job of the validation agent, in a
// cell of matrix), or how its results are printed.
package validate

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/verify/snapshot"
)

// Phase is a key of a recipe's validation block.
type Phase string

// The phases, in the order in which they run. A phase that fails keeps later ones from running.
const (
	Readiness   Phase = "readiness"   // before anything is deployed: the constraints on the system
	Deployment  Phase = "deployment"  // the components are there and healthy
	performance Phase = "performance" // the hardware is as fast as it should be
	Conformance Phase = "conformance" // the cluster does what AI workloads need
)

// Phases are all phases, in order.
func Phases() []Phase { return []Phase{Readiness, Deployment, performance, Conformance} }

// Check is one row of Table.
type Check struct {
	// Name is what a recipe's validation block calls it, e.g. operator-health.
	Name  string
	Phase Phase
	// Title says in one line what holds if it passed.
	Title string
	// Component is the recipe's component that the check is about; empty if there is no single one.
	// An Outcome may name another.
	Component string
	// Constraints are the names of constraints that the check evaluates, whether or not the recipe
	// names the check as well.
	Constraints []string
	// Rules are what it may do in the cluster; all of them read.
	Rules []rbacv1.PolicyRule
	run   runFunc
}

type runFunc = func(ctx context.Context, in Inputs) (Outcome, error)

// Inputs are what a check reads.
type Inputs struct {
	// Recipe is the resolved recipe that the cluster was made by.
	Recipe *recipe.Result
	// Snapshot is what was measured of the cluster; nil if nothing was.
	Snapshot *snapshot.Snapshot
	// Kube and Dynamic are clients of the cluster, with the permissions of Check.Rules.
	Kube    kubernetes.Interface
	Dynamic dynamic.Interface
	// Constraints are those of the check's phase that the check evaluates: the ones that have its
	// name.
	Constraints []recipe.Constraint
}

// Outcome is what a check found.
type Outcome struct {
	Status result.StepStatus `json:"status"`
	// Message is one line: what holds, what does not, or why this cannot be checked here.
	Message string `json:"message"`
	// Component is the recipe's component that is to blame; empty if unknown.
	Component string `json:"component,omitempty"`
	// Place is the line of the recipe with the violated requirement, if the check knows a more
	// precise line than that which requires the check.
	Place result.Place `json:"place,omitzero"`
	// Details are the lines that a person reads next, e.g. one for each object that is not ready.
	Details []string `json:"details,omitempty"`
	// Actual is what was measured for the check's first constraint; empty if nothing was.
	Actual string `json:"actual,omitempty"`
	// Final: a failure that waiting cannot fix, e.g. another version than the recipe requires.
	Final bool `json:"final,omitempty"`
	// Duration is what the check took.
	Duration time.Duration `json:"durationNs,omitempty"`
}

// timeout is what one check may take.
const timeout = 2 * time.Minute

// TestName is the name of the Go test that runs the check in a Job: TestOperatorHealth for
// operator-health.
func (c *Check) TestName() string {
	name := "Test"
	for _, word := range strings.FieldsFunc(c.Name, func(r rune) bool { return r == '-' || r == '.' || r == '_' }) {
		name += strings.ToUpper(word[:1]) + word[1:]
	}
	return name
}

// Run runs the check, within Timeout. It never panics. A request that the API server forbids fails
// the check with a message that names the missing permission. A cluster that cannot be read fails
// the check too, since no requirement was verified.
func (c *Check) Run(ctx context.Context, in Inputs) (out Outcome) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	start := time.Now()
	defer func() {
		if v := recover(); v != nil {
			out = Outcome{Status: result.StepFailed, Message: fmt.Sprintf("the check itself failed; this is a bug: %v", v), Details: strings.Split(string(debug.Stack()), "\n")}
		}
		if out.Component == "" {
			out.Component = c.Component
		}
		out.Duration = time.Since(start)
	}()
	out, err := c.run(ctx, in)
	switch {
	case err == nil:
		return out
	case apierrors.IsForbidden(err):
		return Outcome{Status: result.StepFailed, Message: fmt.Sprintf("the check %s needs a permission that its Role lacks: %v", c.Name, err), Final: true}
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return Outcome{Status: result.StepFailed, Message: fmt.Sprintf("the check %s had no answer from the cluster within %s: %v", c.Name, timeout, err)}
	}
	return Outcome{Status: result.StepFailed, Message: fmt.Sprintf("the check %s could not read the cluster: %v", c.Name, err)}
}
