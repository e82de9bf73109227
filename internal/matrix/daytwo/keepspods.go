package daytwo

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
)

var oldPodsStay = judge.Check{
	ID: "MX702", Name: "old-pods-stay", Needs: judge.Second, Later: true,
	Kinds: slices.Concat(judge.KindsOf(appsv1.GroupName, "DaemonSet", "StatefulSet", "ReplicaSet"), judge.KindsOf("", "ReplicationController")),
	Title: "What an upgrade changes in a pod template reaches the pods",
	Why: "With the update strategy OnDelete, or below the partition of a rolling update, a controller leaves old pods until somebody deletes them " +
		"(https://kubernetes.io/docs/concepts/workloads/controllers/statefulset/#update-strategies). A ReplicaSet replaces none by itself. The upgrade ends, and nothing of it runs.",
	Fix:  "Use a rolling update without a partition, or say who deletes the old pods.",
	Says: "does not roll although its pod template changes: %s", Then: "the upgrade is over, and nothing of it runs in these pods",
	Run: func(s *judge.Scope) {
		if s.Delivery.Back { // the old pods are those of the old bundle
			return
		}
		b := bundlesOf(s)
		for _, o := range s.Rendered(slices.Concat(judge.KindsOf(appsv1.GroupName, "DaemonSet", "StatefulSet", "ReplicaSet"), judge.KindsOf("", "ReplicationController"))...) {
			if !b.changesTemplate(o) {
				continue
			}
			partition, partly, _ := unstructured.NestedFieldNoCopy(o.Object.Object, "spec", "updateStrategy", "rollingUpdate", "partition")
			switch {
			case o.Object.GetKind() == "ReplicaSet" || o.Object.GetKind() == "ReplicationController":
				s.Report(o, "spec.template", "it replaces no pod by itself, so that its old pods run until somebody deletes them; a Deployment rolls")
			case strategyOf(o) == onDelete:
				s.Report(o, "spec.updateStrategy.type", "its updateStrategy is OnDelete, so that its old pods run until somebody deletes them")
			case partly && fmt.Sprint(partition) != "0":
				s.Report(o, "spec.updateStrategy.rollingUpdate.partition", fmt.Sprintf("its rollingUpdate has the partition %v, so that its old pods below it run on", partition))
			}
		}
	},
}

// onDelete is the update strategy that leaves old pods until somebody deletes them.
const onDelete = "OnDelete"

func strategyOf(o *bundle.Object) string {
	strategy, _, _ := unstructured.NestedString(o.Object.Object, "spec", "updateStrategy", "type")
	return strategy
}

// changesTemplate reports whether the delivery changes the pod template of a workload that was there before.
func (b Bundles) changesTemplate(o *bundle.Object) bool {
	old := b.Before.Expectation.Object(o.Ref())
	if old == nil {
		return false
	}
	was, _, _ := unstructured.NestedMap(old.Object.Object, "spec", "template")
	is, _, _ := unstructured.NestedMap(o.Object.Object, "spec", "template")
	return !reflect.DeepEqual(was, is)
}

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
			it.State, it.Check = lane.ItemFailed, waitsForOldPods.ID
			it.Text = fmt.Sprintf("it waits for %s until its timeout, and fails then: its pod template changes, its updateStrategy is OnDelete, so that its old pods stay until somebody deletes them, and helm-controller waits until all of its pods are new (%d of %d are); edit: updateStrategy: {type: RollingUpdate} in %s",
				o.Ref(), s.UpdatedNumberScheduled, s.DesiredNumberScheduled, b.place(o, "spec.updateStrategy"))
			break
		}
	}
}
