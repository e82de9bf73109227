package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/workflow"
)

// TestChaos takes every kind of step on one cluster, beside a workflow, and compares what survived
// each.
func TestChaos(t *testing.T) {
	t.Parallel()
	paths, _ := needStack(t)
	p := newProgram(t, buildProgram(t), paths)
	page := filepath.Join(t.TempDir(), "page.html")
	pr := p.run(t, 10*time.Minute, nil, "workflow", "run", "testdata/chaos/apps.yaml", "--chaos", "testdata/chaos/chaos.yaml", "-o", "json", "--html", page)
	pr.want(t, 0)
	var r workflow.Result
	if err := json.Unmarshal([]byte(pr.stdout.String()), &r); err != nil {
		t.Fatalf("%v in\n%s", err, pr.stdout)
	}
	// What is not whole after each step, by its name: state, ready and wanted pods, and words of
	// the reason.
	train, bare := "lost Job lab/train 0/0 BackoffLimitExceeded", "lost Pod lab/bare 0/1 nothing makes it again"
	want := []struct {
		did  string
		hurt []string
	}{
		{"1 pod failed with exit code 137", []string{train}},
		{"1 pod killed", []string{train, bare}},
		{"1 pod killed", []string{train, bare}},
		{"1 node lost 2 GPUs; running pods hold 2 more than there are now", []string{train, bare}},
		{"4 pods killed", []string{train, bare, "degraded Deployment lab/serve 3/4 Insufficient nvidia.com/gpu"}},
		{"2 nodes cordoned, ", []string{train, bare, "degraded Deployment lab/serve 1/4 Insufficient nvidia.com/gpu"}},
		{"3 nodes restored", []string{train, bare}},
		{"2 nodes stopped; ", []string{train, bare, "lost StatefulSet lab/store 0/2 is Terminating on the stopped node virtual-rack.two-", "degraded DaemonSet lab/agent 2/4 which is not Ready", "degraded Deployment lab/serve 2/4 node(s) had untolerated taint"}},
		{"2 nodes restored", []string{train, bare}},
		{"", nil},
	}
	if r.Chaos == nil || len(r.Chaos.Steps) != len(want) || r.Chaos.Seed != 7 {
		t.Fatalf("got the steps %+v", r.Chaos)
	}
	for i, w := range want {
		s := r.Chaos.Steps[i]
		if !strings.HasPrefix(s.Did, w.did) || s.Unsettled != "" {
			t.Errorf("step %d, %s: got %q, %q, %q; want %q", i, s.Name, s.Did, s.Error, s.Unsettled, w.did)
		}
		if len(s.Hurt) != len(w.hurt) {
			t.Errorf("step %d, %s: got %d that are not whole, want %d: %+v", i, s.Name, len(s.Hurt), len(w.hurt), s.Hurt)
		}
		for _, text := range w.hurt {
			parts := strings.SplitN(text, " ", 5)
			found := false
			for _, h := range s.Hurt {
				found = found || fmt.Sprintf("%s %s %d/%d", h.State, h.Workload, h.Ready, h.Want) == strings.Join(parts[:4], " ") && strings.Contains(h.Why, parts[4])
			}
			if !found {
				t.Errorf("step %d, %s: lacks %q: %+v", i, s.Name, text, s.Hurt)
			}
		}
	}
	if drained := r.Chaos.Steps[5].Did; !strings.Contains(drained, "2 pods not evicted within 2s: lab/guarded-") || !strings.Contains(drained, "disruption budget") {
		t.Errorf("the drain: got %q", drained)
	}
	last := r.Chaos.Steps[len(want)-1]
	if last.Status != result.StepFailed || !strings.Contains(last.Error, "no node has the labels rack=r9") || len(r.Notes) != 1 {
		t.Errorf("a step that cannot be done: got %+v and the notes %q", last, r.Notes)
	}
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	wantText(t, "the page", string(raw), "a rack is drained (drain): 2 nodes cordoned", "lost: StatefulSet lab/store, 0 of 2 pods")
}
