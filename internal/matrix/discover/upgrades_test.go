package discover

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/matrix/durations"
)

// upgradePlan selects tier 1 with helm and flux-oci, and upgrades from main.
func upgradePlan(t *testing.T, p *project) *Plan {
	t.Helper()
	repo, base, err := p.findBase("main", noEnv)
	if err != nil {
		t.Fatal(err)
	}
	diff, err := repo.Compare(t.Context(), base, Dirs{Recipes: filepath.Join(p.dir, "recipes")})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := Select(Input{Store: p.store(), Deployers: []string{"helm", "flux-oci"}, Tiers: []int{1}, Runnable: runnable, Upgrades: &Upgrades{From: "base", Diff: diff}})
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// With base, only recipes whose resolved bundle changed are upgraded, each in all lanes of its first
// installation; the others are named with the reason.
func TestUpgrades(t *testing.T) {
	const first = "aks helm,aks flux-oci,eks helm,eks flux-oci"
	for name, test := range map[string]struct {
		change func(*project)
		want   string // upgrades
		reason string
		notes  []string
	}{
		"nothing":             {func(*project) {}, "", "", []string{"no upgrade from base of aks, eks: the resolved bundle did not change"}},
		"a comment":           {func(p *project) { p.append("recipes/overlays/eks.yaml", "# x\n") }, "", "", []string{"of aks, eks:"}},
		"a comment in values": {func(p *project) { p.append("recipes/components/gpu-operator/values.yaml", "# x\n") }, "", "", []string{"of aks, eks:"}},
		"a check":             {func(p *project) { p.append("recipes/checks/gpu-operator/health-check.yaml", "a: 1\n") }, "", "", []string{"of aks, eks:"}},
		"a value":             {func(p *project) { p.append("recipes/components/gpu-operator/values.yaml", "a: 1\n") }, "eks helm,eks flux-oci", "values.yaml (values of gpu-operator)", []string{"of aks: the resolved"}},
		"the registry": {func(p *project) {
			p.replace("recipes/registry.yaml", "defaultVersion: v1.0.0", "defaultVersion: v1.1.0")
		}, "aks helm,aks flux-oci,eks helm,eks flux-oci", "(entry of cert-manager)", nil},
		"an overlay":           {func(p *project) { p.append("recipes/overlays/eks.yaml", "    - {name: adapter}\n") }, "eks helm,eks flux-oci", "overlays/eks.yaml (overlay eks)", []string{"of aks: the resolved"}},
		"a recipe that is new": {func(p *project) { p.write("recipes/overlays/gke.yaml", overlay("gke", "base", "service: gke", "")) }, "", "", []string{"no upgrade from base of gke: base has no such recipe", "of aks, eks:"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t)
			p.git("checkout", "--quiet", "-b", "topic")
			test.change(p)
			if p.git("status", "--porcelain") != "" {
				p.commit("the change")
			}
			plan := upgradePlan(t, p)
			var firsts, upgrades []string
			for _, e := range plan.Entries {
				if cell := e.Recipe + " " + e.Deployer; e.From == "" {
					firsts = append(firsts, cell)
				} else if upgrades = append(upgrades, cell); e.From != "base" || e.Reasons[0] != "upgrade from base" || !strings.Contains(strings.Join(e.Reasons, "; "), test.reason) {
					t.Errorf("%s: from %q, reasons %q, want %q among them", cell, e.From, e.Reasons, test.reason)
				}
			}
			if got := strings.Join(upgrades, ","); got != test.want {
				t.Errorf("upgrades: got %q, want %q", got, test.want)
			}
			if got := strings.Join(firsts, ","); !strings.HasPrefix(got, first) {
				t.Errorf("first installations: got %q, want %q", got, first)
			}
			for _, note := range test.notes {
				if !slices.ContainsFunc(plan.Notes, func(n string) bool { return strings.Contains(n, note) }) {
					t.Errorf("notes: got %q, want %q", plan.Notes, note)
				}
			}
			jobs, err := plan.Jobs(MaxJobs, new(durations.Book))
			if err != nil {
				t.Fatal(err)
			}
			cells := 0
			for _, j := range jobs {
				cells += j.Cells
				if j.Deployer != "helm,flux-oci" {
					t.Errorf("job %s has the deployers %s", j.Name, j.Deployer)
				}
			}
			if cells != len(plan.Entries) {
				t.Errorf("the jobs have %d cells, the plan %d", cells, len(plan.Entries))
			}
		})
	}
}

// From another source than base every recipe is upgraded: that it changes nothing is what is tested.
func TestUpgrades_Unchanged(t *testing.T) {
	p := newProject(t)
	plan, err := Select(Input{Store: p.store(), Deployers: []string{"helm"}, Tiers: []int{1}, Runnable: runnable, Upgrades: &Upgrades{From: "main"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.ReplaceAll(strings.TrimSpace(plan.Cells()), "\n", ","); got != "aks helm,aks helm main,eks helm,eks helm main" || len(plan.Notes) > 0 {
		t.Errorf("got %s, notes %q", got, plan.Notes)
	}
	if rows := plan.Rows(); !strings.Contains(rows[2][0], "main") {
		t.Errorf("the row of an upgrade: got %q", rows[2])
	}
}
