package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// The recipes in the binary are in the form of AICR v1, and each lane gets a bundle of them.
func TestOwnRecipes(t *testing.T) {
	own := bench{env: map[string]string{recipesDir: "embedded"}}
	dir := t.TempDir()
	recipe := func(name string, args ...string) string {
		t.Helper()
		file := filepath.Join(dir, name+".yaml")
		own.run(t, append([]string{"recipe", "-o", file}, args...)...).want(t, 0)
		return file
	}
	training := recipe("training", "--service", "eks", "--intent", "training")
	if text := read(t, training); !strings.Contains(text, "apiVersion: aicr.run/v1") {
		t.Errorf("the recipe begins with %q", strings.SplitN(text, "\n", 2)[0])
	}
	for _, deployer := range []string{"helm", "argocd-oci", "flux-oci", "helmfile"} {
		own.run(t, "bundle", "-r", training, "-d", deployer, "--repo", "oci://registry.example.com/aicr/training", "-o", filepath.Join(dir, deployer)).want(t, 0)
	}

	// The profile's default on GKE does not deploy the installer of drivers, which belongs to it. What a flag leaves out is refused.
	gke := recipe("gke", "--service", "gke", "--os", "cos", "--intent", "inference")
	own.run(t, "bundle", "-r", gke, "-o", filepath.Join(dir, "gke")).want(t, 0)
	own.run(t, "bundle", "-r", gke, "--set", "nvsentinel:enabled=false", "-o", filepath.Join(dir, "refused")).
		want(t, 2, "component nvsentinel cannot be left out: the profile gpuStack=gke-default sets values of it")
	own.run(t, "bundle", "-r", gke, "--set", "gcp-driver-installer:install=true", "-o", filepath.Join(dir, "refused")).want(t, 2, "component gcp-driver-installer is not in the bundle")
}
