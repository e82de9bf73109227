package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/infra/host"
)

// The real binary's real exit codes and streams.
func TestProcessExitCodes(t *testing.T) {
	cache := t.TempDir()
	p := program{bin: buildProgram(t), paths: host.Paths{Root: cache}, prefix: "test-" + cli.NewRunID()}
	settings := filepath.Join(t.TempDir(), "settings.yaml")
	if err := os.WriteFile(settings, []byte("go: {minimum: \"1.26\"}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	noGo := []string{"PATH=" + t.TempDir()} // what should have been refused must not compile the stack instead
	out := filepath.Join(t.TempDir(), "bundle")
	tests := []struct {
		name string
		args []string
		code int
		want []string
	}{
		{"version", []string{"version"}, 0, []string{"kube-apiserver"}},
		{"help", []string{"--help"}, 0, []string{"Run recipes:", "matrix explain"}},
		{"help of run", []string{"run", "--help-all"}, 0, []string{"SYNC_TIMEOUT"}},
		{"bundle", []string{"bundle", "eks-training", "-o", out, "--simulated-nodes"}, 0, []string{"README.md", "injected scheduling for system components: nodeSelector aicr.nvidia.com/node-type=system"}},
		{"bundle once more", []string{"bundle", "eks-training", "-o", out}, 2, []string{"empty"}},
		{"no cluster", []string{"cluster", "status"}, 0, []string{"no clusters"}},
		{"unknown recipe", []string{"run", "nonsense"}, 2, []string{"eks-training"}},
		{"unknown verb", []string{"frobnicate"}, 2, []string{"frobnicate"}},
		{"hidden command of another program", []string{"__hidden", "other"}, 1, []string{`this program has no hidden command "other", only: sandbox, `}},
		{"settings incomplete", []string{"run", "eks", "--settings", settings}, 10, []string{"nodes.system"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			p.run(t, time.Minute, noGo, tc.args...).want(t, tc.code, tc.want...)
		})
	}
	for _, dir := range []string{"clusters", "runs"} {
		if _, err := os.Stat(filepath.Join(cache, dir)); err == nil {
			t.Errorf("%s was made in the cache", dir)
		}
	}
}

// A reader that goes away, as head does, is no error of any command: it ends without a word and with
// its own code.
func TestProcess_ReaderGone(t *testing.T) {
	bin := buildProgram(t)
	for name, c := range map[string]struct {
		args []string
		code int
	}{
		"list":       {[]string{"list", "recipes"}, 0},
		"json":       {[]string{"list", "recipes", "-o", "json"}, 0},
		"yaml":       {[]string{"list", "components", "-o", "yaml"}, 0},
		"explain":    {[]string{"explain"}, 0},
		"version":    {[]string{"version"}, 0},
		"help":       {[]string{"run", "--help-all"}, 0},
		"completion": {[]string{"completion", "bash"}, 0},
		"schema":     {[]string{"schema", "results"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			read, write, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := read.Close(); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = write.Close() }()
			var stderr strings.Builder
			cmd := exec.CommandContext(t.Context(), bin, c.args...)
			cmd.Env = append(os.Environ(), "AICR_ACTION_CACHE="+t.TempDir(), "AICR_ACTION_RECIPES_DIR=embedded", "CI=")
			cmd.Stdout, cmd.Stderr = write, &stderr
			err = cmd.Run()
			if got := cmd.ProcessState.ExitCode(); got != c.code || stderr.Len() > 0 {
				t.Errorf("matrix %s: exit code %d (%v), want %d, and on stderr:\n%s", strings.Join(c.args, " "), got, err, c.code, &stderr)
			}
		})
	}
}

// BenchmarkHelp is what a person waits for before anything is done: the start of the program. It
// should stay below 100 ms.
func BenchmarkHelp(b *testing.B) {
	bin := filepath.Join(b.TempDir(), "matrix")
	if out, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput(); err != nil {
		b.Fatalf("go build: %v\n%s", err, out)
	}
	for b.Loop() {
		if out, err := exec.Command(bin, "--help").CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
	}
}
