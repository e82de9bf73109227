//go:build kind

package main

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/nvidia/aicr-action/internal/result/reason"
)

// What a cluster cannot be made with is rejected by the program with its own code and message, and
// nothing is made: on real engines, one of the tests' and a second one with its data on a small
// file system.
func TestBadInput(t *testing.T) {
	image, archive := need(t, "AICR_ACTION_KIND_NODE_IMAGE"), need(t, "AICR_ACTION_KIND_IMAGES")
	full, dir := ownEngine(t)
	if err := errors.Join(os.Chmod(dir, 0o755), os.MkdirAll(full.data(), 0o711), syscall.Mount("tmpfs", full.data(), "tmpfs", 0, "size=512m,mode=711")); err != nil {
		t.Fatal(err)
	}
	if err := full.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	usual := need(t, "DOCKER_HOST")
	matrix := filepath.Join(dir, "matrix")
	if out, err := exec.Command("go", "build", "-o", matrix, "github.com/nvidia/aicr-action/cmd/matrix").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	empty := filepath.Join(dir, "empty.tar")
	if out, err := exec.Command("sh", "-c", `cd "$0" && echo '[]' > manifest.json && tar -cf empty.tar manifest.json`, dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const foreign = "someone-elses"
	container, err := docker(t.Context(), usual, "create", "--label", "io.x-k8s.kind.cluster="+foreign, "--label", "io.x-k8s.kind.role=control-plane", "--network", "none", image)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := docker(context.WithoutCancel(t.Context()), usual, "rm", "--force", strings.TrimSpace(container)); err != nil {
			t.Error(err)
		}
	})

	containers := func() string { // of the tests' engine, which may be the machine's, and of the full one
		t.Helper()
		all, err := docker(t.Context(), usual, "ps", "--all", "--quiet", "--no-trunc")
		more, err2 := docker(t.Context(), full.socket(), "ps", "--all", "--quiet", "--no-trunc")
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		return all + more
	}
	before := containers()

	for _, c := range []struct {
		name   string
		engine string
		user   uint32
		args   []string
		env    []string
		reason reason.Reason
		want   string
	}{
		{"nearly full disk", full.socket(), 0, nil, nil, reason.NoSpace,
			`a Kind cluster needs 4096 MiB in ` + regexp.QuoteMeta(full.data()) + `, where Docker keeps containers, and (4|5)\d\d MiB are free: remove what you do not need`},
		{"no engine", "unix:///run/no-such-engine.sock", 0, nil, nil, reason.EngineUnusable, `the Docker engine of unix:///run/no-such-engine\.sock does not answer: start it`},
		// The archive is in root's cache directory, which another user may not enter.
		{"no permission", full.socket(), 65534, []string{"--kind-images", empty}, nil, reason.EngineUnusable, `this user may not use the Docker engine of ` + regexp.QuoteMeta(full.socket()) + `: join the group docker`},
		{"taken port", usual, 0, nil, []string{"KWOK_REGISTRY_HOST_PORT=" + port}, reason.PortTaken, `the port that KWOK_REGISTRY_HOST_PORT names: .*` + port},
		{"image missing from an archive", usual, 0, []string{"--kind-images", empty}, []string{"AICR_ACTION_KIND_NODE_IMAGE=localhost/none:1"}, reason.ImageMissing,
			regexp.QuoteMeta(empty) + ` does not have localhost/none:1`},
		{"someone else's cluster", usual, 0, []string{"--reuse-cluster"}, []string{"KWOK_CLUSTER=" + foreign}, reason.ClusterFailed,
			`make Kind cluster ` + foreign + `: there is one of that name, and it is not this run's`},
	} {
		t.Run(c.name, func(t *testing.T) {
			home := filepath.Join(dir, strings.ReplaceAll(c.name, " ", "-"))
			if err := errors.Join(os.Mkdir(home, 0o700), os.Chown(home, int(c.user), int(c.user))); err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), matrix, append([]string{"run", "eks-training", "--recipes-dir", "embedded", "-d", "helm", "--platform", "kind", "--kind-images", archive, "--results", filepath.Join(home, "results"), "--artifacts", filepath.Join(home, "artifacts")}, c.args...)...)
			cmd.Dir = home
			cmd.Env = append(os.Environ(), append([]string{"HOME=" + home, "DOCKER_HOST=" + c.engine, "AICR_ACTION_KIND_NODE_IMAGE=" + image, "AICR_ACTION_CACHE=" + filepath.Join(home, "cache")}, c.env...)...)
			if c.user != 0 {
				cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: c.user, Gid: c.user}}
			}
			out, err := cmd.CombinedOutput()
			if cmd.ProcessState == nil {
				t.Fatal(err)
			}
			if code := cmd.ProcessState.ExitCode(); code != c.reason.Code() || !regexp.MustCompile(c.want).Match(out) {
				t.Errorf("exit code %d, want %s (%d) and %s\n%s", code, c.reason, c.reason.Code(), c.want, out)
			}
			if left := containers(); left != before {
				t.Errorf("containers before\n%s\nand after\n%s", before, left)
			}
			if left, err := filepath.Glob(filepath.Join(home, "cache", "kind", "*")); err != nil || len(left) > 0 {
				t.Errorf("left: %q, %v", left, err)
			}
		})
	}
	if images, err := docker(t.Context(), full.socket(), "image", "ls", "--all", "--quiet"); err != nil || strings.TrimSpace(images) != "" {
		t.Errorf("the full engine has images: %q, %v", images, err)
	}
}
