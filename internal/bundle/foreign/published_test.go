package foreign

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestChecksums_AbsolutePaths(t *testing.T) {
	dir := written(t, elsewhere(t, mustDeployer(t, "argocd-oci"), ownInput(t, "kind")))
	file := filepath.Join(dir, checksumsFile)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	write := func(prefix string) error {
		t.Helper()
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(text), "  ", "  "+prefix)), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := Open(t.Context(), dir, mustDeployer(t, "argocd-oci"))
		return err
	}
	if err := write("/home/runner/work/bundle/"); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(file, []byte(strings.Repeat("0", 64)+"  /etc/passwd\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), dir, mustDeployer(t, "argocd-oci")); err == nil || !strings.Contains(err.Error(), "/etc/passwd has no file of the bundle at its end") {
		t.Errorf("got %v", err)
	}
}

// The version that an AICR CLI from a checkout gives itself is replaced, whatever ends the file's lines.
func TestWrapper_VersionDev(t *testing.T) {
	d := mustDeployer(t, "argocd-helm-oci")
	made := elsewhere(t, d, ownInput(t, "kind"))
	for _, end := range []string{"\n", "\r\n"} {
		dir := written(t, made)
		file := filepath.Join(dir, "Chart.yaml")
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(text), "\n")
		for i, l := range lines {
			if strings.HasPrefix(l, "version:") {
				lines[i] = `version: "dev"`
			}
		}
		if err := os.WriteFile(file, []byte(strings.Join(lines, end)), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(dir, checksumsFile)); err != nil {
			t.Fatal(err)
		}
		b, err := Open(t.Context(), dir, d)
		if err != nil {
			t.Errorf("%q: %v", end, err)
		} else if !strings.Contains(strings.Join(b.warnings, "\n"), "published as 0.0.0-dev") {
			t.Errorf("%q: it is not said: %q", end, b.warnings)
		}
	}
}
