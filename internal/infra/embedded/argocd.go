package embedded

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/apiproxy"
	"github.com/nvidia/aicr-action/internal/infra/gitops"
	"github.com/nvidia/aicr-action/internal/infra/health"
	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/sandbox"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// ArgoCD is Argo CD's application-controller and repo-server as host processes, with a Redis in
// this process.
type ArgoCD struct {
	Stack      *stack.Stack
	Ports      *host.Ports
	Sup        *host.Supervisor
	Clients    *infra.Clients
	Kubeconfig string
	// Preloaded: the cluster had the CRDs from the start.
	Preloaded bool
	// Dir gets its private directories; Logs its log files.
	Dir  string
	Logs string
	// RegistryHost is where OCI artifacts are pulled from, over plain HTTP; credentials are made
	// for oci://RegistryHost.
	RegistryHost string
	// Health becomes Argo CD's health customizations.
	Health health.Policy
	// Confine is what the processes may do besides their own directory and ports: read the
	// kubeconfig, dial the API server and the registry. nil starts them without a sandbox.
	Confine *sandbox.Profile
	// Settings are further objects that configure it. Policy, if set, is applied after the
	// configuration, and keeps a recipe from changing it.
	Settings []*unstructured.Unstructured
	Policy   *gitops.Policy
	// Env is added to the environment of the processes. PlainRegistries are further registries that
	// speak plain HTTP.
	Env             []string
	PlainRegistries []string
	// Git: the repo-server reads Git repositories, for which it runs git.
	Git bool
	// Plain leaves out the proxy between the application-controller and the API server (package
	// apiproxy).
	Plain bool

	redis *miniredis.Miniredis
	proxy *apiProxy
	taken []int
}

// Install applies the CRDs that the cluster does not have yet, and configuration. Reasons:
// ARGOCD_INSTALL_FAILED, ARGOCD_CRD_NOT_ESTABLISHED, ARGOCD_CONFIG_FAILED, REPOSITORY_SECRET_FAILED.
func (a *ArgoCD) Install(ctx context.Context) error {
	crds, err := ensureCRDs(ctx, a.Clients, a.Stack.CRDs(stack.GroupArgoCD), a.Preloaded)
	if err != nil {
		return reason.New(reason.ArgoCDInstallFailed, "apply Argo CD's CRDs: %w", err)
	}
	if err := a.Clients.WaitCRDs(ctx, crds, 120*time.Second); err != nil {
		return reason.Wrap(reason.ArgoCDCRDMissing, err)
	}
	for _, o := range append(gitops.ArgoCDObjects(a.Health), withLocalCluster(a.Settings)...) {
		if err := a.Clients.Apply(ctx, infra.ResourceFor(o.GroupVersionKind()), o); err != nil {
			return reason.New(gitops.InstallReason(o, reason.ArgoCDInstallFailed), "install Argo CD: %w", err)
		}
	}
	for i, host := range append([]string{a.RegistryHost}, a.PlainRegistries...) {
		if err := a.Clients.Apply(ctx, infra.SecretGVR, gitops.RepositorySecret(i, host)); err != nil {
			return reason.New(reason.RepositorySecretFailed, "give Argo CD access to the registry: %w", err)
		}
	}
	if err := a.Policy.Apply(ctx, a.Clients); err != nil {
		return reason.Wrap(reason.ArgoCDInstallFailed, err)
	}
	return nil
}

// withLocalCluster registers this cluster as Argo CD's declarative setup does, unless the settings
// do, and turns compression off. Compression would be a tenth of the API server's work, since it
// compresses each OpenAPI document again for each read of Argo CD, and saves nothing over the
// loopback interface.
func withLocalCluster(settings []*unstructured.Unstructured) []*unstructured.Unstructured {
	const name = "in-cluster"
	local := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": "Opaque",
		"metadata": map[string]any{
			"name": name, "namespace": infra.ArgoCDNamespace,
			"labels": map[string]any{"argocd.argoproj.io/secret-type": "cluster", "app.kubernetes.io/part-of": "argocd"},
		},
		"stringData": map[string]any{"name": name, "server": "https://kubernetes.default.svc", "config": `{"disableCompression":true}`},
	}}
	var all []*unstructured.Unstructured
	for _, o := range settings {
		if o.GetKind() == "Secret" && o.GetName() == name {
			local.SetLabels(o.GetLabels())
			continue
		}
		all = append(all, o)
	}
	return append(all, local)
}

