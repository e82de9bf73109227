package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/evidence"
)

// What an upgrade cannot start from is refused before anything is started.
func TestFromInput(t *testing.T) {
	script := filepath.Join(t.TempDir(), "aicr")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho aicr version 0.13.5\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		args []string
		want []string
	}{
		"no directory":       {[]string{"--from", "./no-such"}, []string{"--from ./no-such: there is no such directory"}},
		"an empty variable":  {[]string{"--from", ""}, []string{"--from is empty", "without --from no upgrade runs"}},
		"two sources":        {[]string{"--from", "main", "--from", "v1"}, []string{"--from", "given twice (main before)"}},
		"nothing in it":      {[]string{"--from", t.TempDir()}, []string{"has no recipes"}},
		"charts direct":      {[]string{"--from", ".", "--charts", "direct"}, []string{"--from does not work with --charts direct", "upstream"}},
		"the old CLI alone":  {[]string{"--from", ".", "--from-aicr", "aicr"}, []string{"--from-aicr is AICR's CLI of what runs before", "--bundler exec"}},
		"the same CLI twice": {[]string{"--from", "../../recipes", "--recipes-dir", "../../recipes", "--aicr", script}, []string{"the CLI of the new ones would make the same bundles again", "--from-aicr PATH"}},
		"no such sequence":   {[]string{"--from", "main", "--sequence", "failed,uninstalled"}, []string{`--sequence "uninstalled": want a list of failed, removed`}},
		"an empty sequence":  {[]string{"--from", "main", "--sequence", ""}, []string{`--sequence is empty`, "failed, removed"}},
		"a recipe not there": {[]string{"--from", "testdata/from"}, []string{"--from testdata/from"}},
	} {
		t.Run(name, func(t *testing.T) {
			invoke(t, nil, append([]string{"run", "eks"}, tc.args...)...).want(t, 2, append([]string{"matrix: "}, tc.want...)...)
		})
	}
	invoke(t, nil, "run", "eks", "--sequence", "failed").want(t, 2, "--sequence says how the new version follows on what runs before; say with --from")
	invoke(t, nil, "run", "eks", "--evidence", "x.json").want(t, 2, "--evidence has what upgrades have shown; say with --from")
}

// A run upgrades from base what matrix discover plans: the recipes whose resolved bundle changed. The
// others, and those that are new, are named.
func TestFromBase(t *testing.T) {
	recipes := pullRequest(t)
	args := []string{"--recipes-dir", recipes, "--tier", "3", "--deployer", "helm", "--base", "main", "--from", "base"}
	const first = "eks/helm eks-training/helm h100-eks-training/helm"
	r, results := runTier(t, args...)
	if got := cellsOf(results); got != first {
		t.Errorf("nothing changed: got %s\n%s", got, r.stderr)
	}
	wantText(t, "stderr", r.stderr, "note: no upgrade from base of eks, eks-training: the resolved bundle did not change", "note: no upgrade from base of h100-eks-training: base has no such recipe")
	if _, named := runTier(t, "eks", "--recipes-dir", recipes, "--deployer", "helm", "--base", "main", "--from", "base"); cellsOf(named) != "eks/helm" {
		t.Errorf("a recipe by name and --base: got %s", cellsOf(named))
	}
	edit(t, filepath.Join(recipes, "components", "cert-manager", "values.yaml"), "\n", "\nzzz: 1\n")
	changed, results := runTier(t, args...)
	for _, want := range []string{"eks/helm from base", "eks-training/helm from base"} {
		if got := cellsOf(results); !strings.Contains(got, want) || strings.Contains(got, "h100-eks-training/helm from") {
			t.Errorf("a value changed: got %s, want %s\n%s", got, want, changed.stderr)
		}
	}
}

