package intact

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/nvidia/aicr-action/internal/infra"
)

// accounts has the clients for dry runs under other accounts, one of each.
type accounts struct {
	clients *infra.Clients
	made    map[string]kubernetes.Interface
}

func newAccounts(clients *infra.Clients) accounts {
	return accounts{clients, map[string]kubernetes.Interface{}}
}

// controller is a client with the rights of a controller of kube-controller-manager.
func (a accounts) controller(name string) (kubernetes.Interface, error) {
	return a.as("controller "+name, func() (kubernetes.Interface, error) {
		return a.clients.AsServiceAccount(metav1.NamespaceSystem, name, nil)
	})
}

// kubelet is a client with the rights of a node's kubelet.
func (a accounts) kubelet(node string) (kubernetes.Interface, error) {
	return a.as("kubelet of "+node, func() (kubernetes.Interface, error) { return a.clients.AsNode(node) })
}

func (a accounts) as(who string, make func() (kubernetes.Interface, error)) (kubernetes.Interface, error) {
	if client, ok := a.made[who]; ok {
		return client, nil
	}
	client, err := make()
	if err != nil {
		return nil, fmt.Errorf("make a client for dry runs as %s: %w", who, err)
	}
	a.made[who] = client
	return client, nil
}
