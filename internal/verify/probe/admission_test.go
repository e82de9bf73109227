package probe

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// What Kueue says of a job that it does not admit ends the wait; before it has spoken, it may be
// slow.
func TestAdmission(t *testing.T) {
	const head = `{apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload, metadata: {name: job-train-1, ownerReferences: [{apiVersion: batch/v1, kind: Job, name: train, uid: u, controller: true}]}, status: {conditions: [`
	for name, c := range map[string]struct {
		status           string
		refusals         []string
		alone, withMaker bool // pods may still come
	}{
		"new":       {status: `]}}`, alone: true, withMaker: true},
		"no quota":  {status: `{type: QuotaReserved, status: "False", message: "no room"}]}}`, refusals: []string{"Job train is not admitted by Kueue: no room"}},
		"reserved":  {status: `{type: QuotaReserved, status: "True"}]}}`, alone: true, withMaker: true},
		"admitted":  {status: `{type: QuotaReserved, status: "True"}, {type: Admitted, status: "True"}]}}`, withMaker: true},
		"completed": {status: `{type: Finished, status: "True"}, {type: QuotaReserved, status: "False", message: "gone"}]}}`, withMaker: true},
	} {
		t.Run(name, func(t *testing.T) {
			var w unstructured.Unstructured
			if err := yaml.Unmarshal([]byte(head+c.status), &w.Object); err != nil {
				t.Fatal(err)
			}
			var a admission
			a.see(&w)
			if !slices.Equal(a.refusals, c.refusals) || a.undecided(false) != c.alone || a.undecided(true) != c.withMaker {
				t.Errorf("%+v, undecided %t, %t", a, a.undecided(false), a.undecided(true))
			}
		})
	}
	a := admission{refusals: []string{"Job x is not admitted by Kueue: ClusterQueue all is inactive", "Job y is not admitted by Kueue: ClusterQueue b-all is inactive"}}
	var queue unstructured.Unstructured
	if err := yaml.Unmarshal([]byte(`{kind: ClusterQueue, metadata: {name: all}, status: {conditions: [{type: Active, status: "False", message: no flavor}]}}`), &queue.Object); err != nil {
		t.Fatal(err)
	}
	a.explain(&queue)
	if want := []string{"Job x is not admitted by Kueue: ClusterQueue all is inactive: no flavor", "Job y is not admitted by Kueue: ClusterQueue b-all is inactive"}; !slices.Equal(a.refusals, want) {
		t.Errorf("of an inactive queue: %q", a.refusals)
	}
	if (admission{}).undecided(false) || !(admission{}).undecided(true) {
		t.Error("without Kueue, the answer is not that of the controller alone")
	}
}
