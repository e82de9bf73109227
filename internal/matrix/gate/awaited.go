package gate

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// awaitedFor is how long an operator that runs may take once all pods are ready. An operator does
// its work within seconds here; it tries again after a failure.
const awaitedFor = 30 * time.Second

// checkAwaited checks that the operators that run have done their work. A deployer may not look:
// Helm does not, and others count an object without a status as healthy. False: the gate is not to
// go on.
func (g *Gate) checkAwaited(ctx context.Context) (r wait.Result, ok bool) {
	seen := map[string]bool{}
	late := ""
	for _, a := range g.Awaited {
		if a.Condition == "" {
			continue
		}
		ref := a.Object.Ref()
		client := g.Env.Clients.Dynamic.Resource(infra.ResourceFor(a.Object.Object.GroupVersionKind()))
		live, err := client.Namespace(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue // checkObjects has its own word for it
		}
		if err != nil {
			return g.readFailed(ctx, err), false
		}
		status, said := infra.Condition(live, a.Condition)
		if status == string(metav1.ConditionTrue) {
			continue
		}
		text := fmt.Sprintf("%s is not %s", ref, a.Condition)
		if said != "" {
			text += ": " + said
		} else {
			text += ", and its operator says nothing of it in its status"
		}
		key := "awaited " + ref.String()
		seen[key] = true
		if late == "" {
			late = text
		}
		if g.lasts(key, awaitedFor) {
			return wait.Never(&reason.Error{Reason: reason.DeployFailed, Err: result.NewFailure(result.Finding{Cause: text, Object: &ref, Component: a.Component})}), false
		}
	}
	g.keepOnly("awaited ", seen)
	if late != "" {
		return wait.NotYet("%s", late), false
	}
	return wait.Done(), true
}
