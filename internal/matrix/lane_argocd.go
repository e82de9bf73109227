package matrix

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/cli"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/reason"
	"github.com/nvidia/aicr-action/internal/result"
)

// argoCDLane is argocd-oci: the app-of-apps is applied, Argo CD pulls the bundle as one OCI artifact.
type argoCDLane struct {
	d    bundle.Deployer
	argo infra.Controllers
}

func newArgoCDLane(d bundle.Deployer) Lane { return &argoCDLane{d: d} }

var _ Lane = (*argoCDLane)(nil)

func (l *argoCDLane) Deployer() bundle.Deployer { return l.d }

func (l *argoCDLane) Controllers() []infra.ControllerKind {
	return []infra.ControllerKind{infra.ArgoCDControllers}
}

func (l *argoCDLane) Install(ctx context.Context, env *Env) error {
	l.argo = env.Cluster.ArgoCD(infra.ArgoCDOptions{Health: env.Health})
	if err := l.argo.Install(ctx); err != nil {
		return err
	}
	return l.argo.Start(ctx)
}

func (l *argoCDLane) Publish(ctx context.Context, env *Env) ([]bundle.Published, error) {
	return publishArtifact(ctx, env)
}

func (l *argoCDLane) Deploy(ctx context.Context, env *Env) error {
	return applyObjects(ctx, env, bundle.ArgoRoot(env.Input))
}

func (l *argoCDLane) Budget(b Budgets) (time.Duration, time.Duration) {
	return b.ArgoCDRootGrace, b.ArgoCDSync
}

func (l *argoCDLane) TimeoutReason() reason.Reason { return reason.SyncTimeout }

