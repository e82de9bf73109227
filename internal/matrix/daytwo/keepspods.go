package daytwo

import (
	"context"
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
)

// KeepPods warns of workloads whose pod template the delivery changes, and whose update strategy lets
// old pods run on until somebody deletes them: such an upgrade is over, and nothing of it runs.
func (b Bundles) KeepPods() []string {
	var lines []string
	for i := range b.Now.Expectation.Objects {
		now := &b.Now.Expectation.Objects[i]
		if kind := now.Object.GetKind(); kind != "DaemonSet" && kind != "StatefulSet" && kind != "ReplicaSet" && kind != "ReplicationController" || !b.changesTemplate(now) {
			continue
		}
		partition, partly, _ := unstructured.NestedFieldNoCopy(now.Object.Object, "spec", "updateStrategy", "rollingUpdate", "partition")
		why, place := "", "spec.updateStrategy"
		switch {
		case now.Object.GetKind() == "ReplicaSet" || now.Object.GetKind() == "ReplicationController":
			why, place = "it replaces no pod by itself, so that its old pods run until somebody deletes them; a Deployment rolls", "spec.template"
		case strategyOf(now) == onDelete:
			why = "its updateStrategy is OnDelete, so that its old pods run until somebody deletes them"
		case partly && fmt.Sprint(partition) != "0":
			why = fmt.Sprintf("its rollingUpdate has the partition %v, so that its old pods below it run on", partition)
		default:
			continue
		}
		lines = append(lines, fmt.Sprintf("%s does not roll although its pod template changes: %s (component %s, %s)", now.Ref(), why, now.Component, b.place(now, place)))
	}
	return lines
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
			it.State = lane.ItemFailed
			it.Text = fmt.Sprintf("it waits for %s until its timeout, and fails then: its pod template changes, its updateStrategy is OnDelete, so that its old pods stay until somebody deletes them, and helm-controller waits until all of its pods are new (%d of %d are); edit: updateStrategy: {type: RollingUpdate} in %s",
				o.Ref(), s.UpdatedNumberScheduled, s.DesiredNumberScheduled, b.place(o, "spec.updateStrategy"))
			break
		}
	}
}
