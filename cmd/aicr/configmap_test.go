package main

import (
	"testing"

	"k8s.io/client-go/kubernetes/fake"
)

// A recipe goes through a ConfigMap into a bundle as it goes through a file.
func TestConfigMap(t *testing.T) {
	b := bench{client: fake.NewClientset()}
	r := b.run(t, with("recipe", "-o", "cm://gpu/recipe")...)
	r.want(t, 0)
	if r.stdout != "" {
		t.Errorf("got on stdout: %s", r.stdout)
	}
	dir := t.TempDir()
	b.run(t, "bundle", "-r", "cm://gpu/recipe", "-o", dir).want(t, 0)
	want, _ := bundled(t, "-r", recipeFile(t))
	if got := tree(t, dir); got["checksums.txt"] != want["checksums.txt"] {
		t.Error("another bundle")
	}
	b.run(t, "recipe", "-c", "cm://gpu/none").want(t, 3, "there is no such ConfigMap")
	invoke(t, with("recipe", "-o", "cm://gpu/recipe")...).want(t, 6, "no cluster is configured", "`aicr explain 6` says more")
}
