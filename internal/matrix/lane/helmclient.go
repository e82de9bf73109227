package lane

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/registry"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/nvidia/aicr-action/internal/infra"
)

// HelmClient creates Helm's clients for one cell's cluster. All of Helm's files stay in its
// directory, so that neither the caller's repositories nor its registry logins can leak in.
type HelmClient struct {
	// Kubeconfig is a file; Dir is a directory that exists.
	Kubeconfig, Dir string
	// Log gets Helm's output, a line at a time.
	Log func(string)
	// Watch, if set, sees the configuration of each client before it is used.
	Watch func(*rest.Config)
	// Renders, if set, is called before Helm renders a chart's templates, and Rendered with each
	// text that is to become objects. If Rendered returns an error, the text does not.
	Renders  func()
	Rendered func(manifest []byte) error

	// TakesOver, if set, hears of fields that Helm 4 takes from another manager by force.
	TakesOver func(infra.APIWarning)
	// Forces: conflicts are forced in the next release, so that TakesOver has something to hear.
	Forces bool

	validates  serverValidates
	discovered discovered
}

// connect returns what Helm's clients for a namespace are made with, and where its releases are.
func (h *HelmClient) connect(namespace string) (helmGetter, typedcorev1.SecretInterface, error) {
	flags := genericclioptions.NewConfigFlags(false)
	flags.KubeConfig, flags.Namespace = &h.Kubeconfig, &namespace
	flags.WrapConfigFn = func(cfg *rest.Config) *rest.Config {
		cfg = infra.ThroughputConfig(cfg)
		if h.Watch != nil {
			h.Watch(cfg)
		}
		return cfg
	}
	getter := helmGetter{flags, &h.discovered}
	restConfig, err := flags.ToRESTConfig()
	if err != nil {
		return getter, nil, fmt.Errorf("make a Helm client for namespace %s: %w", namespace, err)
	}
	clients, err := kubernetes.NewForConfig(restConfig)
	if err != nil {
		return getter, nil, fmt.Errorf("make a Helm client for namespace %s: %w", namespace, err)
	}
	return getter, clients.CoreV1().Secrets(namespace), nil
}

// Config returns a client of Helm 3 for one namespace.
func (h *HelmClient) Config(namespace string) (*action.Configuration, error) {
	getter, secrets, err := h.connect(namespace)
	if err != nil {
		return nil, err
	}
	kube.ManagedFieldsManager = helmManager
	cfg := &action.Configuration{}
	log := func(format string, args ...any) { h.Log(strings.TrimSpace(fmt.Sprintf(format, args...))) }
	if err := cfg.Init(getter, namespace, "secret", log); err != nil {
		return nil, fmt.Errorf("make a Helm client for namespace %s: %w", namespace, err)
	}
	cfg.Releases = helmStorage(secrets)
	cfg.Releases.Log = log
	client, err := registry.NewClient(
		registry.ClientOptPlainHTTP(), registry.ClientOptCredentialsFile(filepath.Join(h.Dir, "registry.json")), registry.ClientOptWriter(lineWriter{h.Log}),
	)
	if err != nil {
		return nil, fmt.Errorf("make Helm's registry client: %w", err)
	}
	cfg.RegistryClient = client
	if h.Renders != nil {
		cfg.RESTClientGetter = renderMark{getter, h.Renders}
	}
	if kc, ok := cfg.KubeClient.(*kube.Client); ok {
		kc.Factory = onceAsked{kc.Factory, getter.ToDiscoveryClient, &h.validates}
		cfg.KubeClient = laneClient{kc, h.Rendered}
	}
	return cfg, nil
}

// renderMark notices that Helm is about to render. Just before that, Helm reads the available APIs,
// and it reads nothing else this way. KubeClient has its own.
type renderMark struct {
	helmGetter
	renders func()
}

// ToDiscoveryClient implements action.RESTClientGetter.
func (m renderMark) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) {
	m.renders()
	return m.helmGetter.ToDiscoveryClient()
}

// helmManager is the field manager of the program helm. Helm's libraries take the name of the program that they are in.
const helmManager = "helm"

// lineWriter passes on Helm's output.
type lineWriter struct{ log func(string) }

func (w lineWriter) Write(p []byte) (int, error) {
	w.log(strings.TrimSpace(string(p)))
	return len(p), nil
}

// HookTimeout is Helm's own default for `helm upgrade --install`: how long it waits for a hook.
const HookTimeout = 5 * time.Minute