// Start starts the processes and waits until they are ready, at most 120 s. Reason:
// ARGOCD_NOT_READY.
func (a *ArgoCD) Start(ctx context.Context) error {
	ports, err := a.Ports.Take(5)
	if err != nil {
		return err
	}
	a.taken = ports
	redisAddr := "127.0.0.1:" + strconv.Itoa(ports[0])
	a.redis = miniredis.NewMiniRedis()
	if err := a.redis.StartAddr(redisAddr); err != nil {
		return reason.New(reason.ArgoCDNotReady, "start the Redis stand-in for Argo CD on %s: %w", redisAddr, err)
	}
	profile := withPorts(a.Confine, ports)
	if profile != nil {
		profile.Scratch = []string{"/dev/shm"} // if it exists, gitops-engine writes a kubeconfig for each sync there, and ignores TMPDIR
	}
	env, err := a.environment()
	if err != nil {
		return reason.Wrap(infra.DiskReason(err, reason.ArgoCDNotReady), err)
	}
	var batch []string
	if !a.Plain {
		if a.proxy, err = startAPIProxy(apiproxy.ArgoCD, a.Ports, a.Sup, a.Kubeconfig, a.Logs, reason.ArgoCDNotReady); err != nil {
			return err
		}
		// Of the changes that the controller's cache notices, those within this time are handled
		// together; by default 100 ms.
		batch = []string{"ARGOCD_CLUSTER_CACHE_EVENTS_PROCESSING_INTERVAL=500ms"}
	}
	port := func(i int) string { return strconv.Itoa(ports[i]) }
	repo := []string{
		"--port", port(1), "--metrics-port", port(2), "--metrics-address", "127.0.0.1", "--address", "127.0.0.1", "--redis", redisAddr,
		"--disable-tls", "--client-ca-path", "", // its default collides with --disable-tls
		"--parallelismlimit", "4",
	}
	// The controller's metrics listener is the one that is not on 127.0.0.1: upstream binds it to
	// every interface and has no flag for it.
	controller := []string{
		"--kubeconfig", a.proxy.or(a.Kubeconfig), "--namespace", infra.ArgoCDNamespace, "--repo-server", "127.0.0.1:" + port(1), "--repo-server-plaintext",
		"--redis", redisAddr, "--metrics-port", port(3), "--status-processors", "10", "--operation-processors", "5",
	}
	repoEnv, repoProfile, err := a.forGit(ctx, []string{"KUBECONFIG=" + a.Kubeconfig, renderTime}, withUnixSockets(running(profile, a.programs()...)))
	if err != nil {
		return reason.Wrap(reason.ArgoCDNotReady, err)
	}
	for _, p := range []struct {
		name      string
		args, env []string
		sandbox   *sandbox.Profile
		memory    uint64
	}{
		{infra.ArgoCDRepoServer, repo, repoEnv, repoProfile, host.RenderLimit},
		{infra.ArgoCDController, controller, append(batch, "KUBECONFIG="+a.proxy.or(a.Kubeconfig)), a.proxy.open(profile), 0},
	} {
		_, err := a.Sup.Start(host.ProcessSpec{
			Sandbox: p.sandbox, Memory: p.memory,
			Name: p.name, Path: a.Stack.Bin("argocd"), Args: p.args, Dir: a.Dir, Log: filepath.Join(a.Logs, p.name+".log"),
			Env: slices.Concat([]string{"ARGOCD_BINARY_NAME=" + p.name}, env, p.env, a.Env),
		})
		if err != nil {
			return reason.Wrap(infra.DiskReason(err, reason.ArgoCDNotReady), err)
		}
	}
	for _, p := range []struct{ name, url string }{
		{infra.ArgoCDRepoServer, "http://127.0.0.1:" + port(2) + "/healthz?full=true"},
		{infra.ArgoCDController, "http://127.0.0.1:" + port(3) + "/healthz"},
	} {
		if err := waitHTTP(ctx, a.Sup, p.name, p.url, 120*time.Second); err != nil {
			return reason.Wrap(reason.ArgoCDNotReady, err)
		}
	}
	return reason.Wrap(reason.ArgoCDNotReady, a.Policy.WaitInForce(ctx, a.Clients))
}

