package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/publish"
	"github.com/nvidia/aicr-action/internal/infra/embedded"
	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/testkit/shippedtest"
	"github.com/nvidia/aicr-action/internal/testkit/testskip"
)

// What the helm lane does with Helm's SDK, the bundle's deploy.sh does with the helm command: the
// same releases, in the same order.
func TestDeployScript(t *testing.T) {
	t.Parallel()
	paths, stack := needStack(t)
	if _, err := exec.LookPath("bash"); err != nil {
		testskip.Missing(t, "no bash")
	}
	p := newProgram(t, buildProgram(t), paths)

	in := eksTraining(t, stack)
	registry := startRegistry(t, paths)
	in.ChartRepository, in.PlainHTTP = "oci://"+registry.PullHost()+"/charts", true
	made, err := bundle.Deployers()[0].Bundle(t.Context(), in)
	if err != nil {
		t.Fatalf("make the bundle: %v", err)
	}
	for _, ch := range made.Charts {
		if _, err := publish.PushChart(t.Context(), ch, "oci://"+registry.PushHost()+"/charts", publish.Own()); err != nil {
			t.Fatalf("push chart %s: %v", ch.Name(), err)
		}
	}
	dir := filepath.Join(t.TempDir(), "bundle")
	p.run(t, time.Minute, nil, "bundle", "eks-training", "--deployer", "helm", "--simulated-nodes", "-o", dir, "--chart-repository", in.ChartRepository, "--plain-http").want(t, 0)

	name := p.prefix
	t.Cleanup(func() { p.run(t, time.Minute, nil, "cluster", "down", "--name", name).want(t, 0) })
	p.run(t, 10*time.Minute, nil, "cluster", "up", "--name", name).want(t, 0, "cluster "+name+" is up")
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, []byte(p.run(t, time.Minute, nil, "cluster", "kubeconfig", "--name", name).stdout.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	command := func(name string, args ...string) []byte {
		t.Helper()
		home := t.TempDir()
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "PATH="+filepath.Join(stack.Dir, "bin")+":"+os.Getenv("PATH"),
			"HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
		var stderr testkit.Log
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s %s: %v\n%s\n%s", name, strings.Join(args, " "), err, out, &stderr)
		}
		return out
	}
	command("./deploy.sh") // in the bundle, as a person would

	var got []struct{ Name, Namespace, Status, Updated string }
	if err := json.Unmarshal(command(stack.Bin("helm"), "list", "-A", "-a", "--time-format", time.RFC3339Nano, "-o", "json"), &got); err != nil {
		t.Fatalf("read helm list: %v", err)
	}
	sort.SliceStable(got, func(i, j int) bool { return got[i].Updated < got[j].Updated })
	var releases, want []string
	for _, r := range got {
		releases = append(releases, r.Namespace+"/"+r.Name+" "+r.Status)
	}
	for _, in := range made.Installs {
		want = append(want, in.Release.Namespace+"/"+in.Release.Name+" deployed")
	}
	if !slices.Equal(releases, want) {
		t.Errorf("helm list:\n%s\nwant, in the order of deployment:\n%s", strings.Join(releases, "\n"), strings.Join(want, "\n"))
	}
	if names := releaseNames(made.Expectation.Releases); !slices.Equal(names, releaseNames(installed(made.Installs))) {
		t.Errorf("the bundle promises %q and installs others", names)
	}
}

func installed(installs []bundle.Install) []bundle.Release {
	var all []bundle.Release
	for _, in := range installs {
		all = append(all, in.Release)
	}
	return all
}

func releaseNames(releases []bundle.Release) []string {
	var names []string
	for _, r := range releases {
		names = append(names, r.Namespace+"/"+r.Name)
	}
	return names
}

// eksTraining is the recipe as `matrix bundle eks-training` reads it, with the simulated charts.
func eksTraining(t *testing.T, stack *stack.Stack) bundle.Input {
	t.Helper()
	store := shippedtest.Recipes(t)
	result, err := store.ResolveName("eks-training")
	if err != nil {
		t.Fatalf("resolve eks-training: %v", err)
	}
	components, err := store.Components(result)
	if err != nil {
		t.Fatalf("hydrate eks-training: %v", err)
	}
	return bundle.Input{Recipe: result, Components: components, Scheduling: bundle.KwokScheduling(), Charts: shippedtest.Charts(t), KubeVersion: stack.KubeVersion(), APIs: bundle.StackAPIs()}
}

func startRegistry(t *testing.T, paths host.Paths) *embedded.MemoryRegistry {
	t.Helper()
	r, err := embedded.NewMemoryRegistry(embedded.RegistryOptions{Ports: host.NewPorts(paths.Ports()), Port: embedded.DefaultRegistryPort, Log: filepath.Join(t.TempDir(), "registry.log")})
	if err != nil {
		t.Fatalf("take a port for the registry: %v", err)
	}
	t.Cleanup(r.Close)
	if err := r.Start(t.Context()); err != nil {
		t.Fatalf("start the registry: %v", err)
	}
	return r
}
