package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestMidRun: a signal before there is a cluster and one while the controllers work end the run
// with 128+n, within seconds, and nothing is left (F18). TestFaults has one between the two.
func TestMidRun(t *testing.T) {
	t.Parallel()
	paths, _ := needStack(t)
	bin := buildProgram(t)
	for _, tc := range []struct {
		deployer, at string
		signal       syscall.Signal
		code         int
	}{
		{"helm", "Rendering the bundle", syscall.SIGTERM, 143},
		{"flux-oci", "Deploying", syscall.SIGINT, 130},
	} {
		t.Run(tc.deployer+" "+tc.at, func(t *testing.T) {
			t.Parallel()
			p := newProgram(t, bin, paths)
			artifacts := filepath.Join(t.TempDir(), "artifacts")
			r := p.start(t, nil, "run", "own", "--recipes-dir", ownRecipe(t, "1"), "--deployer", tc.deployer, "--artifacts", artifacts)
			r.until(t, "own/"+tc.deployer+"  "+tc.at) // printed when the step has ended
			if err := r.cmd.Process.Signal(tc.signal); err != nil {
				t.Fatal(err)
			}
			r.wait(t, time.Minute)
			r.want(t, tc.code, "1 cell: 0 passed, 1 interrupted", "INTERRUPTED: interrupted by "+tc.signal.String())
			if found, _ := filepath.Glob(filepath.Join(artifacts, "kwok-debug-own-"+tc.deployer+"-*", "cell.json")); len(found) != 1 {
				t.Errorf("evidence of the interrupted cell: got %q", found)
			}
		})
	}
}

// F31, F38: a reader that goes away, as head does, neither ends the run in its middle nor changes
// its code.
func TestRun_ReaderCloses(t *testing.T) {
	t.Parallel()
	paths, _ := needStack(t)
	charts := filepath.Join(t.TempDir(), "charts")
	if err := os.CopyFS(charts, os.DirFS("../../kwok/charts")); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(charts, "prometheus-adapter")); err != nil {
		t.Fatal(err)
	}
	p := newProgram(t, buildProgram(t), paths)
	for _, format := range []string{"-o=table", "-o=json", "--progress=json"} {
		read, write, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), p.bin, "run", "eks-training", "--deployer", "helm,argocd-oci", "--charts", charts, format)
		cmd.Env = append(os.Environ(), "AICR_ACTION_CACHE="+p.paths.Root, "KWOK_CLUSTER="+p.prefix, "AICR_ACTION_RECIPES_DIR=embedded")
		cmd.Stdout, cmd.Stderr = write, write
		if err := read.Close(); err != nil {
			t.Fatal(err)
		}
		runErr := cmd.Run()
		_ = write.Close()
		if got := cmd.ProcessState.ExitCode(); got != 52 {
			t.Errorf("%s: got exit code %d (%v), want that of the verdict, 52", format, got, runErr)
		}
	}
}
