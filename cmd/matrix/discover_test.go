package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/result"
)

// timesFile is a results file in which the helm cells of these recipes passed and took so long.
func timesFile(t *testing.T, took map[string]time.Duration) string {
	t.Helper()
	var results []result.Result
	for recipe, d := range took {
		results = append(results, result.Result{Cell: result.Cell{Recipe: recipe, Deployer: "helm"}, Verdict: result.Verdict{Status: result.Passed}, Duration: d})
	}
	return resultsFile(t, results)
}

// h100 puts an overlay with an accelerator into a copy of the recipes.
func h100(t *testing.T, recipes string) {
	t.Helper()
	text := "kind: RecipeMetadata\napiVersion: aicr.nvidia.com/v1alpha1\nmetadata: {name: h100-eks-training}\nspec:\n" +
		"  base: eks-training\n  criteria: {service: eks, accelerator: h100, intent: training}\n"
	if err := os.WriteFile(filepath.Join(recipes, "overlays", "h100-eks-training.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// The command on this project's recipes. The change is an overlay for an accelerator, in the merge
// commit that GitHub makes for a pull request.
func TestDiscover(t *testing.T) {
	recipes := fewRecipes(t)
	top := filepath.Dir(recipes)
	git(t, top, "init", "--quiet", "--initial-branch=main")
	git(t, top, "add", "--all")
	git(t, top, "commit", "--quiet", "--message", "recipes")
	main := git(t, top, "rev-parse", "HEAD")
	git(t, top, "checkout", "--quiet", "-b", "topic")
	h100(t, recipes)
	git(t, top, "add", "--all")
	git(t, top, "commit", "--quiet", "--message", "an overlay")
	git(t, top, "checkout", "--quiet", "--detach", "main")
	git(t, top, "merge", "--quiet", "--no-ff", "--message", "merge", "topic")
	event := filepath.Join(t.TempDir(), "event.json")
	if err := os.WriteFile(event, []byte(`{"pull_request":{"number":7,"base":{"sha":"`+main+`","ref":"main"}}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	env := []string{"GITHUB_EVENT_NAME=pull_request", "GITHUB_REF=refs/pull/7/merge", "GITHUB_SHA=" + git(t, top, "rev-parse", "HEAD"), "GITHUB_EVENT_PATH=" + event}
	discover := func(args ...string) invocationResult {
		t.Helper()
		return invokeIn(t.Context(), t, t.TempDir(), env, append([]string{"discover", "--recipes-dir", recipes}, args...)...)
	}

	table := discover()
	table.want(t, 0)
	wantText(t, "table", table.stdout, "h100-eks-training   helm", "recipes/overlays/h100-eks-training.yaml (overlay h100-eks-training)",
		"eks-training        flux-oci          1", "compared with "+main+", the first parent", "cells: 9   skipped: 0")

	cells := discover("--tier", "2", "--format", "cells")
	cells.want(t, 0)
	if cells.stdout != "h100-eks-training helm\n" {
		t.Errorf("cells of tier 2: got %q", cells.stdout)
	}

	// An overlay that is new has nothing to be upgraded from, and it changes no other recipe's bundle.
	unchanged := discover("--tier", "3", "--deployer", "helm", "--from", "base", "--format", "cells")
	unchanged.want(t, 0, "note: no upgrade from base of eks, eks-training: the resolved bundle did not change", "note: no upgrade from base of h100-eks-training: base has no such recipe")
	if strings.Contains(unchanged.stdout, "base") {
		t.Errorf("upgrades: got %q, want none", unchanged.stdout)
	}
	if other := discover("--tier", "1", "--deployer", "helm", "--from", "main", "--format", "cells"); other.code != 0 || other.stdout != "eks helm\neks helm main\neks-training helm\neks-training helm main\n" {
		t.Errorf("upgrades from a branch: code %d, got %q", other.code, other.stdout)
	}

	// Two jobs for three recipes: by an earlier run's results, the slow one is alone.
	earlier := timesFile(t, map[string]time.Duration{"eks": time.Minute, "eks-training": time.Hour, "h100-eks-training": time.Minute})
	line := discover("--tier", "3", "--format", "github", "--max-jobs", "2", "--costs", earlier)
	line.want(t, 0)
	var matrix struct {
		Include []struct{ Name, Recipe, Deployer string }
	}
	if err := json.Unmarshal([]byte(line.stdout), &matrix); err != nil || len(matrix.Include) != 2 || matrix.Include[0].Recipe != "eks,h100-eks-training" ||
		matrix.Include[0].Deployer != "helm,argocd-oci,argocd-helm-oci,flux-oci" {
		t.Errorf("matrix of tier 3 in 2 jobs: %v\n%s", err, line.stdout)
	}

	var plan struct{ Tiers []int }
	all := discover("-o", "json")
	if err := json.Unmarshal([]byte(all.stdout), &plan); err != nil || !slices.Equal(plan.Tiers, []int{1, 2}) {
		t.Errorf("a pull request has tiers 1 and 2: %v\n%s", err, all.stdout)
	}
	// No change affects the recipes in the binary. What is laid over them, or a base that is named,
	// has to be compared, and they are in no repository.
	embedded := discover("--recipes-dir", "embedded", "--tier", "auto", "-o", "json")
	if err := json.Unmarshal([]byte(embedded.stdout), &plan); err != nil || embedded.code != 0 || !slices.Equal(plan.Tiers, []int{1}) {
		t.Errorf("embedded recipes: code %d, %v\n%s", embedded.code, err, embedded.stdout)
	}
	for _, more := range [][]string{{"--data", "../../recipes"}, {"--base", "main"}} {
		discover(append([]string{"--recipes-dir", "embedded", "--tier", "auto"}, more...)...).want(t, 2, "tier 2 needs a recipes directory in a git repository")
	}

	// Without node profiles a recipe is named, and not passed over.
	edit(t, filepath.Join(recipes, "overlays", "h100-eks-training.yaml"), "accelerator: h100", "accelerator: vr200")
	skipped := discover("--tier", "2", "--format", "cells")
	skipped.want(t, 0, "skipped: h100-eks-training: no KWOK node profile")
	if skipped.stdout != "" {
		t.Errorf("cells: got %q, want none", skipped.stdout)
	}

	if err := os.WriteFile(filepath.Join(top, ".git", "shallow"), []byte(git(t, top, "rev-parse", "HEAD")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	discover("--base", "origin/main").want(t, 2, "shallow", "git fetch --no-tags --unshallow origin +refs/heads/main:refs/remotes/origin/main", "fetch-depth: 0")
}

func TestDiscoverBadInput(t *testing.T) {
	outside := recipesCopy(t)
	for name, test := range map[string]struct {
		args []string
		want []string
	}{
		"tier":              {[]string{"--tier", "4"}, []string{`--tier "4"`, "1, 2, 3"}},
		"no tier":           {[]string{"--tier", ""}, []string{"--tier is empty"}},
		"format":            {[]string{"--format", "xml"}, []string{`"xml"`, "github"}},
		"too many jobs":     {[]string{"--max-jobs", "257"}, []string{"--max-jobs 257", "256"}},
		"no costs":          {[]string{"--costs", "absent.json"}, []string{"--costs absent.json", "no such file"}},
		"deployer":          {[]string{"--deployer", "argo"}, []string{`"argo"`, "argocd-oci"}},
		"not in git":        {[]string{"--tier", "2", "--recipes-dir", outside}, []string{"not a git repository"}},
		"recipes in binary": {[]string{"--tier", "2"}, []string{"--recipes-dir"}},
		"no source":         {[]string{"--tier", "1", "--from", "./absent"}, []string{"--from ./absent: there is no such directory"}},
		"no base":           {[]string{"--tier", "1", "--from", "base", "--recipes-dir", outside}, []string{"not a git repository"}},
		"base in binary":    {[]string{"--tier", "1", "--from", "base"}, []string{"--from base needs a recipes directory in a git repository"}},
		"no such recipe":    {[]string{"eksx"}, []string{`"eksx"`, "eks-training"}},
		"recipe and tier":   {[]string{"eks", "--tier", "1"}, []string{"--tier selects the recipes"}},
	} {
		t.Run(name, func(t *testing.T) {
			invokeIn(t.Context(), t, t.TempDir(), nil, append([]string{"discover"}, test.args...)...).want(t, 2, test.want...)
		})
	}
}
