package infra

import (
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// AsServiceAccount returns a client with the rights of a ServiceAccount, whose warnings nobody hears.
// Extra is what its token says besides, e.g. of which pod it is.
func (c *Clients) AsServiceAccount(namespace, name string, extra map[string][]string) (kubernetes.Interface, error) {
	return c.as(rest.ImpersonationConfig{
		UserName: "system:serviceaccount:" + namespace + ":" + name, Extra: extra,
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"},
	})
}

// AsNode returns a client with the rights of a node's kubelet, whose warnings nobody hears.
func (c *Clients) AsNode(name string) (kubernetes.Interface, error) {
	return c.as(rest.ImpersonationConfig{UserName: "system:node:" + name, Groups: []string{"system:nodes", "system:authenticated"}})
}

func (c *Clients) as(who rest.ImpersonationConfig) (kubernetes.Interface, error) {
	cfg := rest.CopyConfig(c.Config)
	cfg.WarningHandler, cfg.WarningHandlerWithContext = rest.NoWarnings{}, nil
	cfg.Impersonate = who
	return kubernetes.NewForConfig(cfg)
}
