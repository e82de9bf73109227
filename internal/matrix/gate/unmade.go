package gate

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result"
)

// unmadeFor is how long an operator, or its stand-in, may take to make a workload once nothing else is waited for. It
// does so within a second here, and tries again after a failure; one that was started again waits for its lease.
const unmadeFor = 20 * time.Second

// failedUnmade is the failure of workloads that their operator does not make, although their custom resource is in the
// cluster and all else that can be ready is; nil if there are none. No deployer but Argo CD looks at that, and it waits.
func (g *Gate) failedUnmade(ctx context.Context, state lane.State, r observe.WorkloadReport) *result.Failure {
	const prefix = "unmade "
	open := slices.DeleteFunc(slices.Clone(state.Items), func(it lane.Item) bool { return it.State == lane.ItemGood || it.State == lane.ItemAccepted })
	made := func(w observe.WaitingWorkload) bool { return !w.Unmade }
	if len(r.Waiting) == 0 || slices.ContainsFunc(r.Waiting, made) || len(open) > 0 && !g.podsExplain(open) {
		g.keepOnly(prefix, nil)
		return nil
	}
	key := prefix + strings.Join(r.WaitingTexts(), ", ")
	g.keepOnly(prefix, map[string]bool{key: true})
	if !g.lasts(key, unmadeFor) {
		return nil
	}
	var f result.Finding
	for i := range r.Waiting {
		late := &r.Waiting[i]
		of := g.live(ctx, late.Workload)
		if of == nil {
			return nil // what it is made from is not in the cluster, which is another matter
		}
		ref := observe.WorkloadRef(late.Workload.Kind, late.Workload.Namespace, late.Workload.Name)
		text := late.String() + refusals(of, late.Workload.Name)
		if i > 0 {
			f.Story = append(f.Story, text)
			f.Others = append(f.Others, ref)
			continue
		}
		f.Cause = fmt.Sprintf("%s; nothing else is waited for, and nothing has changed for %s", text, unmadeFor)
		f.Object, f.Component = &ref, late.Workload.Component
	}
	return result.NewFailure(f)
}

// live is the custom resource in the cluster that a workload is made from; nil if it is not there.
func (g *Gate) live(ctx context.Context, w *bundle.Workload) *unstructured.Unstructured {
	if g.Env.Clients.Dynamic == nil {
		return nil
	}
	for i := range g.Env.Bundle.Expectation.Objects {
		o := &g.Env.Bundle.Expectation.Objects[i]
		if o.Object.GetKind()+" "+infra.NamespacedName(o.Object.GetNamespace(), o.Object.GetName()) != w.Operator {
			continue
		}
		client := g.Env.Clients.Dynamic.Resource(infra.ResourceFor(o.Object.GroupVersionKind()))
		live, err := client.Namespace(o.Object.GetNamespace()).Get(ctx, o.Object.GetName(), metav1.GetOptions{})
		if err == nil {
			return live
		}
	}
	return nil
}

// refusals are what an operator says in the status of its custom resource that it could not do, but for that there is no
// such workload.
func refusals(of *unstructured.Unstructured, workload string) string {
	text := ""
	for _, c := range infra.Conditions(of) {
		if c.Status == metav1.ConditionFalse && c.Message != "" && !strings.Contains(c.Message, workload) {
			text += fmt.Sprintf("; its status says %s=False: %s", c.Type, c.Message)
		}
	}
	return text
}
