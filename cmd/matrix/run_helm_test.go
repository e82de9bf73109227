package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/kwok"
)

// What --helm cannot mean is refused before anything starts.
func TestHelm_Flag(t *testing.T) {
	for name, tc := range map[string]struct{ args, want string }{
		"no such version":    {"--helm 5", "--helm 5: there is no such version of Helm here: it is a library of matrix, in the versions 3."},
		"another patch":      {"--helm v4.1.4", "; want 3, 4, both as 3,4, or auto"},
		"this very patch":    {"--helm " + helmV4(t) + " --deployer flux-oci", "is for the lanes helm and helmfile"},
		"no number":          {"--helm latest", "--helm latest: there is no such version"},
		"auto and another":   {"--helm auto,4", "--helm auto: there is no such version"},
		"another lane":       {"--helm 4 --deployer flux-oci", "--helm is for the lanes helm and helmfile, which are not among --deployer flux-oci"},
		"nothing to compare": {"--helm 3,4 --deployer helmfile", "--helm 3,4 compares the two in the lane helm, which is not among --deployer helmfile; name one of them"},
	} {
		t.Run(name, func(t *testing.T) {
			invoke(t, nil, append([]string{"run", "eks-training"}, strings.Fields(tc.args)...)...).want(t, 2, tc.want)
		})
	}
}

// helmV4 is the version of the library of Helm 4.
func helmV4(t *testing.T) string {
	t.Helper()
	s, err := stack.NewStack(host.Paths{}, kwok.StackMod, kwok.StackSum, kwok.StackSources)
	if err != nil {
		t.Fatal(err)
	}
	return s.Version("helm.sh/helm/v4")
}

// helm4 is testdata of this directory in a repository of its own, as --app wants it.
func helm4(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/helm4")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// With Helm 4 an upgrade is refused where an autoscaler has changed the number of replicas. The report
// says whose the field is, where the template sets it, and the version in the command that runs it again.
func TestHelm_Conflict(t *testing.T) {
	t.Parallel()
	paths, _ := needStack(t)
	dir := helm4(t)
	newProgram(t, buildProgram(t), paths).run(t, 10*time.Minute, nil, "run", "--app", dir+"/after", "--from", dir+"/before", "--helm", "4").
		want(t, 73, "after from", "UPGRADE_FAILED (73)", `"kube-controller-manager" with subresource "scale" has changed spec.replicas since`,
			"leave spec.replicas out of "+dir+"/after/templates/all.yaml:7", "--deployer helm --helm 4", "helm: Helm 4 delivers: --helm")
}
