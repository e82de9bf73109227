package simulate

import (
	"strings"
	"testing"
)

// The file repeats what the flags of an embedded or Kind scheduler would say, and has a profile for
// each scheduler.
func TestSchedulerConfig(t *testing.T) {
	for kubeconfig, want := range map[string]bool{"": false, "/etc/kubernetes/scheduler.conf": true} {
		raw, err := SchedulerConfig(kubeconfig, []string{"default-scheduler", "kai-scheduler"})
		if err != nil {
			t.Fatal(err)
		}
		text := string(raw)
		if strings.Contains(text, "kubeconfig:") != want || !strings.Contains(text, "leaderElect: false") || strings.Count(text, "schedulerName:") != 2 {
			t.Errorf("with %q:\n%s", kubeconfig, text)
		}
	}
}

func TestEgressConfig(t *testing.T) {
	raw, err := EgressConfig("/a b/egress.sock")
	if err != nil || !strings.Contains(string(raw), "udsName: /a b/egress.sock") || !strings.Contains(string(raw), "name: cluster") {
		t.Errorf("got %v\n%s", err, raw)
	}
}
