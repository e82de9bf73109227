package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/result"
)

// A mixin that no overlay names is composed into a recipe by a flag, or by the name that results have, and nothing stays of
// how that is done.
func TestMixin(t *testing.T) {
	left := t.TempDir()
	t.Setenv("TMPDIR", left)
	objects := func(args ...string) int {
		t.Helper()
		code, out, stderr := checked(t, append(args, "--deployer", "helm", "-o", "json")...)
		var read struct {
			Cells []struct {
				result.Cell
				Objects int `json:"objects"`
			} `json:"cells"`
		}
		if err := json.Unmarshal([]byte(out), &read); err != nil || code != 0 || len(read.Cells) != 1 || strings.Contains(args[0], "--") && read.Cells[0].Recipe != args[0] {
			t.Fatalf("%q: exit %d, %v\n%s%s", args, code, err, out, stderr)
		}
		return read.Cells[0].Objects
	}
	if plain, mixed := objects("eks-training"), objects("eks-training--platform-kubeflow"); mixed <= plain {
		t.Errorf("%d objects without the mixin, and %d with it", plain, mixed)
	}
	for _, args := range [][]string{{"eks-training", "--mixin", "platform-kubeflow,os-ubuntu"}, {"eks-training--platform-kubeflow", "--mixin", "os-ubuntu"}, {"eks-training--platform-kubeflow--os-ubuntu"}} {
		got := invoke(t, nil, append([]string{"discover", "--deployer", "helm", "--format", "cells"}, args...)...)
		if got.code != 0 || got.stdout != "eks-training--platform-kubeflow--os-ubuntu helm\n" {
			t.Errorf("%q: exit %d\n%s%s", args, got.code, got.stdout, got.stderr)
		}
	}
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"misspelt":      {[]string{"run", "eks-training", "--mixin", "platform-kubflow"}, `there is no mixin "platform-kubflow"`},
		"twice":         {[]string{"run", "eks-training", "--mixin", "os-ubuntu,os-ubuntu"}, "os-ubuntu is named twice"},
		"no recipe":     {[]string{"run", "--all", "--mixin", "os-ubuntu"}, "--mixin is for the recipes that are named"},
		"with another":  {[]string{"run", "eks-training--platform-kubeflow", "eks-training"}, "name it alone; got eks-training--platform-kubeflow, eks-training"},
		"no such one":   {[]string{"run", "eks-trainin", "--mixin", "os-ubuntu"}, `"eks-trainin"`},
		"with a bundle": {[]string{"run", "--bundle-dir", left, "--deployer", "helm", "--mixin", "os-ubuntu"}, "--mixin is about recipes"},
	} {
		if got := invoke(t, nil, test.args...); got.code != 2 || !strings.Contains(got.stderr, test.want) {
			t.Errorf("%s: exit %d, want 2 and %q\n%s", name, got.code, test.want, got.stderr)
		}
	}
	if files, err := filepath.Glob(filepath.Join(left, "matrix-mixins-*")); err != nil || len(files) > 0 {
		t.Errorf("%q stay, %v", files, err)
	}
}
