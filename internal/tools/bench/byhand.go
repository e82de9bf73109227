package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/publish"
	"github.com/nvidia/aicr-action/internal/charts"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/embedded"
	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/util/wait"
	"github.com/nvidia/aicr-action/kwok"
)

// byHandBudget is how long the delivery of one bundle may take.
const byHandBudget = 15 * time.Minute

// byHand delivers bundles without `matrix run`: to a cluster of `matrix cluster up`, with the bundle's own deploy.sh and helm,
// or with Argo CD's or Flux's controllers, which reach the API server directly.
type byHand struct {
	bin    string // matrix
	dir    string
	paths  host.Paths
	ports  *host.Ports
	stack  *stack.Stack
	stderr io.Writer
}

func newByHand(bin, dir string, stderr io.Writer) (*byHand, error) {
	paths, err := host.DefaultPaths(os.Getenv)
	if err != nil {
		return nil, err
	}
	parts, err := stack.NewStack(paths, kwok.StackMod, kwok.StackSum, kwok.StackSources)
	if err != nil {
		return nil, fmt.Errorf("read the stack's parts list: %w", err)
	}
	return &byHand{bin: bin, dir: dir, paths: paths, ports: host.NewPorts(paths.Ports()), stack: parts, stderr: stderr}, nil
}

// deliver brings a recipe's bundle for a deployer to a new cluster, waits until all of it is ready, and removes the cluster. What
// it took is from the cluster's start on: the bundle is made before.
func (h *byHand) deliver(ctx context.Context, name string, deployer bundle.Deployer) (took usage, err error) {
	dir, err := os.MkdirTemp(h.dir, "by-hand-")
	if err != nil {
		return took, err
	}
	registry, err := embedded.NewMemoryRegistry(embedded.RegistryOptions{Ports: h.ports, Port: embedded.DefaultRegistryPort, Log: filepath.Join(dir, "registry.log")})
	if err != nil {
		return took, fmt.Errorf("take a port for the registry: %w", err)
	}
	defer registry.Close()
	in, made, err := h.bundle(ctx, name, deployer, registry.PullHost())
	if err != nil {
		return took, err
	}
	took.objects = len(made.Expectation.Objects)

	before, err := cpuOfProgram()
	if err != nil {
		return took, err
	}
	begun := time.Now()
	cluster := fmt.Sprintf("bench-%d-%s", os.Getpid(), deployer.Name())
	defer func() { // also of an error
		down := h.matrix(context.WithoutCancel(ctx), "cluster", "down", "--name", cluster)
		took.wall = time.Since(begun)
		after, failed := cpuOfProgram()
		took.cpu += after - before
		err = errors.Join(err, down, failed)
	}()
	if err := h.matrix(ctx, "cluster", "up", "--no-nodes", "--name", cluster); err != nil {
		return took, err
	}
	if err := h.matrix(ctx, "nodes", name, "--name", cluster); err != nil {
		return took, err
	}
	state, err := embedded.FindCluster(h.paths, cluster)
	if err != nil {
		return took, err
	}
	clients, err := infra.NewClients(state.Kubeconfig())
	if err != nil {
		return took, err
	}
	if err := registry.Start(ctx); err != nil {
		return took, err
	}
	d := delivery{byHand: h, in: in, made: made, clients: clients, kubeconfig: state.Kubeconfig(), registry: registry, dir: dir, sup: host.NewSupervisor()}
	defer d.sup.Close(0)
	stop, err := d.send(ctx)
	defer stop()
	if err == nil {
		err = d.ready(ctx)
	}
	if err != nil {
		return took, fmt.Errorf("deliver %s by hand with %s: %w", name, deployer.Name(), err)
	}
	if raw, err := clients.Discovery.RESTClient().Get().AbsPath("/metrics").DoRaw(ctx); err == nil {
		took.requests = requests(raw)
	}
	for component, pid := range state.Processes { // detached: no children of this program
		cpu, err := cpuOf(pid)
		if err != nil {
			return took, fmt.Errorf("read the CPU time of %s: %w", component, err)
		}
		took.cpu += cpu
		if component == "kube-apiserver" {
			took.apiServer = cpu
		}
	}
	return took, nil
}

