package lane

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/registry"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/nvidia/aicr-action/internal/infra"
)

// HelmConfig is a Helm client for one namespace of a cell's cluster. Its requests end with ctx: Helm itself looks at a context between
// some of its steps only, and an API server that hangs would hold up the end of the cell (faults F39). Everything that Helm keeps on disk stays in the cell's
// directory: neither the caller's repositories nor its registry logins can leak in.
func HelmConfig(ctx context.Context, env *Env, namespace string) (*action.Configuration, error) {
	flags := genericclioptions.NewConfigFlags(false)
	kubeconfig := env.Cluster.Kubeconfig()
	dir := filepath.Join(env.Dir, "helm")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	// By default discovery is kept in ~/.kube/cache for six hours, under the API server's port, which a later cluster may have too.
	discovery := filepath.Join(dir, "discovery")
	flags.KubeConfig, flags.Namespace, flags.CacheDir = &kubeconfig, &namespace, &discovery
	flags.WrapConfigFn = func(cfg *rest.Config) *rest.Config {
		cfg = infra.ThroughputConfig(cfg)
		if env.Clients != nil {
			env.Clients.Warnings.Watch(cfg)
		}
		cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return boundTransport{ctx, next} })
		return cfg
	}
	cfg := &action.Configuration{}
	log := func(format string, args ...any) {
		env.Log.Debug("helm: " + strings.TrimSpace(fmt.Sprintf(format, args...)))
	}
	if err := cfg.Init(flags, namespace, "secret", log); err != nil {
		return nil, fmt.Errorf("make a Helm client for namespace %s: %w", namespace, err)
	}
	restConfig, err := flags.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("make a Helm client for namespace %s: %w", namespace, err)
	}
	clients, err := kubernetes.NewForConfig(restConfig)
	if err != nil {
		return nil, fmt.Errorf("make a Helm client for namespace %s: %w", namespace, err)
	}
	cfg.Releases = helmStorage(clients.CoreV1().Secrets(namespace))
	cfg.Releases.Log = log
	client, err := registry.NewClient(
		registry.ClientOptPlainHTTP(), registry.ClientOptCredentialsFile(filepath.Join(dir, "registry.json")), registry.ClientOptWriter(slogWriter{env.Log}),
	)
	if err != nil {
		return nil, fmt.Errorf("make Helm's registry client: %w", err)
	}
	cfg.RegistryClient = client
	if kc, ok := cfg.KubeClient.(*kube.Client); ok {
		kc.Factory = onceAsked{kc.Factory, flags.ToDiscoveryClient, &env.validates}
		cfg.KubeClient = crdWaiter{kc}
	}
	return cfg, nil
}

// boundTransport ends every request, and the reading of its answer, when ctx ends.
type boundTransport struct {
	ctx  context.Context
	next http.RoundTripper
}

func (b boundTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	context.AfterFunc(b.ctx, func() { cancel(context.Cause(b.ctx)) })
	return b.next.RoundTrip(req.WithContext(ctx))
}

// slogWriter sends what Helm prints to the cell's log.
type slogWriter struct{ log *slog.Logger }

func (w slogWriter) Write(p []byte) (int, error) {
	w.log.Debug("helm: " + strings.TrimSpace(string(p)))
	return len(p), nil
}

// HookTimeout is Helm's own default for `helm upgrade --install`: how long it waits for a hook.
const HookTimeout = 5 * time.Minute
