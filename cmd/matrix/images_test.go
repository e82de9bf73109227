package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// What a run with these flags cannot do is said before Docker is asked for anything.
func TestKindFlags(t *testing.T) {
	file := filepath.Join(t.TempDir(), "images.tar")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	flow := filepath.Join("testdata", "workflows", "too-large.yaml")
	for _, tc := range []struct {
		args []string
		env  []string
		code int
		want string
	}{
		{[]string{"run", "eks-training", "--platform", "minikube"}, nil, 2, `--platform "minikube": want embedded or kind`},
		{[]string{"run", "eks-training", "--program", "app:1="}, nil, 2, "--program: \"app:1=\": want IMAGE=FILE"},
		{[]string{"run", "eks-training", "--program", "a/UPPER:1=/bin/sh"}, nil, 2, `--program "a/UPPER:1": this is no name of an image`},
		{[]string{"run", "eks-training", "--program", "app@sha256:12"}, nil, 2, `--program "app@sha256:12": this is no name of an image`},
		{[]string{"run", "eks-training", "--program", "registry.example.com/app:1", "--platform", "kind"}, nil, 2, "--program does not work with --platform kind"},
		{[]string{"run", "eks-training", "--program", "app:1=" + file}, nil, 2, "is not an executable file"},
		{[]string{"run", "eks-training", "--program", "app:1=" + file + "x"}, nil, 2, "does not exist"},
		{[]string{"run", "eks-training", "--program", "app:1=/bin/sh", "--program", "app:1=/bin/sh"}, nil, 2, "the image app:1 has two programs"},
		{[]string{"run", "eks-training", "--program", "app:1=/bin/sh", "--platform", "kind"}, nil, 2, "--program does not work with --platform kind"},
		{[]string{"run", "eks-training", "--kind-images", file}, nil, 2, "--kind-images needs --platform kind"},
		{[]string{"run", "eks-training", "--platform", "kind", "--kind-images", file + "x"}, nil, 2, "no such file"},
		{[]string{"run", "eks-training", "--platform", "kind", "-d", "helm,helmfile"}, nil, 2, "--deployer helmfile does not work with --platform kind: helmfile is a program of this machine"},
		{[]string{"run", "eks-training", "--platform", "kind", "--charts", "direct"}, nil, 2, "--charts direct does not work with --platform kind"},
		{[]string{"run", "eks-training", "--platform", "kind"}, []string{"AICR_ACTION_KIND_NODE_IMAGE=--privileged"}, 10, `kind.nodeImage is "--privileged"`},
		{[]string{"run", "eks-training", "--platform", "kind", "-d", "helm"}, nil, 25, "needs Docker"},
		{[]string{"run", "eks-training", "--cluster", "kind", "-d", "helm"}, nil, 25, "needs Docker"}, // its name before
		{[]string{"run", "eks-training", "--platform", "kind", "-d", "helm,argocd-git"}, nil, 70, "no git that can serve"},
		{[]string{"run", "eks-training", "--reuse-cluster"}, nil, 2, "--reuse-cluster needs --platform kind"},
		{[]string{"run", "eks-training", "--platform", "kind", "--reuse-cluster", "--keep"}, nil, 2, "--keep does not work with --reuse-cluster: the one cluster stays"},
		{[]string{"run", "eks-training", "--platform", "kind", "--reuse-cluster", "--parallel", "2"}, nil, 2, "--parallel 2 does not work with --reuse-cluster: its cells run one after another"},
		{[]string{"workflow", "run", flow, "--platform", "minikube"}, nil, 2, `--platform "minikube": want embedded or kind`},
		{[]string{"workflow", "run", flow, "--kind-images", file}, nil, 2, "--kind-images needs --platform kind"},
		{[]string{"workflow", "run", flow, "--platform", "kind", "--kind-images", file + "x"}, nil, 2, "no such file"},
		{[]string{"workflow", "run", flow, "--platform", "kind", "--name", "lab"}, nil, 2, "--platform and --kind-images are for a cluster of the run's own"},
		{[]string{"workflow", "run", flow, "--platform", "kind"}, []string{"AICR_ACTION_KIND_NODE_IMAGE=--privileged"}, 10, `kind.nodeImage is "--privileged"`},
		{[]string{"workflow", "run", flow, "--platform", "kind"}, nil, 25, "needs Docker"},
		{[]string{"workflow", "run", filepath.Join("testdata", "workflows", "other-scheduler.yaml"), "--platform", "kind"}, nil, 64, `its objects ask for the scheduler "volcano"`},
		{[]string{"run", "eks-training", "--platform", "kind", "--reuse-cluster", "--chaos", flow}, nil, 2, "--chaos does not work with --reuse-cluster: the next cell needs whole nodes"},
		{[]string{"workflow", "run", flow, "--platform", "kind", "--scheduler", "kueue"}, nil, 2, "--scheduler does not work with --platform kind: second schedulers and controllers are programs of this machine"},
		{[]string{"workflow", "run", flow, "--platform", "kind", "--controller", "jobset"}, nil, 2, "--controller does not work with --platform kind"},
		{[]string{"workflow", "run", filepath.Join("testdata", "workflows", "big-jobset.yaml"), "--platform", "kind"}, nil, 2, "which the workflows ask for, does not work with --platform kind"},
		{[]string{"parity", "eks-training", "-d", "helm"}, nil, 25, "needs Docker"},
		{[]string{"parity"}, nil, 2, "accepts 1 arg"},
		{[]string{"parity", "eks-trainin"}, nil, 2, "eks-training"},
		{[]string{"parity", "eks-training", "-o", "xml"}, nil, 2, "table or json"},
		{[]string{"parity", "eks-training", "--operators", "simulated"}, nil, 2, `--operators "simulated": want auto or real`},
		{[]string{"parity", "eks-training", "--operators", "fast"}, nil, 2, `--operators "fast": want auto or real`},
		{[]string{"parity", "eks-training", "--charts", "direct"}, nil, 2, "--charts direct does not work with --platform kind"},
		{[]string{"images", "save", file}, nil, 25, "needs Docker"},
		{[]string{"images", "list", "--deployer", "nomad"}, nil, 2, "nomad"},
	} {
		t.Run(strings.Join(tc.args, " "), func(t *testing.T) {
			invoke(t, tc.env, tc.args...).want(t, tc.code, tc.want)
		})
	}
}

