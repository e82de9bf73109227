//go:build kind

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// TestMain: the engine that TestEngineIsKilled starts has this program as its runtime, under
// another name.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == runtimeName {
		main()
	}
	os.Exit(m.Run())
}

// An engine that is killed in mid-run ends the cell at once, with its name and what to do, and the
// program with a code. What is left of the cluster is removed by the next run. The engine is one of
// the test's own: the other tests need theirs.
func TestEngineIsKilled(t *testing.T) {
	image, archive := need(t, "AICR_ACTION_KIND_NODE_IMAGE"), need(t, "AICR_ACTION_KIND_IMAGES")
	e, dir := ownEngine(t)
	if err := e.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	node := filepath.Join(filepath.Dir(archive), "node.tar")
	if _, err := os.Stat(node); err == nil { // otherwise the archive is of pinned images, and has it
		if _, err := docker(t.Context(), e.socket(), "load", "--quiet", "--input", node); err != nil {
			t.Fatal(err)
		}
	}
	matrix := filepath.Join(dir, "matrix")
	if out, err := exec.Command("go", "build", "-o", matrix, "github.com/nvidia/aicr-action/cmd/matrix").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	run := func() (*exec.Cmd, *testkit.Log) {
		cmd := exec.CommandContext(t.Context(), matrix, "run", "eks-training", "--recipes-dir", "../recipes-march", "-d", "helm", "--platform", "kind", "--results", filepath.Join(dir, "results"), "--artifacts", filepath.Join(dir, "artifacts"))
		cmd.Env = append(os.Environ(), "DOCKER_HOST="+e.socket(), "AICR_ACTION_KIND_NODE_IMAGE="+image, "AICR_ACTION_CACHE="+filepath.Join(dir, "cache"), "KWOK_CLUSTER=killed", "KWOK_SCHEDULING_TIMEOUT=900")
		log := &testkit.Log{}
		cmd.Stdout, cmd.Stderr = log, log
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd, log
	}
	cmd, log := run()
	testkit.Eventually(t, "the cell to deploy", 10*time.Minute, func() wait.Result {
		if strings.Contains(log.String(), "✗") {
			t.Fatalf("the cell failed before\n%s", log)
		}
		if !strings.Contains(log.String(), "✓ eks-training/helm  Starting the cluster") {
			return wait.NotYet("%s", log)
		}
		return wait.Done()
	})
	if err := syscall.Kill(e.pid(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	killed := time.Now()
	_ = cmd.Wait() // ProcessState has the exit code
	t.Logf("the program ended %s after the engine\n%s", time.Since(killed).Round(100*time.Millisecond), log)
	if code := cmd.ProcessState.ExitCode(); code != reason.ComponentDied.Code() {
		t.Errorf("exit code %d, want COMPONENT_DIED", code)
	}
	for _, part := range []string{"eks-training/helm  COMPONENT_DIED (14): the Docker engine of " + e.socket() + " ended unexpectedly", "start it again", "the next run with --platform kind removes it"} {
		if !strings.Contains(log.String(), part) {
			t.Errorf("the user does not read %q", part)
		}
	}
	if strings.Contains(log.String(), "its log is empty") {
		t.Error("the user is sent to a log that there is not")
	}
	raw, err := os.ReadFile(filepath.Join(dir, "results", "kwok-results.json"))
	if err != nil || !bytes.Contains(raw, []byte("COMPONENT_DIED")) {
		t.Errorf("the results: %v\n%s", err, raw)
	}

	left := func() string {
		t.Helper()
		out, err := docker(t.Context(), e.socket(), "ps", "--all", "--quiet", "--filter", "label=io.x-k8s.kind.cluster")
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(out)
	}
	if err := e.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left() == "" {
		t.Error("the killed engine has left no container, so that nothing is seen of its removal")
	}
	cmd, log = run()
	testkit.Eventually(t, "the next run to remove what is left", 5*time.Minute, func() wait.Result {
		if !strings.Contains(log.String(), "✓ Removing what is left of Kind cluster killed-") {
			return wait.NotYet("%s", log)
		}
		return wait.Done()
	})
	_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended: an engine that was killed can have lost the images
	_ = cmd.Wait()                          // how it ends is not what is looked at
	if containers := left(); containers != "" {
		t.Errorf("containers are left: %q\n%s", containers, log)
	}
}
