package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/recipe"
)

// A bundle of every deployer is what was made, until somebody changes it.
func TestVerify(t *testing.T) {
	made := recipeFile(t)
	dir := filepath.Join(t.TempDir(), "b")
	invoke(t, "bundle", "-r", made, "-o", dir, "--dynamic", "gpuoperator:driver.version").want(t, 0)
	r := invoke(t, "verify", dir)
	r.want(t, 0)
	if !strings.Contains(r.stdout, " is what was made: ") {
		t.Errorf("got %q", r.stdout)
	}
	if err := os.WriteFile(filepath.Join(dir, "gpu-operator", "cluster-values.yaml"), []byte("driver: {version: other}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "added.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	r = invoke(t, "verify", dir, "--format", "json")
	var v verified
	if err := json.Unmarshal([]byte(r.stdout), &v); err != nil || r.code != 2 || v.Verified || len(v.Problems) != 2 || !strings.Contains(v.Problems[0], "added.txt: it is not in checksums.txt") || !strings.Contains(v.Problems[1], "cluster-values.yaml has the SHA-256") {
		t.Errorf("got %d, %v, %s", r.code, err, r.stdout)
	}
	if text := invoke(t, "verify", dir); text.code != 2 || !strings.Contains(text.stdout, "is not what was made: 2 problems\n") {
		t.Errorf("got %d, %q", text.code, text.stdout)
	}
	invoke(t, "verify", filepath.Join(dir, "none")).want(t, 3, "no such file or directory")
	invoke(t, "verify", t.TempDir()).want(t, 2, "it has no checksums.txt")
	invoke(t, "verify").want(t, 2, "aicr verify --help")
	invoke(t, "verify", dir, "--format", "xml").want(t, 2, `--format "xml": want text or json`)
}

// Two snapshots are compared in each form, from arguments or flags.
func TestDiff(t *testing.T) {
	later := write(t, "after.yaml", strings.Replace(read(t, snapshotFile), "v1.33.5-eks", "v1.34.1-eks", 1))
	r := invoke(t, "diff", snapshotFile, later, "--format", "json")
	r.want(t, 0)
	var d drift
	if err := json.Unmarshal([]byte(r.stdout), &d); err != nil || d.Summary.Total != 1 || d.Summary.Modified != 1 || d.Changes[0].Path != "K8s.server.version" || *d.Changes[0].Target != "v1.34.1-eks-3025e55" || d.TargetSource != later {
		t.Errorf("got %v, %s", err, r.stdout)
	}
	table := invoke(t, "diff", "-b", snapshotFile, "--target", later, "-t", "table", "--fail-on-drift")
	if table.code != 2 || !strings.Contains(table.stdout, "modified") || !strings.Contains(table.stdout, "0 added, 0 removed, 1 modified\n") || table.stderr != "" {
		t.Errorf("got %d, %s%s", table.code, table.stdout, table.stderr)
	}
	same := invoke(t, "diff", snapshotFile, snapshotFile, "--fail-on-drift")
	same.want(t, 0)
	if !strings.Contains(same.stdout, "changes: []\n") || !strings.Contains(same.stdout, "total: 0\n") {
		t.Errorf("got %s", same.stdout)
	}
	for want, args := range map[string][]string{
		"--baseline: name the snapshot":           {},
		"--target: name the snapshot":             {"--baseline", snapshotFile},
		"takes two snapshots, and got 1":          {snapshotFile},
		"as arguments, or with --baseline":        {snapshotFile, later, "--target", later},
		"cannot both be read from standard input": {"-", "-"},
		`--format "xml"`:                          {snapshotFile, later, "--format", "xml"},
		"kind is":                                 {snapshotFile, recipeFile(t)},
	} {
		invoke(t, append([]string{"diff"}, args...)...).want(t, 2, want)
	}
	invoke(t, "diff", snapshotFile, "none.yaml").want(t, 3, "snapshot file none.yaml does not exist")
}

// newer are the recipes of the binary with a newer cert-manager, and a record of the way there.
func newer(t *testing.T, record string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "recipes")
	if err := os.CopyFS(dir, os.DirFS(march)); err != nil {
		t.Fatal(err)
	}
	replace := func(name, old, new string) {
		file := filepath.Join(dir, filepath.FromSlash(name))
		text := read(t, file)
		if !strings.Contains(text, old) {
			t.Fatalf("%s has no %q", name, old)
		}
		if err := os.WriteFile(file, []byte(strings.Replace(text, old, new, 1)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	replace("registry.yaml", "defaultVersion: v1.17.2", "defaultVersion: v1.18.0")
	replace("overlays/base.yaml", "version: v1.17.2", "version: v1.18.0")
	replace("registry.yaml", "  - name: cert-manager\n", "  - name: cert-manager\n    upgrades:\n      file: components/cert-manager/upgrades.yaml\n")
	if err := os.WriteFile(filepath.Join(dir, "components", "cert-manager", "upgrades.yaml"), []byte("apiVersion: aicr.nvidia.com/v1alpha1\nkind: ComponentUpgrades\ncomponent: cert-manager\ntransitions:\n"+record), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

const manualRecord = `  - from: "<1.18.0"
    to: ">=1.18.0 <1.19.0"
    verdict: manual
    summary: A webhook is renamed.
    precondition: No Challenge is in flight.
    stepsByDeployer:
      - deployers: [helm]
        steps: [{id: delete-webhook, description: Delete the old webhook., reason: It would answer twice.}]
      - steps: [{id: sync, description: Sync as usual.}]
`

// The report says what the record of the recipe files says, for one deployer.
func TestUpgradeCheck(t *testing.T) {
	old := recipeFile(t)
	recipes := newer(t, manualRecord)
	args := []string{"upgrade-check", "--from", old, "--recipes-dir", recipes}
	r := invoke(t, append(args, "--deployer", "helm")...)
	if r.code != 2 || r.stderr != "" {
		t.Errorf("got %d, %s", r.code, r.stderr)
	}
	for _, part := range []string{"cert-manager   v1.17.2   v1.18.0   manual    1 step\n", "A webhook is renamed.", "before: No Challenge is in flight.", "steps for helm:", "1. delete-webhook: Delete the old webhook.", "why: It would answer twice.", "1 component change, 1 need attention\n"} {
		if !strings.Contains(r.stdout, part) {
			t.Errorf("the report lacks %q:\n%s", part, r.stdout)
		}
	}
	to := filepath.Join(t.TempDir(), "new.yaml")
	invoke(t, with("recipe", "--recipes-dir", recipes, "-o", to)...).want(t, 0)
	bundle := filepath.Join(t.TempDir(), "b")
	invoke(t, "bundle", "-r", old, "-o", bundle).want(t, 0)
	asJSON := invoke(t, "upgrade-check", "-f", bundle, "--to", to, "--recipes-dir", recipes, "-d", "flux-oci", "--format", "json", "--fail-on-error=false")
	asJSON.want(t, 0)
	var report upgradeReport
	if err := json.Unmarshal([]byte(asJSON.stdout), &report); err != nil || len(report.Components) != 1 || report.Summary.Failing != 1 || report.Deployer != "flux" || report.Components[0].Verdict != recipe.UpgradeManual || report.Components[0].Steps[0].ID != "sync" {
		t.Errorf("got %v, %s", err, asJSON.stdout)
	}
	// The keys that AICR's own CLI writes and its KWOK script reads.
	for _, key := range []string{`"summary": {`, `"components": 1`, `"failing": 1`, `"breaking": false`, `"downgrade": false`, `"failsRun": true`} {
		if !strings.Contains(asJSON.stdout, key) {
			t.Errorf("the report as JSON lacks %s:\n%s", key, asJSON.stdout)
		}
	}
	back := invoke(t, "upgrade-check", "-f", to, "--to", old, "--recipes-dir", recipes)
	if back.code != 2 || !strings.Contains(back.stdout, "unknown") {
		t.Errorf("the way back: got %d, %s", back.code, back.stdout)
	}
	invoke(t, "upgrade-check", "-f", old, "--to", old).want(t, 0)
	if none := invoke(t, "upgrade-check", "-f", old, "--to", to); none.code != 2 || !strings.Contains(none.stdout, "nobody has recorded") {
		t.Errorf("recipe files without a record: got %d, %s", none.code, none.stdout)
	}
	safe := newer(t, "  - from: \"<1.18.0\"\n    to: \">=1.18.0 <1.19.0\"\n    verdict: safe\n    verifiedBy: a run on KWOK\n")
	invoke(t, "upgrade-check", "--from", old, "--recipes-dir", safe).want(t, 0)
	for want, more := range map[string][]string{
		"--deployer: the upgrade of cert-manager needs steps":          {},
		`--deployer "kustomize": want one of argocd`:                   {"-d", "kustomize"},
		"--from cluster: a cluster does not say which recipe it is of": {"--from", "cluster"},
		"components/cert-manager/upgrades.yaml:7: verdict is":          {"--recipes-dir", newer(t, strings.Replace(manualRecord, "manual", "perhaps", 1))},
	} {
		invoke(t, append(args, more...)...).want(t, 2, want)
	}
	invoke(t, "upgrade-check").want(t, 2, "--from: name the recipe")
	invoke(t, "upgrade-check", "--from", t.TempDir()).want(t, 3, "a directory without recipe.yaml")
	invoke(t, "upgrade-check", "--from", "none.yaml").want(t, 3, "recipe file none.yaml does not exist")
}
