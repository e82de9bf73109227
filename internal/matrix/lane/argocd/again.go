package argocd

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// healFor is how long an Application that a hard refresh finds OutOfSync may take to be synced by
// self-heal, whose first attempts come within seconds.
const healFor = 15 * time.Second

// Again applies the root once more and asks for a hard refresh of every Application: Argo CD pulls
// and renders again, without its cache. Self-heal syncs what differs then. A lane that turns
// automated sync off syncs by itself, as `argocd app sync` does.
func (l *appLane) Again(ctx context.Context, env *lane.Env, budget time.Duration) error {
	if err := l.Deploy(ctx, env); err != nil {
		return err
	}
	return l.refreshHard(ctx, env, budget)
}

// Again upgrades the wrapper chart to itself first.
func (l helmLane) Again(ctx context.Context, env *lane.Env, budget time.Duration) error {
	if err := l.Deploy(ctx, env); err != nil {
		return err
	}
	return l.refreshHard(ctx, env, budget)
}

// Again applies the ApplicationSet once more first.
func (l appSetLane) Again(ctx context.Context, env *lane.Env, budget time.Duration) error {
	if err := l.Deploy(ctx, env); err != nil {
		return err
	}
	return l.refreshHard(ctx, env, budget)
}

func (l *appLane) refreshHard(ctx context.Context, env *lane.Env, budget time.Duration) error {
	apps, err := applications(ctx, env)
	if err != nil {
		return reason.Wrap(reason.ClusterFailed, err)
	}
	round := &refreshRound{before: apps, compared: map[string]time.Time{}, synced: map[string]bool{}}
	for name := range apps {
		if err := askRefresh(ctx, env, name, "hard"); err != nil {
			return reason.New(reason.ClusterFailed, "ask for a hard refresh of Application %s: %w", name, err)
		}
	}
	err = wait.For(ctx, "the hard refresh of every Application", wait.Options{Budget: budget, Interval: 500 * time.Millisecond, Changed: env.Tell}, func(ctx context.Context) wait.Result {
		apps, err := applications(ctx, env)
		if err != nil {
			return wait.NotYet("%v", err)
		}
		return round.poll(ctx, env, apps)
	})
	if wait.IsTimeout(err) {
		return reason.Wrap(l.TimeoutReason(), err)
	}
	return err
}

func patchApplication(ctx context.Context, env *lane.Env, name, patch string) error {
	_, err := env.Clients.Dynamic.Resource(infra.ApplicationGVR).Namespace(infra.ArgoCDNamespace).Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

// refreshRound is one hard refresh of every Application.
type refreshRound struct {
	before   map[string]*unstructured.Unstructured
	compared map[string]time.Time // when an Application was first seen compared, on this clock
	synced   map[string]bool      // those for which this program asked for a sync
}

// poll is done when every Application was compared and is Synced, or has stayed OutOfSync.
func (r *refreshRound) poll(ctx context.Context, env *lane.Env, apps map[string]*unstructured.Unstructured) wait.Result {
	var open []string
	for name, app := range apps {
		if why := r.open(name, app); why != "" {
			open = append(open, name+" "+why)
		} else if outOfSync(app) && !healsItself(app) && !r.synced[name] {
			if err := patchApplication(ctx, env, name, syncPatch(app)); err != nil {
				return wait.NotYet("sync Application %s: %v", name, err)
			}
			r.synced[name], r.compared[name] = true, time.Now()
			open = append(open, name+" is being synced")
		}
	}
	if len(open) == 0 {
		return wait.Done()
	}
	slices.Sort(open)
	return wait.NotYet("%s", strings.Join(open, ", "))
}

// open says why an Application has not settled; empty if it has.
func (r *refreshRound) open(name string, app *unstructured.Unstructured) string {
	if _, asked := app.GetAnnotations()[refreshAnnotation]; asked { // the controller removes it with the status
		return "is being compared"
	}
	if was := r.before[name]; was != nil && statusText(app, "reconciledAt") < statusText(was, "reconciledAt") {
		return "is being compared"
	}
	if r.compared[name].IsZero() {
		r.compared[name] = time.Now()
	}
	_, asked, _ := unstructured.NestedMap(app.Object, "operation")
	switch {
	case asked || statusText(app, "operationState", "phase") == "Running":
		return "is being synced"
	case outOfSync(app) && (healsItself(app) || r.synced[name]) && time.Since(r.compared[name]) < healFor:
		return "is OutOfSync"
	}
	return ""
}

func outOfSync(app *unstructured.Unstructured) bool {
	return statusText(app, "sync", "status") == "OutOfSync"
}

func healsItself(app *unstructured.Unstructured) bool {
	heals, _, _ := unstructured.NestedBool(app.Object, "spec", "syncPolicy", "automated", "selfHeal")
	return heals
}

// syncPatch asks for a sync with the Application's own options.
func syncPatch(app *unstructured.Unstructured) string {
	options, _, _ := unstructured.NestedStringSlice(app.Object, "spec", "syncPolicy", "syncOptions")
	quoted := make([]string, len(options))
	for i, o := range options {
		quoted[i] = fmt.Sprintf("%q", o)
	}
	return `{"operation":{"initiatedBy":{"username":"matrix"},"sync":{"syncOptions":[` + strings.Join(quoted, ",") + `],"syncStrategy":{"hook":{}}}}}`
}

func statusText(app *unstructured.Unstructured, fields ...string) string {
	s, _, _ := unstructured.NestedString(app.Object, append([]string{"status"}, fields...)...)
	return s
}

// HealsWithin is how long self-heal may take to write back what another program has changed. It
// starts after 30 s here (docs/contributing/internals.md).
func (l *appLane) HealsWithin() time.Duration { return 45 * time.Second }
