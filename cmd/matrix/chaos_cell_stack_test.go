package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/result"
)

// TestChaos_Cell breaks the pods and the nodes of a cell that has passed: every step has what
// survived it, and the verdict stays.
func TestChaos_Cell(t *testing.T) {
	t.Parallel()
	paths, _ := needStack(t)
	p := newProgram(t, buildProgram(t), paths)
	dir := t.TempDir()
	file, page := filepath.Join(dir, "chaos.yaml"), filepath.Join(dir, "page.html")
	if err := os.WriteFile(file, []byte(`seed: 3
settle: 60s
steps:
- name: the app restarts
  killPods: {labels: {app: app}}
- name: power is lost
  stopNodes: {names: [accelerated-0]}
- name: and is back
  restoreNodes: {names: [accelerated-0]}
- name: nobody has this rack
  drain: {labels: {rack: r9}}
`), 0o644); err != nil {
		t.Fatal(err)
	}
	recipes := ownRecipe(t, "1")
	edit(t, filepath.Join(recipes, "components/app/manifests/app.yaml"), "      tolerations:", "      nodeSelector: {kubernetes.io/hostname: accelerated-0}\n      tolerations:")
	ran := p.run(t, 10*time.Minute, []string{"AICR_ACTION_RECIPES_DIR="}, "run", "own", "--recipes-dir", recipes, "--deployer", "helm", "--chaos", file, "--html", page, "-o", "json")
	ran.want(t, 0)
	var report struct{ Results []result.Result }
	if err := json.Unmarshal([]byte(ran.stdout.String()), &report); err != nil || len(report.Results) != 1 {
		t.Fatalf("got %v\n%s", err, ran.stdout)
	}
	r := report.Results[0]
	if r.Status != result.Passed || r.Chaos == nil || r.Chaos.Seed != 3 || len(r.Chaos.Steps) != 4 {
		t.Fatalf("got %s and the chaos %+v", r.Status, r.Chaos)
	}
	if last := r.Phases[len(r.Phases)-1]; last.Name != "chaos" {
		t.Errorf("the last step is %s, want chaos", last.Name)
	}
	for i, want := range []struct {
		status result.StepStatus
		did    string
		hurt   string // what is not whole: state, workload, ready and required pods, and words of the reason; "" for nothing
	}{
		{result.StepPassed, "1 pod killed", ""},
		// The app tolerates every taint: its pod stays on its node, without a kubelet.
		{result.StepPassed, "1 node stopped", "lost Deployment app/app 0/1 which is not Ready"},
		{result.StepPassed, "1 node restored", ""},
		{result.StepFailed, "", ""},
	} {
		s := &r.Chaos.Steps[i]
		if s.Status != want.status || !strings.HasPrefix(s.Did, want.did) || s.Unsettled != "" {
			t.Errorf("step %d, %s: got %s, %q, %q, %q; want %s, %q", i, s.Name, s.Status, s.Did, s.Error, s.Unsettled, want.status, want.did)
		}
		if want.hurt == "" && len(s.Hurt) > 0 || want.hurt != "" && len(s.Hurt) != 1 {
			t.Errorf("step %d, %s: got %+v, want %q", i, s.Name, s.Hurt, want.hurt)
			continue
		}
		for _, h := range s.Hurt {
			parts := strings.SplitN(want.hurt, " ", 5)
			if got := string(h.State) + " " + h.Workload.String(); got != strings.Join(parts[:3], " ") || h.Ready != 0 || h.Want != 1 || !strings.Contains(h.Why, parts[4]) {
				t.Errorf("step %d, %s: got %+v, want %q", i, s.Name, h, want.hurt)
			}
		}
	}
	wantText(t, "the warnings", strings.Join(r.Warnings, "\n"), "chaos step nobody has this rack ("+file+":10) could not be done: ", "no node has the labels rack=r9")
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	wantText(t, "the page", string(raw), "power is lost (stopNodes): 1 node stopped", "lost: Deployment app/app, 0 of 1 pod: pod app/app-")
	// The pod that was created again is one of those whose way to a node was measured.
	if s := r.Scheduling; s == nil || s.Pods != 2 || s.Placed != 2 {
		t.Errorf("got the scheduling %+v, want the 2 pods of the app", s)
	}
}
