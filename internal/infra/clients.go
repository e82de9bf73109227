package infra

import (
	"fmt"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Clients are the clients of one cluster.
type Clients struct {
	Config    *rest.Config
	Kube      kubernetes.Interface
	Dynamic   dynamic.Interface
	Discovery discovery.DiscoveryInterface
	// Warnings are the API server's, about what was written through these clients, and through
	// others that report there; nil collects none.
	Warnings *Warnings
}

// NewClients connects to the cluster of a kubeconfig. There is no client-side rate limit, since a
// cell has its API server to itself. There is no time limit either, which would end watches: every
// caller's context has one.
func NewClients(kubeconfig string) (*Clients, error) {
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig %s: %w", kubeconfig, err)
	}
	clients, err := NewClientsFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("make a client from %s: %w", kubeconfig, err)
	}
	return clients, nil
}

// NewClientsFor is NewClients with a configuration, which is changed.
func NewClientsFor(cfg *rest.Config) (*Clients, error) {
	cfg = ThroughputConfig(cfg)
	cfg.UserAgent = "aicr-action"
	warnings := &Warnings{}
	warnings.Watch(cfg)
	typed := rest.CopyConfig(cfg)
	// The gate reads every pod about once a second: protobuf costs both ends a fraction of JSON.
	typed.ContentType = "application/vnd.kubernetes.protobuf"
	typed.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	kube, err := kubernetes.NewForConfig(typed)
	if err != nil {
		return nil, err
	}
	dyn, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	return &Clients{Config: cfg, Kube: kube, Dynamic: dyn, Discovery: kube.Discovery(), Warnings: warnings}, nil
}

// FlattenKubeconfig returns a kubeconfig with its certificates inside, so that it can be moved
// about.
func FlattenKubeconfig(path string) ([]byte, error) {
	cfg, err := clientcmd.LoadFromFile(path)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig %s: %w", path, err)
	}
	if err := clientcmdapi.FlattenConfig(cfg); err != nil {
		return nil, fmt.Errorf("inline the certificates of %s: %w", path, err)
	}
	return clientcmd.Write(*cfg)
}

// KubeconfigFiles are the files that a kubeconfig names: those of certificates and keys.
func KubeconfigFiles(path string) ([]string, error) {
	cfg, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig %s: %w", path, err)
	}
	var files []string
	for _, file := range []string{cfg.CAFile, cfg.CertFile, cfg.KeyFile} {
		if file != "" {
			files = append(files, file)
		}
	}
	return files, nil
}

// ThroughputConfig takes the client-side rate limit off a configuration, since a cell has its API
// server to itself, and reads its certificates now: client-go shares connections between
// configurations that name the same CA file, and a cluster that was removed and made again by the
// same name has another CA in a file of the same path.
func ThroughputConfig(cfg *rest.Config) *rest.Config {
	cfg.QPS = -1
	cfg.WarningHandler = rest.NoWarnings{}
	if rest.LoadTLSFiles(cfg) == nil { // with a file that cannot be read, the client's own first call says so
		cfg.CAFile, cfg.CertFile, cfg.KeyFile = "", "", ""
	}
	return cfg
}
