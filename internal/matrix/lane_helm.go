package matrix

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"helm.sh/helm/v3/pkg/action"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/reason"
)

// helmLane installs the releases one after another in deploymentOrder with Helm's SDK, without waiting for readiness: what the
// bundle's deploy.sh does (a test runs that too).
type helmLane struct {
	d bundle.Deployer

	cancel context.CancelFunc
	done   chan struct{}

	mu    sync.Mutex
	items []Item
}

func newHelmLane(d bundle.Deployer) Lane { return &helmLane{d: d} }

var _ Lane = (*helmLane)(nil)

// hookTimeout is Helm's own default for `helm upgrade --install`: how long it waits for a hook.
const hookTimeout = 5 * time.Minute

func (l *helmLane) Deployer() bundle.Deployer { return l.d }

func (l *helmLane) Groups() []infra.Group { return nil }

func (l *helmLane) Install(context.Context, *Env) error { return nil }

// Publish does nothing: Helm installs from the file system.
func (l *helmLane) Publish(context.Context, *Env) error { return nil }

// Budget has no grace: there is no root object.
func (l *helmLane) Budget(b Budgets) (time.Duration, time.Duration) { return 0, b.Scheduling }

// TimeoutReason: only GitOps lanes can end with a sync timeout (seed).
func (l *helmLane) TimeoutReason() reason.Reason { return reason.SchedulingFailed }

// Deploy starts installing. It goes on in the background while the gate looks, so that a hook whose pod cannot be scheduled is seen
// at once and not after Helm's timeout.
func (l *helmLane) Deploy(ctx context.Context, env *Env) error {
	installs := env.Bundle.Installs
	for _, in := range installs {
		l.items = append(l.items, Item{ID: "Release " + in.Release.Name, State: ItemBlocked, Text: "not installed yet"})
	}
	ctx, l.cancel = context.WithCancel(ctx)
	l.done = make(chan struct{})
	go func() {
		defer close(l.done)
		for i, in := range installs {
			l.set(i, ItemWaiting, "is being installed")
			if err := installRelease(ctx, env, in); err != nil {
				l.set(i, ItemFailed, fmt.Sprintf("install chart %s %s: %s", in.Release.Chart, in.Release.ChartVersion, helmError(err)))
				return
			}
			l.set(i, ItemGood, "deployed")
		}
	}()
	return nil
}

func (l *helmLane) set(i int, s ItemState, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.items[i].State, l.items[i].Text = s, text
}

// errorList is the head that Helm puts before the errors of several objects, or of one.
var errorList = regexp.MustCompile(`\d+ errors? occurred:\s*\n\s*\* `)

// helmError begins with what the API server said: the first line of a failure is what a person reads (faults F37).
func helmError(err error) string {
	lines := strings.Split(strings.TrimSpace(errorList.ReplaceAllString(err.Error(), "")), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimPrefix(strings.TrimSpace(l), "* ")
	}
	return strings.Join(lines, "\n")
}

// installRelease is `helm upgrade --install` of a release that does not exist yet, which a fresh cluster guarantees.
func installRelease(ctx context.Context, env *Env, in bundle.Install) error {
	cfg, err := helmConfig(ctx, env, in.Release.Namespace)
	if err != nil {
		return err
	}
	install := action.NewInstall(cfg)
	install.ReleaseName = in.Release.Name
	install.Namespace = in.Release.Namespace
	install.CreateNamespace = true
	install.Timeout = hookTimeout
	_, err = install.RunWithContext(ctx, bundle.CloneChart(in.Chart), in.Values)
	return err
}

func (l *helmLane) Look(context.Context, *Env) (LaneState, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return LaneState{RootSeen: true, Items: append([]Item(nil), l.items...)}, nil
}

func (l *helmLane) Stop() {
	if l.cancel != nil {
		l.cancel()
		<-l.done
	}
}
