package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nvidia/aicr-action/internal/infra"
	snapshot "github.com/nvidia/aicr-action/internal/infra/clusterstate"
	"github.com/nvidia/aicr-action/internal/infra/embedded"
	"github.com/nvidia/aicr-action/internal/infra/stack"
)

// TestReplay_FailedCell: a cell fails on a real cluster, and its debug artifacts suffice to
// explore the cluster afterwards.
func TestReplay_FailedCell(t *testing.T) {
	t.Parallel()
	paths, stack := needStack(t)
	p := newProgram(t, buildProgram(t), paths)
	dir := recipesCopy(t)
	values := filepath.Join(dir, "components", "cert-manager", "values.yaml")
	raw, err := os.ReadFile(values)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(values, append(raw, "\nnodeSelector:\n  disktype: ssd\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	p.run(t, 10*time.Minute, nil, "run", "eks-training", "--deployer", "helm", "--recipes-dir", dir, "--artifacts", out).want(t, 1, "inspect its cluster: matrix replay "+out)
	name := p.prefix + "-replay"
	replay := func(args ...string) (*process, string) {
		t.Helper()
		start := time.Now()
		r := p.start(t, nil, append([]string{"replay", out, "--name", name}, args...)...)
		eventually(t, "the replay to be up", 3*time.Minute, func() error {
			select {
			case <-r.done:
				if r.code() != 0 {
					t.Fatalf("replay ended with code %d\n%s\n%s", r.code(), r.stdout, r.stderr)
				}
			default:
			}
			if !strings.HasSuffix(r.stdout.String(), "\n") {
				return errors.New(r.stderr.String())
			}
			return nil
		})
		t.Logf("replay %v: %s", args, time.Since(start))
		kubeconfig, ok := strings.CutPrefix(strings.TrimSpace(r.stdout.String()), "export KUBECONFIG=")
		if !ok {
			t.Fatalf("stdout: %s", r.stdout)
		}
		return r, kubeconfig
	}

	t.Run("not with --no-snapshot", func(t *testing.T) {
		without := t.TempDir()
		r := p.run(t, 10*time.Minute, nil, "run", "eks-training", "--deployer", "helm", "--recipes-dir", dir, "--artifacts", without, "--no-snapshot")
		r.want(t, 1)
		if strings.Contains(r.stdout.String(), "matrix replay") {
			t.Errorf("the report offers a replay of what is not there:\n%s", r.stdout)
		}
		for pattern, want := range map[string]int{"*/*" + snapshot.FileSuffix: 0, "*/summary.md": 1, "*/*-events.txt": 1} {
			if found, err := filepath.Glob(filepath.Join(without, pattern)); err != nil || len(found) != want {
				t.Errorf("%s: got %q (%v), want %d", pattern, found, err, want)
			}
		}
		p.run(t, time.Minute, nil, "replay", without).want(t, 2, "--no-snapshot")
	})
	t.Run("until Ctrl-C", func(t *testing.T) {
		r, kubeconfig := replay()
		for _, text := range []string{"eks-training/helm: failed SCHEDULING_FAILED", "Nothing moves", "Ctrl-C"} {
			r.until(t, text) // stdout and stderr are two streams: what is on one may be read first
		}
		lookAround(t, stack, kubeconfig)
		if err := r.cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		r.wait(t, time.Minute)
		r.want(t, 0)
		p.wantNothingLeft(t)
	})
	t.Run("killed", func(t *testing.T) {
		r, _ := replay()
		if n := len(p.processes(t)); n != 3 { // matrix, etcd, API server
			t.Errorf("got %d processes, want 3", n)
		}
		if err := r.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		r.wait(t, time.Minute)
		p.wantNoProcess(t)
		p.run(t, time.Minute, nil, "cluster", "down", "--name", name).want(t, 0, "is removed")
	})
	t.Run("etcd killed", func(t *testing.T) {
		r, kubeconfig := replay()
		if err := syscall.Kill(statePID(t, kubeconfig, "etcd"), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		r.wait(t, time.Minute)
		r.want(t, 14, "etcd ended unexpectedly (signal: killed)")
		p.wantNothingLeft(t)
	})
	t.Run("detached", func(t *testing.T) {
		r, kubeconfig := replay("--detach")
		r.wait(t, time.Minute)
		r.want(t, 0, "cluster down --name "+name)
		lookAround(t, stack, kubeconfig)
		if all := clustersOf(t, p); len(all) != 1 || all[0].State != "up" || strings.Join(all[0].Running, " ") != "etcd kube-apiserver stand-ins" {
			t.Errorf("cluster status: %+v", all)
		}
		p.run(t, time.Minute, nil, "replay", out, "--name", name).want(t, 2, "cluster down --name "+name) // it must not touch the other
		lookAround(t, stack, kubeconfig)
		p.run(t, time.Minute, nil, "cluster", "down", "--name", name).want(t, 0, "is removed")
		p.wantNothingLeft(t)
	})
}

// lookAround does what a reviewer does.
func lookAround(t *testing.T, stack *stack.Stack, kubeconfig string) {
	t.Helper()
	clients, err := infra.NewClients(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	// The stand-in serves aggregated APIs of simulated Services, once the API server has checked
	// them again.
	eventually(t, "discovery of every API group", time.Minute, func() error {
		_, _, err := clients.Discovery.ServerGroupsAndResources()
		return err
	})
	pods, err := clients.Kube.CoreV1().Pods("cert-manager").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(pods.Items) == 0 {
		t.Fatalf("pods of cert-manager: %v, %v", pods, err)
	}
	var pending []string
	for _, pod := range pods.Items {
		if pod.Status.Phase == corev1.PodPending {
			pending = append(pending, pod.Name)
		}
	}
	if len(pending) != 1 { // the value file's selector is the controller's; the webhook's and the injector's pods have others
		t.Fatalf("pending pods of cert-manager: %q of %d, want the one that failed the cell", pending, len(pods.Items))
	}
	events, err := clients.Kube.CoreV1().Events("cert-manager").List(t.Context(), metav1.ListOptions{FieldSelector: "reason=FailedScheduling,involvedObject.name=" + pending[0]})
	if err != nil || len(events.Items) == 0 || !strings.Contains(events.Items[0].Message, "0/6 nodes are available") {
		t.Errorf("the scheduler's Events about %s: %v, %v", pending[0], events, err)
	}
	cmd := exec.Command(stack.Bin("helm"), "list", "-A", "-a", "-o", "json")
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	raw, err := cmd.Output()
	if err != nil {
		t.Fatalf("helm list: %v", err)
	}
	var releases []struct{ Name string }
	if err := json.Unmarshal(raw, &releases); err != nil || !strings.Contains(string(raw), `"cert-manager"`) {
		t.Errorf("helm list: %v in %s", err, raw)
	}
}

// statePID is the process of a component, as the cluster's directory has it.
func statePID(t *testing.T, kubeconfig, component string) int {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(filepath.Dir(kubeconfig), "aicr-cluster.json"))
	if err != nil {
		t.Fatal(err)
	}
	var state embedded.State
	if err := json.Unmarshal(raw, &state); err != nil || state.Processes[component] == 0 {
		t.Fatalf("the state has no %s: %v in %s", component, err, raw)
	}
	return state.Processes[component]
}
