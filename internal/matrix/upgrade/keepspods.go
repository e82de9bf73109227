package upgrade

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
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
	old := objectOf(b.Before, o.Ref())
	if old == nil {
		return false
	}
	was, _, _ := unstructured.NestedMap(old.Object.Object, "spec", "template")
	is, _, _ := unstructured.NestedMap(o.Object.Object, "spec", "template")
	return !reflect.DeepEqual(was, is)
}