func (h *byHand) matrix(ctx context.Context, args ...string) error {
	_, err := host.RunCommand(ctx, "", nil, h.bin, args...)
	return err
}

// bundle is what `matrix run` would deliver of a recipe through a registry.
func (h *byHand) bundle(ctx context.Context, name string, deployer bundle.Deployer, registry string) (bundle.Input, *bundle.Bundle, error) {
	store, err := recipe.Open(os.DirFS("recipes"), "recipes")
	if err != nil {
		return bundle.Input{}, nil, err
	}
	resolved, err := store.ResolveName(name)
	if err != nil {
		return bundle.Input{}, nil, err
	}
	components, err := store.Components(resolved)
	if err != nil {
		return bundle.Input{}, nil, err
	}
	files, err := fs.Sub(kwok.Files, "charts")
	if err != nil {
		return bundle.Input{}, nil, err
	}
	simulated, err := charts.NewSimulated(files, false)
	if err != nil {
		return bundle.Input{}, nil, err
	}
	in := bundle.Input{Recipe: resolved, Components: components, Scheduling: bundle.KwokScheduling(), Charts: simulated, KubeVersion: h.stack.KubeVersion(), APIs: bundle.StackAPIs(), PlainHTTP: true}
	in = in.InRegistry(registry, "", deployer.Name())
	made, err := deployer.Bundle(ctx, in)
	return in, made, err
}

// delivery is one bundle on its way to one cluster.
type delivery struct {
	*byHand
	in         bundle.Input
	made       *bundle.Bundle
	clients    *infra.Clients
	kubeconfig string
	registry   *embedded.MemoryRegistry
	dir        string
	sup        *host.Supervisor
}

// send publishes the bundle's charts and hands it to its deployer. stop ends that.
func (d *delivery) send(ctx context.Context) (stop func(), err error) {
	stop = func() {}
	for _, ch := range d.made.Charts {
		if _, err := publish.PushChart(ctx, ch, d.in.ChartRepository, publish.Own()); err != nil {
			return stop, fmt.Errorf("push chart %s: %w", ch.Name(), err)
		}
	}
	var controllers infra.Controllers
	var roots []*unstructured.Unstructured
	switch name := d.made.Deployer; {
	case bundle.ByHelm(name):
		return stop, d.script(ctx)
	case strings.HasPrefix(name, "argocd-"):
		controllers = &embedded.ArgoCD{
			Stack: d.stack, Ports: d.ports, Sup: d.sup, Clients: d.clients, Kubeconfig: d.kubeconfig, Dir: filepath.Join(d.dir, "argocd"), Logs: d.dir,
			RegistryHost: d.registry.PullHost(), Plain: true,
		}
		roots = bundle.ArgoRoots(d.in)
	default:
		controllers = &embedded.Flux{Stack: d.stack, Ports: d.ports, Sup: d.sup, Clients: d.clients, Kubeconfig: d.kubeconfig, Dir: filepath.Join(d.dir, "flux"), Logs: d.dir, Plain: true}
		roots = bundle.FluxRoot(d.in)
	}
	if _, err := publish.PublishBundle(ctx, d.made, d.in.RepoURL+":"+d.in.TargetRevision, publish.Own()); err != nil {
		return stop, fmt.Errorf("push the bundle: %w", err)
	}
	if err := controllers.Install(ctx); err != nil {
		return stop, err
	}
	if err := controllers.Start(ctx); err != nil {
		return controllers.Stop, err
	}
	for _, root := range roots {
		if err := d.clients.Apply(ctx, infra.ResourceFor(root.GroupVersionKind()), root); err != nil {
			return controllers.Stop, err
		}
	}
	return controllers.Stop, nil
}

// script runs the bundle's deploy.sh with the stack's helm, as a person would.
func (d *delivery) script(ctx context.Context) error {
	at := filepath.Join(d.dir, "bundle")
	if err := d.made.WriteTo(at, false); err != nil {
		return err
	}
	env := []string{"KUBECONFIG=" + d.kubeconfig, "PATH=" + strings.Join(append(d.stack.BinDirs("helm"), os.Getenv("PATH")), string(os.PathListSeparator)),
		"HELM_CACHE_HOME=" + d.dir, "HELM_CONFIG_HOME=" + d.dir, "HELM_DATA_HOME=" + d.dir}
	_, err := host.RunCommand(ctx, at, env, filepath.Join(at, "deploy.sh"))
	return err
}

