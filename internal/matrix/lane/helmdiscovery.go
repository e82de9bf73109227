package lane

import (
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/restmapper"
)

// discovered is what Helm's clients have read of the API server's groups and kinds: once for all
// releases of a cell, until one of them wants to know it anew. The clients of kubectl and Helm keep it
// in a file for each group, and each of them decodes all files again, for every object of crds/ and
// several times for each release.
type discovered struct {
	mu     sync.Mutex
	shared discovery.CachedDiscoveryInterface
}

// client returns one that uses what others have read, as one of kubectl's uses the files of others.
func (d *discovered) client(flags *genericclioptions.ConfigFlags) (discovery.CachedDiscoveryInterface, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.shared == nil {
		cfg, err := flags.ToRESTConfig()
		if err != nil {
			return nil, err
		}
		live, err := discovery.NewDiscoveryClientForConfig(cfg)
		if err != nil {
			return nil, err
		}
		d.shared = memory.NewMemCacheClient(live)
	}
	return &discoveryClient{CachedDiscoveryInterface: d.shared}, nil
}

// discoveryClient is one client of many. A mapper that does not find a kind reads all anew, unless its
// client has just done so: what it used may be older than the kind.
type discoveryClient struct {
	discovery.CachedDiscoveryInterface
	mu  sync.Mutex
	own bool // what is used was read for this one, or later
}

// Fresh implements discovery.CachedDiscoveryInterface.
func (c *discoveryClient) Fresh() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.own
}

// Invalidate implements discovery.CachedDiscoveryInterface.
func (c *discoveryClient) Invalidate() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.own = true
	c.CachedDiscoveryInterface.Invalidate()
}

// helmGetter is what Helm makes its clients with.
type helmGetter struct {
	*genericclioptions.ConfigFlags
	discovered *discovered
}

// ToDiscoveryClient implements action.RESTClientGetter.
func (g helmGetter) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) {
	return g.discovered.client(g.ConfigFlags)
}

// ToRESTMapper implements action.RESTClientGetter, as ConfigFlags does.
func (g helmGetter) ToRESTMapper() (meta.RESTMapper, error) {
	client, err := g.ToDiscoveryClient()
	if err != nil {
		return nil, err
	}
	return restmapper.NewShortcutExpander(restmapper.NewDeferredDiscoveryRESTMapper(client), client, nil), nil
}
