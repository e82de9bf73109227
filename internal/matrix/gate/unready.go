package gate

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
)

// unreadyBudget bounds the reads of what a deployer waits for.
const unreadyBudget = 10 * time.Second

// nameUnready adds to each item that waits, after a deadline, the first object of its release that
// is not ready: a deployer only says that it waits.
func (g *Gate) nameUnready(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, unreadyBudget)
	defer cancel()
	for i := range g.State.Items {
		it := &g.State.Items[i]
		release := slices.IndexFunc(g.Env.Bundle.Expectation.Releases, func(r bundle.Release) bool { return r.Name == it.Ref.Name })
		if it.State != lane.ItemWaiting || release < 0 || g.Env.Clients == nil || g.Env.Clients.Dynamic == nil {
			continue
		}
		for _, o := range g.Env.Bundle.Expectation.Objects {
			if o.Release != it.Ref.Name || o.Object.GetName() == "" {
				continue
			}
			client := g.Env.Clients.Dynamic.Resource(infra.ResourceFor(o.Object.GroupVersionKind()))
			live, err := client.Namespace(o.Object.GetNamespace()).Get(ctx, o.Object.GetName(), metav1.GetOptions{})
			if err != nil {
				continue // the gate has its own word for what does not exist
			}
			if why := unready(live); why != "" {
				it.Text += "; it waits for " + why
				break
			}
		}
	}
}

// unready says why an object is not ready, by the rules that helm-controller waits by; "" if it is.
func unready(live *unstructured.Unstructured) string {
	found, err := status.Compute(live)
	if err != nil || found.Status == status.CurrentStatus {
		return ""
	}
	return fmt.Sprintf("%s %s: %s", live.GetKind(), infra.NamespacedName(live.GetNamespace(), live.GetName()), found.Message)
}
