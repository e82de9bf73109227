package upgrade

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// KeepPods warns of workloads whose pod template the delivery changes, and whose update strategy lets
// old pods run on until somebody deletes them: such an upgrade is over, and nothing of it runs.
func (b Bundles) KeepPods() []string {
	var lines []string
	for i := range b.Now.Expectation.Objects {
		now := &b.Now.Expectation.Objects[i]
		old := objectOf(b.Before, now.Ref())
		if kind := now.Object.GetKind(); old == nil || kind != "DaemonSet" && kind != "StatefulSet" && kind != "ReplicaSet" && kind != "ReplicationController" {
			continue
		}
		was, _, _ := unstructured.NestedMap(old.Object.Object, "spec", "template")
		is, _, _ := unstructured.NestedMap(now.Object.Object, "spec", "template")
		if reflect.DeepEqual(was, is) {
			continue
		}
		strategy, _, _ := unstructured.NestedString(now.Object.Object, "spec", "updateStrategy", "type")
		partition, partly, _ := unstructured.NestedFieldNoCopy(now.Object.Object, "spec", "updateStrategy", "rollingUpdate", "partition")
		why, place := "", "spec.updateStrategy"
		switch {
		case now.Object.GetKind() == "ReplicaSet" || now.Object.GetKind() == "ReplicationController":
			why, place = "it replaces no pod by itself, so that its old pods run until somebody deletes them; a Deployment rolls", "spec.template"
		case strategy == "OnDelete":
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