// A bundle, and what a run has kept, run before the recipe that they are of, through their deployer.
func TestFromBundles(t *testing.T) {
	old, kept := filepath.Join(t.TempDir(), "old"), t.TempDir()
	path := os.Getenv("PATH")
	invoke(t, nil, "bundle", "eks-training", "-o", old, "--simulated-nodes", "--recipes-dir", "embedded").want(t, 0)
	t.Setenv("PATH", path)
	if err := os.CopyFS(filepath.Join(kept, "logs", "bundle"), os.DirFS(old)); err != nil {
		t.Fatal(err)
	}
	record := filepath.Join(kept, "logs", "cell.json")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(record, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"recipe": "eks-training", "deployer": "helm", "status": "passed"}`)
	for _, dir := range []string{old, kept} {
		r, results := runTier(t, "eks-training", "--recipes-dir", "embedded", "--deployer", "helm", "--from", dir)
		if got := cellsOf(results); got != "eks-training/helm eks-training/helm from "+dir {
			t.Errorf("--from %s: got %s\n%s", dir, got, r.stderr)
		}
	}
	r, results := runTier(t, "eks-training", "--recipes-dir", "embedded", "--deployer", "helm", "--from", old, "--sequence", "removed,failed,removed", "--rollback")
	if got, from := cellsOf(results), " eks-training/helm from "+old; got != "eks-training/helm"+from+from+" after a removal"+from+" after a failure" {
		t.Errorf("--sequence: got %s\n%s", got, r.stderr)
	}
	for _, c := range results.Results {
		if got := strings.Contains(c.Rerun, "--sequence "+c.Sequence); got != (c.Sequence != "") || strings.Contains(c.Rerun, "--rollback") != (c.From != "" && c.Sequence == "") {
			t.Errorf("%s is run again with %s", c.Cell, c.Rerun)
		}
	}
	// A bundle without recipes is upgraded from one.
	r, results = runTier(t, "--bundle-dir", old, "--deployer", "helm", "--from", kept)
	if got := cellsOf(results); got != "eks-training/helm eks-training/helm from "+kept {
		t.Errorf("--bundle-dir: got %s\n%s", got, r.stderr)
	}
	for name, tc := range map[string]struct {
		recipe string
		args   []string
		want   string
	}{
		"recipes":          {"eks-training", []string{"--bundle-dir", old, "--deployer", "helm", "--from", "../../recipes"}, "with --bundle-dir a bundle is upgraded from a bundle"},
		"all deployers":    {"eks-training", []string{"--from", old}, "is a bundle, which is for one deployer"},
		"another deployer": {"eks-training", []string{"--from", old, "--deployer", "flux-oci"}, "the lane flux-oci cannot deliver what is there"},
		"another recipe":   {"eks", []string{"--from", old, "--deployer", "helm"}, "is a bundle of recipe eks-training, and the upgrade is to eks"},
		"reuse":            {"eks-training", []string{"--from", old, "--deployer", "helm", "--reuse", t.TempDir()}, "is a bundle, and --reuse knows what recipes are made of"},
		"not kept":         {"eks-training", []string{"--from", kept, "--deployer", "helm,flux-oci"}, "has no kept cell eks-training/flux-oci; it has: eks-training/helm"},
	} {
		t.Run(name, func(t *testing.T) {
			invoke(t, nil, append([]string{"run", tc.recipe, "--recipes-dir", "embedded"}, tc.args...)...).want(t, 2, "matrix: ", tc.want)
		})
	}
	write(`{"recipe": "eks-training", "deployer": "helm", "status": "failed"}`)
	invoke(t, nil, "run", "eks-training", "--recipes-dir", "embedded", "--from", kept, "--deployer", "helm").want(t, 2, "the kept cell eks-training/helm did not pass (failed)")
}

// What a Git ref has decides whether there is an upgrade; a file of evidence says, before the first
// cell, that nothing was seen.
func TestFromRef(t *testing.T) {
	recipes := pullRequest(t)
	failed := func(args ...string) func(...string) {
		r, _ := runTier(t, args...)
		return func(want ...string) { t.Helper(); r.want(t, 2, want...) }
	}
	failed("h100-eks-training", "--recipes-dir", recipes, "--deployer", "helm", "--from", "main")("--from main (", "has no recipe h100-eks-training", "it has: base, eks, eks-training")
	file := filepath.Join(t.TempDir(), "evidence.json")
	r, results := runTier(t, "--all", "--recipes-dir", recipes, "--deployer", "helm", "--from", "main", "--evidence", file)
	if got := cellsOf(results); !strings.Contains(got, "eks/helm from main") || strings.Contains(got, "h100-eks-training/helm from") {
		t.Errorf("got %s\n%s", got, r.stderr)
	}
	wantText(t, "stderr", r.stderr, "note: no upgrade from main of h100-eks-training: main has no such recipe")
	d, err := evidence.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Upgrades) != 2 || d.Upgrades[0].Verdict != result.NotRun || d.From.Name != "main" || len(d.From.Commit) != 40 || len(d.To.Commit) != 40 || d.To.Modified || d.Upgrades[0].Criteria["service"] != "eks" || d.Operators != "simulated" {
		t.Errorf("got %+v", d)
	}
	edit(t, filepath.Join(recipes, "overlays", "eks.yaml"), "service: eks", "service: gke")
	git(t, filepath.Dir(recipes), "commit", "--quiet", "--all", "--message", "another recipe of that name")
	edit(t, filepath.Join(recipes, "overlays", "eks.yaml"), "service: gke", "service: eks")
	failed("eks", "--recipes-dir", recipes, "--deployer", "helm", "--from", "topic")("has another recipe of the name eks: its service is gke, and now it is eks")
	edit(t, filepath.Join(recipes, "overlays", "eks.yaml"), "spec:\n", "spec:\n  mixins: 1\n")
	git(t, filepath.Dir(recipes), "commit", "--quiet", "--all", "--message", "an old format")
	edit(t, filepath.Join(recipes, "overlays", "eks.yaml"), "  mixins: 1\n", "")
	failed("eks", "--recipes-dir", recipes, "--deployer", "helm", "--from", "topic")("this program cannot read these recipes", ":recipes/overlays/eks.yaml:", "--aicr build in a checkout of AICR, or --aicr PATH and --from-aicr PATH")
}
