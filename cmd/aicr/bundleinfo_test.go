package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/intake"
)

// The bundle of a recipe of AICR 1.0 has an index, which says what the bundle's own files say: whoever
// reads bundles by it, as this program does, finds no difference. Older recipes have none.
func TestBundleInfo(t *testing.T) {
	old := recipeFile(t)
	if files, _ := bundled(t, "-r", old); files["bundle-info.yaml"] != "" {
		t.Error("the bundle of a recipe of March has an index")
	}
	file := filepath.Join(t.TempDir(), "recipe.yaml")
	if err := os.WriteFile(file, []byte(strings.Replace(read(t, old), "aicr.nvidia.com/v1alpha1", "aicr.run/v1", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ deployer, repo, made, entrypoint, manifest string }{
		{bundle.Helm, "", "helm", "deploy.sh", ""},
		{bundle.Helmfile, "", "helmfile", "helmfile.yaml", ""},
		{bundle.ArgoCDOCI, "oci://registry.example.com/a/b", "argocd", "app-of-apps.yaml", "gpu-operator/application.yaml"},
		{bundle.ArgoCDGit, "https://git.example.com/a/b.git", "argocd", "app-of-apps.yaml", "gpu-operator/application.yaml"},
		{bundle.ArgoCDHelmOCI, "oci://registry.example.com/a/b", "argocd-helm", "Chart.yaml", "templates/children/gpu-operator.yaml"},
		{bundle.FluxOCI, "oci://registry.example.com/a/b", "flux", "kustomization.yaml", "gpu-operator/helmrelease.yaml"},
		{bundle.FluxGit, "https://git.example.com/a/b.git", "flux", "kustomization.yaml", "gpu-operator/helmrelease.yaml"},
	} {
		t.Run(tc.deployer, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "bundle")
			args := []string{"bundle", "-o", dir, "-r", file, "-d", tc.deployer, "--data", gated(t), "--accelerated-node-toleration", "a=b:NoSchedule", "--storage-class", "fast"}
			if tc.repo != "" {
				args = append(args, "--repo", tc.repo)
			}
			gates := tc.made == "helm" || strings.HasPrefix(tc.made, "argocd")
			if gates {
				args = append(args, "--readiness-hooks", "--gate-image", "example.com/gate:1")
			}
			invoke(t, args...).want(t, 0)
			files := tree(t, dir)
			summed(t, files)
			info := yamlFile(t, files, "bundle-info.yaml")
			for path, want := range map[string]any{
				"apiVersion": "aicr.run/v1", "kind": "BundleInfo", "build.deployer": tc.made, "layout.entrypoint": tc.entrypoint, "build.settings.storageClass": "fast", "build.settings.checksums": true,
				"build.settings.readinessHooks": gates, "build.recipe.digest": fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(files["recipe.yaml"]))),
			} {
				if got := at(info, path); got != want {
					t.Errorf("%s is %v, want %v", path, got, want)
				}
			}
			if got := at(info, "build.settings.repoURL"); (got == tc.repo) != (tc.made == "argocd" || tc.made == "flux") {
				t.Errorf("build.settings.repoURL is %v", got)
			}
			if tolerations, _ := at(info, "build.settings.nodeScheduling.accelerated").(map[string]any)["tolerations"].([]any); len(tolerations) != 1 || at(tolerations[0].(map[string]any), "key") != "a" {
				t.Errorf("nodeScheduling is not what was given: %v", tolerations)
			}
			releases, _ := at(info, "layout").(map[string]any)["releases"].([]any)
			found := map[any]map[string]any{}
			for _, r := range releases {
				m, _ := r.(map[string]any)
				found[m["name"]] = m
			}
			if r := found["gpu-operator"]; r["namespace"] != "gpu-operator" || r["component"] != "gpu-operator" || fmt.Sprint(r["manifest"]) != fmt.Sprint(map[bool]any{true: tc.manifest, false: nil}[tc.manifest != ""]) {
				t.Errorf("got %v", r)
			}
			if r := found["gpu-operator-readiness"]; gates && (r == nil || r["component"] != "gpu-operator" || !strings.HasSuffix(fmt.Sprint(r["path"]), "gpu-operator-readiness")) {
				t.Errorf("got %v", r)
			}
			all, err := bundle.ByName([]string{tc.deployer})
			if err == nil {
				_, err = intake.Open(t.Context(), dir, all[0])
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
}
