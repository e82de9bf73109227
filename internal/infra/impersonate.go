package infra

import (
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// AsServiceAccount returns a client with the rights of a ServiceAccount, whose warnings nobody hears.
// Extra is what its token says besides, e.g. of which pod it is.
func (c *Clients) AsServiceAccount(namespace, name string, extra map[string][]string) (kubernetes.Interface, error) {
	cfg := rest.CopyConfig(c.Config)
	cfg.WarningHandler, cfg.WarningHandlerWithContext = rest.NoWarnings{}, nil
	cfg.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:" + namespace + ":" + name, Extra: extra,
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"},
	}
	return kubernetes.NewForConfig(cfg)
}
