// Package argocd has the lanes of Argo CD: argocd-oci, argocd-git, argocd-helm-oci and argocd-appset. It knows
// Applications, their states and their records. It must not know how Argo CD's processes are
// started, which the cluster does, or how long the gate waits.
package argocd

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
)

// appLane is argocd-oci and argocd-git: the app-of-apps is applied, Argo CD pulls the bundle as one
// OCI artifact or from a Git repository.
type appLane struct {
	lane.GitOps
	d bundle.Deployer
	// localPath is the path of a manifest-only component's chart in the bundle.
	localPath func(release string) string
}

// New returns the lane argocd-oci or argocd-git, for one cell.
func New(d bundle.Deployer) lane.Lane { return newAppLane(d) }

func newAppLane(d bundle.Deployer) *appLane {
	return &appLane{
		GitOps: lane.GitOps{Kind: infra.ArgoCDControllers}, d: d,
		localPath: func(release string) string { return release + "/chart" },
	}
}

var _ lane.Lane = (*appLane)(nil)

func (l *appLane) Deployer() bundle.Deployer { return l.d }

// Order is that of an Application: its hooks and sync waves. Waves do not gate the Applications
// themselves, unless the user's Argo CD has a health check for them.
func (l *appLane) Order(env *lane.Env) lane.Order {
	gated := env.Bundle != nil && slices.ContainsFunc(env.Bundle.Expectation.Delivered, func(d bundle.Delivered) bool { return !d.Root && len(d.DependsOn) > 0 })
	return lane.Order{ArgoCD: true, Heals: true, Ready: true, Releases: gated}
}

func (l *appLane) Deploy(ctx context.Context, env *lane.Env) error {
	roots := bundle.ArgoRoots(env.Input)
	if f := env.Bundle.Foreign; f != nil && len(f.Roots) > 0 {
		roots = f.Roots
	}
	if err := lane.ApplyObjects(ctx, env, roots...); err != nil {
		return err
	}
	return notify(ctx, env)
}

// Artifacts has upstream's file names.
func (l *appLane) Artifacts() lane.Artifacts {
	return lane.Artifacts{
		Dumps: []lane.ObjectDump{{
			Name: "argo-apps.yaml", What: "the Applications: kubectl get applications.argoproj.io -n argocd -o yaml",
			Namespace: infra.ArgoCDNamespace, Resources: []schema.GroupVersionResource{infra.ApplicationGVR},
		}},
		Logs: []lane.LogTail{
			{
				Name: "argo-reposerver.log", What: "Argo CD's repo-server, which pulls and renders: last 500 lines", Component: infra.ArgoCDRepoServer, Pulls: true,
				Lead: "it pulls and renders: wrong schemes, media types and tags show here first",
			},
			{
				Name: "argo-appcontroller.log", What: "Argo CD's application-controller, which compares and applies: last 500 lines", Component: infra.ArgoCDController,
				Lead: "what it compared and applied, and when",
			},
		},
	}
}

// Poll reads the root and every expected Application by name.
func (l *appLane) Poll(ctx context.Context, env *lane.Env) (lane.State, error) {
	apps, err := applications(ctx, env)
	if err != nil {
		return lane.State{}, err
	}
	e := env.Bundle.Expectation
	l.refresh(ctx, env, apps)
	state := lane.State{RootSeen: true}
	var root lane.ItemState // the last one's
	roots := map[string]lane.ItemState{}
	for _, d := range e.Delivered { // the roots come first
		app := apps[d.Name]
		it := applicationItem(d.Name, app, d.Root)
		it.Ref = d.Ref
		switch {
		case d.Root:
			if text := unconfirmed(apps, e); env.Before != nil && text != "" {
				it.State, it.Text = lane.ItemFailed, text
			}
			state.RootSeen, root = state.RootSeen && app != nil, it.State
			roots[d.Name] = root
		case app == nil:
			of := root
			if d.Of != "" {
				of = roots[d.Of]
			}
			if of == lane.ItemSuspect || of == lane.ItemFailed {
				it.State = lane.ItemBlocked
			}
		}
		if !d.Root {
			neverComes(&it, e)
			if env.Before != nil || hasNothing(app, e) {
				nothingToSync(&it, app)
			}
		}
		state.Items = append(state.Items, it)
	}
	return state, nil
}

// applications returns those of Argo CD's namespace, by name.
func applications(ctx context.Context, env *lane.Env) (map[string]*unstructured.Unstructured, error) {
	list, err := env.Clients.Dynamic.Resource(infra.ApplicationGVR).Namespace(infra.ArgoCDNamespace).List(ctx, metav1.ListOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("list Applications: %w", err)
	}
	apps := map[string]*unstructured.Unstructured{}
	for i := range list.Items {
		apps[list.Items[i].GetName()] = &list.Items[i]
	}
	return apps, nil
}

// neverComes marks an Application that waits for a kind which no component installs.
func neverComes(it *lane.Item, e bundle.Expectation) {
	if it.State != lane.ItemWaiting {
		return
	}
	if why := lane.NeverComes(it.Text, e); why != "" {
		it.State, it.Text = lane.ItemSuspect, it.Text+"\n"+why
	}
}

// quietFor is how long no Application was compared or synced when the controller counts as waiting.
const quietFor = 2 * time.Second

// refresh requests a new comparison of the Applications that are not ready if the controller is
// idle, as `argocd app get --refresh` does. The controller compares when an object changes, and
// otherwise once in a period. It misses a change that it saw before it watched the object's kind,
// and would wait for the rest of the period. A refresh does not change what a comparison finds.
func (l *appLane) refresh(ctx context.Context, env *lane.Env, apps map[string]*unstructured.Unstructured) {
	for _, app := range apps {
		for _, field := range [][]string{{"reconciledAt"}, {"operationState", "startedAt"}, {"operationState", "finishedAt"}} {
			at, _, _ := unstructured.NestedString(app.Object, append([]string{"status"}, field...)...)
			if t, err := time.Parse(time.RFC3339, at); err == nil && time.Since(t) < quietFor {
				return
			}
		}
	}
	for name, app := range apps {
		if applicationItem(name, app, isRoot(env.Bundle.Expectation, app)).State == lane.ItemGood {
			continue
		}
		if _, asked := app.GetAnnotations()[refreshAnnotation]; asked { // the controller removes it after the comparison
			continue
		}
		if err := askRefresh(ctx, env, name, "normal"); err != nil {
			env.Log.Debug("ask for a refresh", "application", name, "error", err) // the next poll asks again
		}
	}
}

// isRoot reports whether the Application is the one that creates the others.
func isRoot(e bundle.Expectation, app *unstructured.Unstructured) bool {
	return slices.ContainsFunc(e.Delivered, func(d bundle.Delivered) bool {
		return d.Root && d.Namespace == app.GetNamespace() && d.Name == app.GetName()
	})
}

// askRefresh asks for a comparison of an Application: normal, or hard, which renders without Argo
// CD's cache.
func askRefresh(ctx context.Context, env *lane.Env, name, kind string) error {
	return patchApplication(ctx, env, name, `{"metadata":{"annotations":{"`+refreshAnnotation+`":"`+kind+`"}}}`)
}

const refreshAnnotation = "argocd.argoproj.io/refresh"

// applicationRef returns the reference to an Application of the cell.
func applicationRef(name string) result.Ref {
	return result.Ref{Group: infra.ApplicationGVR.Group, Kind: "Application", Namespace: infra.ArgoCDNamespace, Name: name}
}