// renderTime is how long the repo-server lets a helm run before it kills it; by default 90 s, in
// which the budget of a sync is mostly over. The largest charts take 2 s of CPU time.
const renderTime = "ARGOCD_EXEC_TIMEOUT=45s"

// Unchanged of an infra.Controllers.
func (a *ArgoCD) Unchanged(ctx context.Context) error { return a.Policy.Unchanged(ctx, a.Clients) }

// programs are the directories of what the repo-server runs.
func (a *ArgoCD) programs() []string { return a.Stack.BinDirs("helm", "kustomize") }

// environment: private directories for everything that Argo CD's image has at fixed places.
func (a *ArgoCD) environment() ([]string, error) {
	env := []string{
		"PATH=" + strings.Join(a.programs(), string(os.PathListSeparator)),
		// https://kubernetes.default.svc in an Application means the cluster of the kubeconfig.
		"ARGOCD_FAKE_IN_CLUSTER=true",
		"ARGOCD_ENABLE_PROFILER_FILE_PATH=profiler.enabled", // in its directory, where only `make bench-profile` writes that file
		"ARGOCD_GPG_ENABLED=false",
		// Relative to its directory, since a socket's path has room for about 100 bytes. By default
		// every repo-server has the same one in /tmp.
		"ARGOCD_ASK_PASS_SOCK=ask-pass.sock",
	}
	for _, v := range gitops.ArgoCDTiming() {
		env = append(env, v.Name+"="+v.Value)
	}
	for variable, sub := range map[string]string{
		"TMPDIR": "tmp", "HOME": "home", "ARGOCD_TLS_DATA_PATH": "tls", "ARGOCD_SSH_DATA_PATH": "ssh", "ARGOCD_GNUPGHOME": "gnupg",
		"ARGOCD_GPG_DATA_PATH": "gpg", "ARGOCD_PLUGINSOCKFILEPATH": "plugins",
	} {
		dir := filepath.Join(a.Dir, sub)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("make a directory for Argo CD: %w", err)
		}
		env = append(env, variable+"="+dir)
	}
	return env, nil
}

// Stop ends the processes and the Redis.
func (a *ArgoCD) Stop() {
	for _, name := range []string{infra.ArgoCDController, infra.ArgoCDRepoServer} {
		if p := a.Sup.Process(name); p != nil {
			p.Stop(0)
		}
	}
	a.proxy.close()
	a.proxy = nil
	if a.redis != nil {
		a.redis.Close()
		a.redis = nil
	}
	a.Ports.Release(a.taken...)
}

// waitHTTP waits for 200 from url, or fails at once when the process has ended.
func waitHTTP(ctx context.Context, sup *host.Supervisor, process, url string, budget time.Duration) error {
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	var log string
	for _, p := range sup.Processes() {
		if p.Spec.Name == process {
			log = p.Spec.Log
		}
	}
	err := wait.For(ctx, process+" to be ready", wait.Options{Budget: budget, Interval: 100 * time.Millisecond}, func(ctx context.Context) wait.Result {
		if sup.Process(process) == nil {
			return wait.Never(fmt.Errorf("%s ended during start-up; last lines of %s:\n%s", process, log, joinTail(log)))
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return wait.Never(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			return wait.NotYet("%v", err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return wait.NotYet("GET %s: %s", url, resp.Status)
		}
		return wait.Done()
	})
	return err
}
