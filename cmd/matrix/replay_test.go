package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/command/reports"
	"github.com/nvidia/aicr-action/internal/infra/clusterstate"
	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/kwok"
)

// stackVersion is the Kubernetes version of this program's stack.
func stackVersion(t *testing.T) string {
	t.Helper()
	stack, err := stack.NewStack(host.Paths{Root: t.TempDir()}, kwok.StackMod, kwok.StackSum, kwok.StackSources)
	if err != nil {
		t.Fatal(err)
	}
	return stack.KubeVersion()
}

// evidenceOf writes a directory of debug artifacts with a snapshot.
func evidenceOf(t *testing.T, root, cluster, kubernetes string) string {
	t.Helper()
	dir := filepath.Join(root, "kwok-debug-"+cluster)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	s := &clusterstate.Snapshot{
		Info:    clusterstate.Info{Format: clusterstate.Format, About: clusterstate.About{Cluster: cluster, Kubernetes: kubernetes}, Keys: 1},
		Records: []clusterstate.Record{{Key: "/registry/a/b", Value: []byte("x")}},
	}
	file := filepath.Join(dir, cluster+clusterstate.FileSuffix)
	if err := s.WriteFile(file); err != nil {
		t.Fatal(err)
	}
	return file
}

// What is wrong with a snapshot is said, with code 2, before anything is built or started (invoke
// has no go command and checks that there is no cluster).
func TestReplay_Invalid(t *testing.T) {
	good := stackVersion(t)
	empty, two, old, cut := t.TempDir(), t.TempDir(), t.TempDir(), t.TempDir()
	a, b := evidenceOf(t, two, "a", good), evidenceOf(t, two, "b", good)
	evidenceOf(t, old, "old", "v1.20.0")
	file := evidenceOf(t, cut, "cut", good)
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, raw[:len(raw)-9], 0o644); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		args []string
		want []string
	}{
		"no argument":      {nil, []string{"accepts 1 arg"}},
		"no such place":    {[]string{filepath.Join(empty, "x")}, []string{"no such file"}},
		"no snapshot":      {[]string{empty}, []string{"no snapshot (*-etcd.tar.gz)", empty, "--no-snapshot"}},
		"two of them":      {[]string{two}, []string{"2 snapshots", a, b}},
		"another minor":    {[]string{old}, []string{"of Kubernetes v1.20.0 and this program has " + good}},
		"cut off":          {[]string{cut}, []string{file, clusterstate.ErrUnusable.Error(), "ends too early; download it again"}},
		"something else":   {[]string{"replay_test.go"}, []string{"replay_test.go", clusterstate.ErrUnusable.Error()}},
		"a name for paths": {[]string{a, "--name", "../x"}, []string{`cluster name "../x"`}},
	} {
		t.Run(name, func(t *testing.T) {
			r := invoke(t, nil, append([]string{"replay"}, test.args...)...)
			r.want(t, 2)
			wantText(t, name, r.stderr, test.want...)
			if r.stdout != "" {
				t.Errorf("stdout has %q", r.stdout)
			}
		})
	}
}

// A directory of debug artifacts, its parent, and the file itself all lead to the snapshot. Then
// the command fails because this test has no stack.
func TestReplay_FindsSnapshot(t *testing.T) {
	root := filepath.Join(t.TempDir(), "out [1]") // no pattern
	file := evidenceOf(t, root, "red", stackVersion(t))
	for _, path := range []string{root, filepath.Dir(file), file} {
		if r := invoke(t, nil, "replay", path); r.code != 12 {
			t.Errorf("%s: got code %d, want 12, since there is no toolchain\n%s", path, r.code, r.stderr)
		}
	}
	failed := sampleResults()[2]
	failed.Artifacts = filepath.Dir(file)
	var table strings.Builder
	if err := reports.Print(&table, []result.Result{failed}, "table", 0, false); err != nil {
		t.Fatal(err)
	}
	wantText(t, "report", table.String(), "inspect its cluster: "+cli.Invocation()+" replay "+failed.Artifacts+"\n")
	minor := strings.Join(strings.Split(stackVersion(t), ".")[:2], ".")
	r := invoke(t, nil, "replay", evidenceOf(t, t.TempDir(), "patched", minor+".99"))
	r.want(t, 12)
	wantText(t, "another patch release", r.stderr, "warning: the snapshot is of Kubernetes "+minor+".99, replayed with")
}
