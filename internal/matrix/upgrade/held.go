package upgrade

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nvidia/aicr-action/internal/matrix/lane"
)

// held fails each HelmRelease that waits for a DaemonSet which replaces no pod: its template has changed,
// and its updateStrategy is OnDelete. helm-controller takes a DaemonSet as ready once all of its pods are
// of the new template, and nobody deletes the old ones here. Of a StatefulSet it knows better.
func (b Bundles) held(ctx context.Context, env *lane.Env, items []lane.Item) {
	if b.Before == nil || b.Now == nil {
		return
	}
	for i := range items {
		it := &items[i]
		if it.Ref.Kind != "HelmRelease" || it.State != lane.ItemWaiting && it.State != lane.ItemSuspect {
			continue
		}
		for j := range b.Now.Expectation.Objects {
			o := &b.Now.Expectation.Objects[j]
			if o.Release != it.Ref.Name || o.Object.GetKind() != "DaemonSet" || strategyOf(o) != onDelete || !b.changesTemplate(o) {
				continue
			}
			live, err := env.Clients.Kube.AppsV1().DaemonSets(o.Object.GetNamespace()).Get(ctx, o.Object.GetName(), metav1.GetOptions{})
			if err != nil {
				continue
			}
			s := live.Status
			if live.Spec.UpdateStrategy.Type != onDelete || s.ObservedGeneration != live.Generation || live.Generation < 2 || s.UpdatedNumberScheduled >= s.DesiredNumberScheduled {
				continue
			}
			it.State = lane.ItemFailed
			it.Text = fmt.Sprintf("it waits for %s until its timeout, and fails then: its pod template changes, its updateStrategy is OnDelete, so that its old pods stay until somebody deletes them, and helm-controller waits until all of its pods are new (%d of %d are); edit: updateStrategy: {type: RollingUpdate} in %s",
				o.Ref(), s.UpdatedNumberScheduled, s.DesiredNumberScheduled, b.place(o, "spec.updateStrategy"))
			break
		}
	}
}
