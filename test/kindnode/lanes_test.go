//go:build kind

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The program itself runs the four lanes of eks-training, and argocd-appset, on both platforms,
// with no image registry in reach: they pass, with the same objects.
func TestLanesOfBothPlatforms(t *testing.T) {
	need(t, "AICR_ACTION_KIND_NODE_IMAGE")
	need(t, "AICR_ACTION_KIND_IMAGES")
	dir := t.TempDir()
	matrix := filepath.Join(dir, "matrix")
	if out, err := exec.Command("go", "build", "-o", matrix, "github.com/nvidia/aicr-action/cmd/matrix").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), matrix, "parity", "eks-training", "--recipes-dir", "../recipes-march", "-d", "helm,argocd-oci,argocd-helm-oci,flux-oci,argocd-appset", "-o", "json", "--artifacts", filepath.Join(dir, "artifacts"))
	// The machine may be busy with other things.
	cmd.Env = append(os.Environ(), "KWOK_ARGOCD_SYNC_TIMEOUT=900", "KWOK_FLUX_SYNC_TIMEOUT=900", "KWOK_SCHEDULING_TIMEOUT=600")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	failed := cmd.Run()
	var rows []struct {
		Deployer       string
		Verdicts       map[string]string
		Objects        int
		Known, Unknown []string
	}
	if err := json.Unmarshal(out.Bytes(), &rows); err != nil || len(rows) != 5 || failed != nil {
		t.Errorf("%d cells, %v, %v\n%s", len(rows), failed, err, &out)
	}
	for _, row := range rows {
		if row.Verdicts["embedded"] != "passed" || row.Verdicts["kind"] != "passed" || row.Objects < 100 || len(row.Unknown) > 0 {
			t.Errorf("%s: %v with %d objects\n%s", row.Deployer, row.Verdicts, row.Objects, row.Unknown)
		}
	}
}