// ready waits, as with kubectl wait, until the deployer reports all as done and all workloads are ready.
func (d *delivery) ready(ctx context.Context) error {
	return wait.For(ctx, "the bundle to be ready", wait.Options{Budget: byHandBudget, Interval: time.Second}, func(ctx context.Context) wait.Result {
		why, err := d.undelivered(ctx)
		if err == nil && why == "" {
			why, err = d.unready(ctx)
		}
		switch {
		case err != nil:
			return wait.NotYet("%v", err)
		case why != "":
			return wait.NotYet("%s", why)
		}
		return wait.Done()
	})
}

// undelivered names an object of the deployer's that is not as it should be; empty if there is none.
func (d *delivery) undelivered(ctx context.Context) (string, error) {
	live := map[string]*unstructured.Unstructured{} // by kind and name
	for _, gvr := range []schema.GroupVersionResource{infra.ApplicationGVR, infra.HelmReleaseGVR} {
		all, err := d.clients.Dynamic.Resource(gvr).List(ctx, metav1.ListOptions{})
		if apierrors.IsNotFound(err) {
			continue // of another deployer
		}
		if err != nil {
			return "", err
		}
		for i := range all.Items {
			live[all.Items[i].GetKind()+" "+all.Items[i].GetName()] = &all.Items[i]
		}
	}
	for _, want := range d.made.Expectation.Delivered {
		name := want.Kind + " " + want.Name
		switch want.Kind {
		case "Application", "HelmRelease":
			if live[name] == nil || !delivered(live[name]) {
				return name, nil
			}
		}
	}
	return "", nil
}

func delivered(o *unstructured.Unstructured) bool {
	sync, _, _ := unstructured.NestedString(o.Object, "status", "sync", "status")
	health, _, _ := unstructured.NestedString(o.Object, "status", "health", "status")
	ready, _ := infra.Condition(o, "Ready")
	return sync == "Synced" && health == "Healthy" || ready == "True"
}

// unready names a workload that is not as it should be; empty if there is none. A Job that is gone has succeeded: a hook's.
func (d *delivery) unready(ctx context.Context) (string, error) {
	all := metav1.ListOptions{}
	deployments, err := d.clients.Kube.AppsV1().Deployments("").List(ctx, all)
	if err != nil {
		return "", err
	}
	sets, err := d.clients.Kube.AppsV1().StatefulSets("").List(ctx, all)
	if err != nil {
		return "", err
	}
	daemons, err := d.clients.Kube.AppsV1().DaemonSets("").List(ctx, all)
	if err != nil {
		return "", err
	}
	jobs, err := d.clients.Kube.BatchV1().Jobs("").List(ctx, all)
	if err != nil {
		return "", err
	}
	ready := map[result.Ref]bool{}
	for _, o := range deployments.Items {
		ready[result.Ref{Kind: "Deployment", Namespace: o.Namespace, Name: o.Name}] = o.Status.ObservedGeneration == o.Generation && o.Status.AvailableReplicas == *o.Spec.Replicas
	}
	for _, o := range sets.Items {
		ready[result.Ref{Kind: "StatefulSet", Namespace: o.Namespace, Name: o.Name}] = o.Status.ObservedGeneration == o.Generation && o.Status.ReadyReplicas == *o.Spec.Replicas
	}
	for _, o := range daemons.Items {
		ready[result.Ref{Kind: "DaemonSet", Namespace: o.Namespace, Name: o.Name}] = o.Status.ObservedGeneration == o.Generation && o.Status.NumberReady == o.Status.DesiredNumberScheduled
	}
	for _, o := range jobs.Items {
		ready[result.Ref{Kind: "Job", Namespace: o.Namespace, Name: o.Name}] = o.Status.Succeeded > 0
	}
	for _, w := range d.made.Expectation.Workloads {
		is, exists := ready[result.Ref{Kind: w.Kind, Namespace: w.Namespace, Name: w.Name}]
		switch w.Kind {
		case "Deployment", "StatefulSet", "DaemonSet":
			exists = true
		}
		if exists && !is {
			return fmt.Sprintf("%s %s/%s", w.Kind, w.Namespace, w.Name), nil
		}
	}
	return "", nil
}