// The list is for caches and for people: one name a line, the node image first, and only what the
// deployers need.
func TestImagesList(t *testing.T) {
	for deployer, want := range map[string][]string{
		"helm":       {"kindest/node:", "docker.io/library/registry:", "registry.k8s.io/kwok/kwok:"},
		"argocd-oci": {"kindest/node:", "docker.io/library/registry:", "public.ecr.aws/docker/library/redis:", "quay.io/argoproj/argocd:", "registry.k8s.io/kwok/kwok:"},
	} {
		got := invoke(t, nil, "images", "list", "--deployer", deployer)
		got.want(t, 0)
		lines := strings.Split(strings.TrimSpace(got.stdout), "\n")
		if len(lines) != len(want) {
			t.Fatalf("%s: got\n%s", deployer, got.stdout)
		}
		for i := range want {
			if !strings.HasPrefix(lines[i], want[i]) {
				t.Errorf("%s: got %q, want %q", deployer, lines[i], want[i])
			}
		}
	}
	// The Action caches one file for all deployers: what is listed without any of them named.
	all := strings.Fields(invoke(t, nil, "images", "list").stdout)
	for _, deployer := range bundle.Names() {
		for _, image := range strings.Fields(invoke(t, nil, "images", "list", "--deployer", deployer).stdout) {
			if !slices.Contains(all, image) {
				t.Errorf("%s needs %s, which is not in %q", deployer, image, all)
			}
		}
	}
}
