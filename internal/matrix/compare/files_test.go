package compare

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/testkit"
)

// What was saved is, once loaded, the same to the comparison; a Secret's value is in no file.
func TestSaveAndLoad(t *testing.T) {
	c := taken(t, deploymentYAML(2), `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: "system:x"}, rules: []}`,
		`{apiVersion: v1, kind: Secret, metadata: {namespace: ns, name: s}, stringData: {password: hush}}`,
		`{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: c}, data: {big: "9007199254740993", n: "1"}}`)
	put(t, c, testkit.Parsed(t, `{apiVersion: batch/v1, kind: Job, metadata: {namespace: ns, name: hook}}`), true)
	dir := filepath.Join(t.TempDir(), "saved", "eks")
	if err := c.Save(dir); err != nil {
		t.Fatal(err)
	}
	loaded, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(loaded.objects) != len(c.objects) {
		t.Errorf("got %d objects, want %d", len(loaded.objects), len(c.objects))
	}
	for key, want := range c.objects {
		got := loaded.objects[key]
		if string(got.json) != string(want.json) || got.ref != want.ref || got.mayBeGone != want.mayBeGone {
			t.Errorf("%s: got %s %v %v, want %s %v %v", key, got.json, got.ref, got.mayBeGone, want.json, want.ref, want.mayBeGone)
		}
	}
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		if strings.Contains(string(raw), "hush") {
			t.Errorf("%s has a Secret's value", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Save(dir); err == nil {
		t.Error("saved over a directory that exists")
	}
}

func TestLoad_PathOutside(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, captureIndex), []byte("- {file: ../x.yaml, version: v1, kind: Secret, name: x}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), "../x.yaml") {
		t.Errorf("got %v, want a refusal that names the path", err)
	}
}