// Evidence has upstream's file names.
func (l *argoCDLane) Evidence() LaneEvidence {
	return LaneEvidence{
		Dumps: []ObjectDump{{
			Name: "argo-apps.yaml", What: "the Applications: kubectl get applications.argoproj.io -n argocd -o yaml",
			Namespace: infra.ArgoCDNamespace, Resources: []schema.GroupVersionResource{infra.ApplicationGVR},
		}},
		Logs: []LogTail{
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

func (l *argoCDLane) Stop() {
	if l.argo != nil {
		l.argo.Stop()
	}
}

// argoCDHelmLane is argocd-helm-oci: a wrapper chart, pulled from the registry by Helm and then by Argo CD, renders the Applications.
type argoCDHelmLane struct{ argoCDLane }

func newArgoCDHelmLane(d bundle.Deployer) Lane { return &argoCDHelmLane{argoCDLane{d: d}} }

var _ Lane = (*argoCDHelmLane)(nil)

func (l *argoCDHelmLane) Publish(ctx context.Context, env *Env) ([]bundle.Published, error) {
	wrapper, err := env.Bundle.Chart("")
	if err != nil {
		return nil, reason.New(reason.PublishFailed, "read the wrapper chart: %w", err)
	}
	pushed, err := bundle.PushChart(ctx, wrapper, strings.TrimSuffix(env.pushURL(env.Input.RepoURL), "/"+wrapper.Name()), true)
	if err != nil {
		return nil, reason.New(reason.PublishFailed, "push the wrapper chart: %w", err)
	}
	return []bundle.Published{pushed}, nil
}

// Deploy is `helm upgrade --install <recipe>-stack oci://…/aicr/<recipe> --version TAG -n argocd --plain-http --set repoURL=… --set
// targetRevision=TAG`.
func (l *argoCDHelmLane) Deploy(ctx context.Context, env *Env) error {
	cfg, err := helmConfig(ctx, env, infra.ArgoCDNamespace)
	if err != nil {
		return reason.Wrap(reason.DeployFailed, err)
	}
	name := bundle.RecipeName(env.Input.Recipe)
	install := action.NewInstall(cfg)
	install.ReleaseName = bundle.WrapperRelease(name)
	install.Namespace = infra.ArgoCDNamespace
	install.Version = env.Input.TargetRevision
	install.PlainHTTP = true
	install.Timeout = hookTimeout
	settings := cli.New()
	settings.RepositoryCache = filepath.Join(env.Dir, "helm", "cache")
	settings.RepositoryConfig = filepath.Join(env.Dir, "helm", "repositories.yaml")
	ref := env.pushURL(env.Input.RepoURL)
	path, err := install.LocateChart(ref, settings)
	if err != nil {
		return reason.New(reason.DeployFailed, "helm pull %s --version %s: %w", ref, install.Version, err)
	}
	wrapper, err := loader.Load(path)
	if err != nil {
		return reason.New(reason.DeployFailed, "load the wrapper chart: %w", err)
	}
	values := map[string]any{"repoURL": env.Input.RepoURL, "targetRevision": env.Input.TargetRevision}
	if _, err := install.RunWithContext(ctx, wrapper, values); err != nil {
		return reason.New(reason.DeployFailed, "install the wrapper chart: %w", err)
	}
	return nil
}

// publishArtifact pushes the bundle as one OCI artifact.
func publishArtifact(ctx context.Context, env *Env) ([]bundle.Published, error) {
	pushed, err := bundle.PublishArtifact(ctx, env.Bundle, env.pushURL(env.Input.RepoURL)+":"+env.Input.TargetRevision, true)
	if err != nil {
		return nil, reason.New(reason.PublishFailed, "push the bundle: %w", err)
	}
	return []bundle.Published{pushed}, nil
}

func applyObjects(ctx context.Context, env *Env, objs ...*unstructured.Unstructured) error {
	for _, o := range objs {
		if err := env.Clients.Apply(ctx, infra.ResourceFor(o.GroupVersionKind()), o); err != nil {
			return reason.Wrap(reason.DeployFailed, err)
		}
	}
	return nil
}

// Look reads the root and every expected Application by name.
func (l *argoCDLane) Look(ctx context.Context, env *Env) (LaneState, error) {
	list, err := env.Clients.Dynamic.Resource(infra.ApplicationGVR).Namespace(infra.ArgoCDNamespace).List(ctx, metav1.ListOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return LaneState{}, fmt.Errorf("list Applications: %w", err)
	}
	apps := map[string]*unstructured.Unstructured{}
	for i := range list.Items {
		apps[list.Items[i].GetName()] = &list.Items[i]
	}
	e := env.Bundle.Expectation
	l.refresh(ctx, env, apps)
	var state LaneState
	var root ItemState
	for _, d := range e.Delivered { // the root is the first
		app := apps[d.Name]
		it := applicationItem(d.Name, app, d.Root)
		it.Ref = d.Ref
		switch {
		case d.Root:
			state.RootSeen, root = app != nil, it.State
		case app == nil && (root == ItemSuspect || root == ItemFailed):
			it.State = ItemBlocked
		}
		if kind, ok := nobodyBrings(it.Text, e); ok && !d.Root && it.State == ItemWaiting {
			it.State, it.Text = ItemSuspect, it.Text+"\nno component of the recipe brings "+kind
		}
		state.Items = append(state.Items, it)
	}
	return state, nil
}

// quietFor: when no Application was compared or synced for this long, the controller waits for something.
const quietFor = 2 * time.Second

// refresh asks a controller that stands still for a new comparison, as `argocd app get --refresh` does, of the Applications that are not
// there yet. The controller compares when an object changes and otherwise once in a period; a change that it saw before it watched the
// object's kind is lost on it, and the rest of the period would be waited out. What a comparison finds is not touched by this.
func (l *argoCDLane) refresh(ctx context.Context, env *Env, apps map[string]*unstructured.Unstructured) {
	for _, app := range apps {
		for _, field := range [][]string{{"reconciledAt"}, {"operationState", "startedAt"}, {"operationState", "finishedAt"}} {
			at, _, _ := unstructured.NestedString(app.Object, append([]string{"status"}, field...)...)
			if t, err := time.Parse(time.RFC3339, at); err == nil && time.Since(t) < quietFor {
				return
			}
		}
	}
	for name, app := range apps {
		if applicationItem(name, app, isRoot(env.Bundle.Expectation, app)).State == ItemGood {
			continue
		}
		if _, asked := app.GetAnnotations()[refreshAnnotation]; asked { // the controller takes it off when it has compared
			continue
		}
		patch := []byte(`{"metadata":{"annotations":{"` + refreshAnnotation + `":"normal"}}}`)
		if _, err := env.Clients.Dynamic.Resource(infra.ApplicationGVR).Namespace(infra.ArgoCDNamespace).
			Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			env.Log.Debug("ask for a refresh", "application", name, "error", err) // the next look asks again
		}
	}
}

// isRoot reports whether the Application is the one that makes the others.
func isRoot(e bundle.Expectation, app *unstructured.Unstructured) bool {
	return slices.ContainsFunc(e.Delivered, func(d bundle.Delivered) bool {
		return d.Root && d.Namespace == app.GetNamespace() && d.Name == app.GetName()
	})
}

const refreshAnnotation = "argocd.argoproj.io/refresh"

// applicationRef names an Application of the cell.
func applicationRef(name string) result.Ref {
	return result.Ref{Group: infra.ApplicationGVR.Group, Kind: "Application", Namespace: infra.ArgoCDNamespace, Name: name}
}

// applicationItem applies the rules for one Application (lanes: what passes): operation Succeeded, and Synced with Healthy (the
// canonical state), Progressing or Degraded, or OutOfSync with Healthy.
func applicationItem(name string, app *unstructured.Unstructured, root bool) Item {
	it := Item{ID: "Application " + name, Ref: applicationRef(name)}
	if app == nil {
		it.Text = "does not exist yet"
		return it
	}
	get := func(fields ...string) string {
		s, _, _ := unstructured.NestedString(app.Object, append([]string{"status"}, fields...)...)
		return s
	}
	sync, health := get("sync", "status"), get("health", "status")
	phase, message := get("operationState", "phase"), get("operationState", "message")
	it.Text = fmt.Sprintf("%s, %s, operation %s", orNone(sync), orNone(health), orNone(phase))
	if !root { // its own is its children's
		it.timing = applicationTiming(app)
	}
	if kind, text := errorCondition(app); kind != "" {
		it.State, it.Text = ItemSuspect, kind+": "+text
		switch {
		case schemaTooOld(text):
			it.Reason = reason.ArgoCDSchemaTooOld
		case schemaBehind(text):
			it.Reason, it.Patience = reason.ArgoCDSchemaTooOld, schemaPatience
		}
		return it
	}
	if refused, again := failedResources(app); phase != "Succeeded" && len(refused)+len(again) > 0 {
		it.Text = strings.Join(append(refused, again...), "\n")
		switch {
		case len(refused) > 0:
			it.State = ItemFailed
		case phase == "Failed" || phase == "Error": // its retries are used up
			it.State = ItemSuspect
		}
		return it
	}
	switch phase {
	case "Failed", "Error":
		it.State, it.Text = ItemFailed, "sync "+strings.ToLower(phase)+": "+message
		if retryable(message) {
			it.State = ItemSuspect
		}
		return it
	case "Succeeded":
	default:
		if message != "" {
			it.Text += ": " + message
		}
		return it
	}
	if hm := get("health", "message"); hm != "" {
		it.Text += ": " + hm
	}
	switch {
	case sync == "Synced" && health == "Healthy":
		it.State = ItemGood
	case root && sync == "Synced":
		it.State = ItemGood // the root's operation is what counts; its health is its children's
	case sync == "Synced" && (health == "Progressing" || health == "Degraded"), sync == "OutOfSync" && health == "Healthy":
		it.State = ItemAccepted
	}
	return it
}

// schemaTooOld: a field that the API server keeps in a live object is one that it knows, so that Argo CD is the older of the two (faults F21,
// NVIDIA/aicr#2602). A field of the recipe's own that neither knows is in the "config resource".
func schemaTooOld(message string) bool {
	return strings.Contains(message, "typed value from live resource") && strings.Contains(message, "field not declared in schema")
}

// schemaPatience: the controller reads the API server's schema again at each event of a CRD, one after the other; with two dozen CRDs on a
// slow machine it is that far behind.
const schemaPatience = 60 * time.Second

// schemaBehind: the controller has seen an object whose CRD's schema it has not read yet. Seen with a load of 30 on two cores; it passes.
func schemaBehind(message string) bool {
	return strings.Contains(message, "unable to resolve parseableType")
}

// errorCondition is Argo CD's own statement that it cannot compare or sync.
func errorCondition(app *unstructured.Unstructured) (string, string) {
	conditions, _, _ := unstructured.NestedSlice(app.Object, "status", "conditions")
	for _, c := range conditions {
		m, _ := c.(map[string]any)
		t, _ := m["type"].(string)
		text, _ := m["message"].(string)
		if strings.HasSuffix(t, "Error") && t != "SyncError" { // a SyncError repeats the operation's own message
			return t, text
		}
	}
	return "", ""
}

// failedResources quotes the API server on the objects that could not be applied: those that it refuses, and those that it may take
// at another try.
func failedResources(app *unstructured.Unstructured) (refused, again []string) {
	results, _, _ := unstructured.NestedSlice(app.Object, "status", "operationState", "syncResult", "resources")
	for _, r := range results {
		m, _ := r.(map[string]any)
		if m["status"] != "SyncFailed" && m["hookPhase"] != "Failed" {
			continue
		}
		kind, _ := m["kind"].(string)
		namespace, _ := m["namespace"].(string)
		name, _ := m["name"].(string)
		message, _ := m["message"].(string)
		text := fmt.Sprintf("%s %s: %s", kind, infra.NamespacedName(namespace, name), message)
		if retryable(message) {
			again = append(again, text)
		} else {
			refused = append(refused, text)
		}
	}
	return refused, again
}

// retryable: what another Application, still on its way, may bring. Waves order the creation of Applications, not their health
// (faults F30), so a custom resource may come before its CRD; Argo CD tries again.
func retryable(message string) bool {
	for _, part := range []string{"error looking up service account", "because it is being terminated"} {
		if strings.Contains(message, part) {
			return true // "forbidden" too, but only until the object that it speaks of is there, or gone
		}
	}
	for _, part := range []string{"is invalid", "Invalid value", "Unsupported value", "forbidden", "denied the request"} {
		if strings.Contains(message, part) {
			return false // whatever else the sentence has in it, e.g. a field called timeoutSeconds
		}
	}
	for _, part := range []string{
		"could not find", "no matches for kind", "not found", "connection refused", "try again", "object has been modified", "timeout", "TLS handshake",
		"EOF", "being terminated",
	} {
		if strings.Contains(message, part) {
			return true
		}
	}
	return false
}

func orNone(s string) string {
	if s == "" {
		return "Unknown"
	}
	return s
}
