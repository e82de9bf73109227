package daytwo

import (
	"strings"
	"testing"
)

// A workload whose old pods run on after its template has changed is named; one that rolls, or whose
// template did not change, is not.
func TestKeepPods(t *testing.T) {
	object := func(kind, strategy, image string) string {
		return "{apiVersion: apps/v1, kind: " + kind + ", metadata: {namespace: ns, name: x}, spec: {updateStrategy: " + strategy + ", template: {image: " + image + "}}}"
	}
	for name, tc := range map[string]struct{ old, now, want string }{
		"OnDelete":   {object("DaemonSet", "{type: OnDelete}", "a"), object("DaemonSet", "{type: OnDelete}", "b"), "DaemonSet ns/x does not roll although its pod template changes: its updateStrategy is OnDelete"},
		"partition":  {object("StatefulSet", "{rollingUpdate: {partition: 2}}", "a"), object("StatefulSet", "{rollingUpdate: {partition: 2}}", "b"), "the partition 2"},
		"rolls":      {object("DaemonSet", "{}", "a"), object("DaemonSet", "{}", "b"), ""},
		"no rolling": {object("ReplicaSet", "{}", "a"), object("ReplicaSet", "{}", "b"), "ReplicaSet ns/x does not roll although its pod template changes: it replaces no pod by itself"},
		"the same":   {object("DaemonSet", "{type: OnDelete}", "a"), object("DaemonSet", "{type: OnDelete}", "a"), ""},
		"now rolls":  {object("DaemonSet", "{type: OnDelete}", "a"), object("DaemonSet", "{type: RollingUpdate}", "b"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := strings.Join(Bundles{Before: bundleOf(t, tc.old), Now: bundleOf(t, tc.now)}.KeepPods(), "\n")
			if tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
