package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/report"
)

// TestGPUSchedulerRecipe runs the commands of examples/gpu-scheduler/README.md: the recipe of the GPU
// scheduler through argocd-appset on a fresh cluster. The scheduler and its check run for real.
func TestGPUSchedulerRecipe(t *testing.T) {
	t.Parallel()
	paths, _ := needStack(t)
	p := newProgram(t, buildProgram(t), paths)
	scheduler := filepath.Join(t.TempDir(), "gpu-scheduler")
	if out, err := exec.Command("go", "build", "-o", scheduler, "../gpu-scheduler").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	out := t.TempDir()
	p.run(t, 10*time.Minute, nil, "run", "gpu-scheduler", "--recipes-dir", "../../examples/gpu-scheduler", "--charts", "../../charts", "-d", "argocd-appset",
		"--program", "registry.example.com/gpu-scheduler:1.0.0="+scheduler, "--artifacts", out, "--results", out).want(t, 0, "1 cell: 1 passed")
	got, err := report.Read(filepath.Join(out, report.FileName))
	if err != nil || len(got.Results) != 1 {
		t.Fatalf("got %+v, %v", got, err)
	}
	r := got.Results[0]
	if standIns := strings.Join(r.StandIns, "\n"); !strings.Contains(standIns, "runs for the image registry.example.com/gpu-scheduler:1.0.0 (pods: 4)") || strings.Contains(standIns, "kube-scheduler places") {
		t.Errorf("another scheduler places the pods: %q", r.StandIns)
	}
	for i, want := range []string{"accelerated-0 with CUDA_VISIBLE_DEVICES=0,1,", "accelerated-1 with CUDA_VISIBLE_DEVICES=2,", "accelerated-2 with CUDA_VISIBLE_DEVICES=0,1,2,"} {
		log, err := os.ReadFile(filepath.Join(r.Artifacts, "logs", fmt.Sprintf("pod-gpu-scheduler-tests-gpu-scheduler-check-%d.log", i)))
		if err != nil || !strings.Contains(string(log), want+" as the scheduling map says") {
			t.Errorf("pod %d: got %q, %v", i, log, err)
		}
	}
}
