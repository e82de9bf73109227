package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/result/reason"
)

// aheadNotTaken is a run that ends before its second cell, whose cluster is started ahead.
type aheadNotTaken struct {
	args   []string
	signal syscall.Signal
	code   int
	said   string
}

// TestAhead_CellDoesNotRun: a cluster that was started ahead for a cell which does not run leaves no
// process, no directory, no artifact and no result. Strikes end the run, and so does a signal.
func TestAhead_CellDoesNotRun(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]aheadNotTaken{
		"strikes": {[]string{"--max-strikes", "1"}, 0, 50, "argocd-oci: 1 consecutive sync timeouts (eks/argocd-oci) ended the run (--max-strikes 1)"},
		"signal":  {nil, syscall.SIGTERM, 143, "the run was ended before this cell began"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.run(t)
		})
	}
}

// run runs it. newProgram checks that no process and no directory is left.
func (tc aheadNotTaken) run(t *testing.T) {
	t.Helper()
	paths, _ := needStack(t)
	p := newProgram(t, buildProgram(t), paths)
	args := append([]string{"run", "eks", "--deployer", "argocd-oci,flux-oci", "--parallel", "1", "--ahead", "1", "-o", "json"}, tc.args...)
	artifacts := t.TempDir()
	var r *process
	if tc.signal != 0 {
		r = p.start(t, nil, append(args, "--artifacts", artifacts)...)
		r.until(t, "eks/flux-oci  Starting its cluster ahead")
		if err := r.cmd.Process.Signal(tc.signal); err != nil {
			t.Fatal(err)
		}
		r.wait(t, 5*time.Minute)
	} else {
		// The other cluster is still being started when the time is up, or is ready. Where the API
		// server did not answer within that time, the machine was too slow for it, and the second
		// cell ran: its artifacts are in the directory of that run.
		for _, seconds := range []int{10, 20, 40} {
			artifacts = t.TempDir()
			if r = p.run(t, 5*time.Minute, []string{fmt.Sprintf("KWOK_ARGOCD_SYNC_TIMEOUT=%d", seconds)}, append(args, "--artifacts", artifacts)...); r.code() != reason.ClusterFailed.Code() {
				break
			}
		}
	}
	r.want(t, tc.code, tc.said)
	if !strings.Contains(r.stderr.String(), "eks/flux-oci  Starting its cluster ahead") {
		t.Errorf("no cluster was started ahead:\n%s", r.stderr)
	}
	if found, _ := filepath.Glob(filepath.Join(artifacts, "*flux-oci*")); len(found) > 0 {
		t.Errorf("artifacts of a cell that did not run: %q", found)
	}
	if cut := strings.Index(r.stdout.String(), `"flux-oci"`); cut < 0 || !strings.Contains(r.stdout.String()[cut:], `"status": "not run"`) {
		t.Errorf("the second cell's result:\n%s", r.stdout)
	}
}
