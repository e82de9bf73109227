package discover

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
)

// tier2Case is one change, and the cells that it selects.
type tier2Case struct {
	name   string
	change func(*project)
	want   []string // recipes; tier 2 is helm only
	reason string   // a part of each one's reasons
	note   string
}

// TestTier2 changes one thing at a time in a real repository and checks the cells and the reasons.
func TestTier2(t *testing.T) {
	all := []string{"gb200-eks", "h100-eks", "h100-eks-training"}
	for _, test := range slices.Concat(fileChanges(all), registryChanges(all), removals(all)) {
		t.Run(test.name, test.check)
	}
}

func (test tier2Case) check(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	base := p.git("rev-parse", "HEAD")
	p.git("checkout", "--quiet", "-b", "topic")
	test.change(p)
	p.commit("the change")
	plan := p.plan([]int{2}, base, noEnv)
	var got []string
	for _, e := range plan.Entries {
		got = append(got, e.Recipe)
		if e.Deployer != "helm" || !slices.Equal(e.Tiers, []int{2}) {
			t.Errorf("%s: deployer %s, tiers %v; tier 2 is helm only", e.Recipe, e.Deployer, e.Tiers)
		}
		if !strings.Contains(strings.Join(e.Reasons, "; "), test.reason) {
			t.Errorf("%s: reasons %q, want %q among them", e.Recipe, e.Reasons, test.reason)
		}
	}
	if !slices.Equal(got, test.want) {
		t.Errorf("recipes: got %v, want %v", got, test.want)
	}
	if notes := strings.Join(plan.Notes, "\n"); !strings.Contains(notes, test.note) {
		t.Errorf("notes: want %q in %q", test.note, notes)
	}
	if plan.Base.Commit != base {
		t.Errorf("base: got %s, want %s", plan.Base.Commit, base)
	}
}

// fileChanges are changes of one file that belongs to recipes, charts or checks. All are the recipes of the project.
func fileChanges(all []string) []tier2Case {
	return []tier2Case{
		{"nothing", func(p *project) { p.append("README.md", "more\n") }, nil, "", ""},
		{"an overlay", func(p *project) { p.edit("recipes/overlays/gb200-eks.yaml") }, []string{"gb200-eks"}, "recipes/overlays/gb200-eks.yaml (overlay gb200-eks)", ""},
		{"the base of two", func(p *project) { p.edit("recipes/overlays/h100-eks.yaml") }, []string{"h100-eks", "h100-eks-training"}, "recipes/overlays/h100-eks.yaml (overlay h100-eks)", ""},
		{"a generic base", func(p *project) { p.edit("recipes/overlays/eks.yaml") }, all, "(overlay eks)", ""},
		{"a generic overlay of another service", func(p *project) { p.edit("recipes/overlays/aks.yaml") }, nil, "", ""},
		{"an overlay that applies by its criteria", func(p *project) { p.edit("recipes/overlays/monitoring.yaml") }, []string{"h100-eks-training"}, "(overlay monitoring)", ""},
		{"a mixin", func(p *project) { p.edit("recipes/mixins/tuned.yaml") }, []string{"h100-eks-training"}, "(mixin tuned of overlay h100-eks-training)", ""},
		{"comments in an overlay, a mixin, values, a check and a manifest", func(p *project) {
			for _, file := range []string{"overlays/gb200-eks.yaml", "mixins/tuned.yaml", "components/gpu-operator/values.yaml", "checks/cert-manager/health-check.yaml", "components/skyhook/manifests/tuning.yaml"} {
				p.replace("recipes/"+file, "", "# x\n")
			}
		}, nil, "", "recipes/mixins/tuned.yaml changed, but every recipe resolves to the same as before"},
		{"a mixin's manifest", func(p *project) { p.edit("recipes/components/skyhook/manifests/tuning.yaml") }, []string{"h100-eks-training"}, "(manifest of skyhook)", ""},
		{"common values", func(p *project) { p.edit("recipes/components/gpu-operator/values.yaml") }, all, "(values of gpu-operator)", ""},
		{"values of one overlay", func(p *project) { p.edit("recipes/components/gpu-operator/values-gb200.yaml") }, []string{"gb200-eks"}, "values-gb200.yaml (values of gpu-operator)", ""},
		{"values that nobody uses", func(p *project) { p.edit("recipes/components/gpu-operator/values-unused.yaml") }, nil, "", "recipes/components/gpu-operator/values-unused.yaml has no part in any recipe"},
		{"a check that the registry names", func(p *project) { p.edit("recipes/checks/cert-manager/health-check.yaml") }, all, "(health check of cert-manager)", ""},
		{"another check", func(p *project) { p.write("recipes/checks/skyhook/new.yaml", "kind: Test\n") }, []string{"h100-eks-training"}, "(check of skyhook)", ""},
		{"a chart", func(p *project) { p.append("charts/gpu-operator/templates/operator.yaml", "# x\n") }, all, "(chart of gpu-operator)", ""},
		{"a chart in a directory of another name", func(p *project) { p.append("charts/adapter-in-a-directory/templates/adapter.yaml", "# x\n") }, []string{"h100-eks-training"}, "(chart of adapter)", ""},
		{"a packaged chart", func(p *project) { p.write("charts/adapter-1.0.0.tgz", "x") }, []string{"h100-eks-training"}, "(chart of adapter)", ""},
		{"a chart that is removed", func(p *project) { p.git("rm", "-r", "--quiet", "charts/gpu-operator") }, all, "(chart of gpu-operator)", ""},
		{"a file beside the charts", func(p *project) { p.append("charts/README.md", "# x\n") }, nil, "", "charts/README.md has no part"},

		{"a locked chart", func(p *project) {
			p.write("recipes/charts.lock", "version: 1\ncharts:\n- {component: adapter, chart: adapter, version: 1.0.0, digest: a}\n")
		}, []string{"h100-eks-training"}, "recipes/charts.lock (locked chart of adapter)", ""},
		{"a lock file that cannot be read", func(p *project) { p.write("recipes/charts.lock", "charts: [\n") }, all, "(locked chart of gpu-operator)", ""},
		{"a lock file without a change", func(p *project) { p.write("recipes/charts.lock", "# x\nversion: 1\n") }, nil, "", "recipes/charts.lock has no part in any recipe"},
	}
}

// registryChanges are changes of registry.yaml and base.yaml, which every recipe reads. All are the recipes of the project.
func registryChanges(all []string) []tier2Case {
	return []tier2Case{
		{"a chart version in registry.yaml alone", func(p *project) {
			p.replace("recipes/registry.yaml", "example/adapter, defaultVersion: 1.0.0", "example/adapter, defaultVersion: 1.0.1")
		}, []string{"h100-eks-training"}, "recipes/registry.yaml (entry of adapter)", ""},
		{"a chart version in registry.yaml that an overlay overrides", func(p *project) {
			p.replace("recipes/registry.yaml", "example/gpu-operator, defaultVersion: v1.0.0", "example/gpu-operator, defaultVersion: v1.0.1")
		}, []string{"gb200-eks"}, "recipes/registry.yaml (entry of gpu-operator)", ""},
		{"value paths for scheduling in registry.yaml", func(p *project) {
			p.replace("recipes/registry.yaml", "  - name: adapter\n", "  - name: adapter\n    nodeScheduling: {system: {nodeSelectorPaths: [nodeSelector]}}\n")
		}, []string{"h100-eks-training"}, "recipes/registry.yaml (entry of adapter)", ""},
		{"another health check in registry.yaml", func(p *project) {
			p.replace("recipes/registry.yaml", "assertFile: checks/cert-manager/health-check.yaml", "assertFile: checks/gpu-operator/health-check.yaml")
		}, all, "recipes/registry.yaml (entry of cert-manager)", ""},
		{"a title in registry.yaml", func(p *project) {
			p.replace("recipes/registry.yaml", "  - name: adapter\n", "  - name: adapter\n    displayName: Adapter\n")
		}, nil, "", "recipes/registry.yaml changed, but every recipe resolves to the same as before"},
		{"a comment in registry.yaml, and another order", func(p *project) {
			p.replace("recipes/registry.yaml", "  - name: skyhook\n    manifest: {defaultNamespace: skyhook}\n", "")
			p.append("recipes/registry.yaml", "  # moved\n  - name: skyhook\n    manifest: {defaultNamespace: skyhook}\n")
		}, nil, "", "recipes/registry.yaml changed, but every recipe resolves to the same as before"},
		{"an entry that nothing uses", func(p *project) {
			p.append("recipes/registry.yaml", "  - name: dynamo\n    manifest: {defaultNamespace: dynamo}\n")
		}, nil, "", "recipes/registry.yaml changed, but"},
		{"a comment in base.yaml", func(p *project) { p.append("recipes/overlays/base.yaml", "# x\n") }, nil, "", "recipes/overlays/base.yaml changed, but every recipe resolves to the same as before"},
		{"a chart version in base.yaml", func(p *project) {
			p.replace("recipes/overlays/base.yaml", "{name: cert-manager}", "{name: cert-manager, version: v2.0.0}")
		}, all, "recipes/overlays/base.yaml (overlay base)", ""},
		{"a value in base.yaml that an overlay overrides", func(p *project) {
			p.replace("recipes/overlays/base.yaml", "{name: cert-manager}", "{name: cert-manager, overrides: {a: 1}}")
		}, []string{"gb200-eks"}, "recipes/overlays/base.yaml (overlay base)", ""},
		{"what every registry entry says already, in base.yaml", func(p *project) {
			p.replace("recipes/overlays/base.yaml", "{name: cert-manager}", "{name: cert-manager, namespace: cert-manager}")
		}, nil, "", "recipes/overlays/base.yaml changed, but every recipe resolves to the same as before"},
		{"a constraint in base.yaml", func(p *project) {
			p.append("recipes/overlays/base.yaml", "  constraints:\n    - {name: K8s.server.version, value: '>= 1.30'}\n")
		}, all, "recipes/overlays/base.yaml (overlay base)", ""},
		{"a component that leaves the recipe and the registry", func(p *project) {
			p.replace("recipes/overlays/base.yaml", "  componentRefs:\n    - {name: cert-manager}\n", "")
			p.replace("recipes/overlays/h100-eks.yaml", "    - {name: cert-manager, overrides: {a: 2}}\n", "")
			p.replace("recipes/registry.yaml", recipesOf["recipes/registry.yaml"][strings.Index(recipesOf["recipes/registry.yaml"], "  - name: cert-manager"):strings.Index(recipesOf["recipes/registry.yaml"], "  - name: gpu-operator")], "")
		}, all, "recipes/overlays/base.yaml (overlay base)", ""},
		{"a comment in base.yaml, a version in registry.yaml, and a file that is not a recipe's", func(p *project) {
			p.append("recipes/overlays/base.yaml", "# x\n")
			p.replace("recipes/registry.yaml", "example/adapter, defaultVersion: 1.0.0", "example/adapter, defaultVersion: 1.0.1")
			p.append("README.md", "more\n")
		}, []string{"h100-eks-training"}, "recipes/registry.yaml (entry of adapter)", "recipes/overlays/base.yaml changed, but"},
		{"a comment in base.yaml with an overlay", func(p *project) {
			p.append("recipes/overlays/base.yaml", "# x\n")
			p.edit("recipes/overlays/gb200-eks.yaml")
		}, []string{"gb200-eks"}, "(overlay gb200-eks)", "recipes/overlays/base.yaml changed, but"},
		{"a registry entry with something else", func(p *project) {
			p.replace("recipes/registry.yaml", "example/adapter, defaultVersion: 1.0.0", "example/adapter, defaultVersion: 1.0.1")
			p.edit("recipes/overlays/aks.yaml")
		}, []string{"h100-eks-training"}, "recipes/registry.yaml (entry of adapter)", ""},
		{"a new registry entry with its first overlay", func(p *project) {
			p.append("recipes/registry.yaml", "  - name: dynamo\n    manifest: {defaultNamespace: dynamo}\n")
			p.write("recipes/components/dynamo/manifests/a.yaml", "kind: ConfigMap\n")
			p.write("recipes/overlays/gb200-eks-inference.yaml", overlay("gb200-eks-inference", "gb200-eks", "service: eks, accelerator: gb200, intent: inference", "  componentRefs:\n    - {name: dynamo, manifestFiles: [components/dynamo/manifests/a.yaml]}\n"))
		}, []string{"gb200-eks-inference"}, "(overlay gb200-eks-inference)", ""},
		{"a comment in the registry with an overlay", func(p *project) {
			p.append("recipes/registry.yaml", "# comment\n")
			p.edit("recipes/overlays/gb200-eks.yaml")
		}, []string{"gb200-eks"}, "(overlay gb200-eks)", "recipes/registry.yaml changed, but"},
	}
}

// removals are files that are moved or removed. All are the recipes of the project.
func removals(all []string) []tier2Case {
	return []tier2Case{
		{"a renamed values file", func(p *project) {
			p.git("mv", "recipes/components/gpu-operator/values-gb200.yaml", "recipes/components/gpu-operator/values-nvl72.yaml")
			p.replace("recipes/overlays/gb200-eks.yaml", "values-gb200.yaml", "values-nvl72.yaml")
		}, []string{"gb200-eks"}, "values-gb200.yaml (values of gpu-operator)", ""},
		{"common values that are removed", func(p *project) { p.git("rm", "--quiet", "recipes/components/cert-manager/values.yaml") }, all, "(values of cert-manager)", ""},
		{"an overlay that is removed", func(p *project) { p.git("rm", "--quiet", "recipes/overlays/gb200-eks.yaml") }, nil, "", "overlay gb200-eks was removed"},
		{"an overlay that applied by its criteria is removed", func(p *project) { p.git("rm", "--quiet", "recipes/overlays/monitoring.yaml") }, []string{"h100-eks-training"}, "(overlay monitoring)", "overlay monitoring was removed"},
		{"an overlay that is moved", func(p *project) {
			if err := os.MkdirAll(filepath.Join(p.dir, "recipes/overlays/eks"), 0o755); err != nil {
				p.t.Fatal(err)
			}
			p.git("mv", "recipes/overlays/gb200-eks.yaml", "recipes/overlays/eks/gb200-eks.yaml")
		}, nil, "", "recipes/overlays/eks/gb200-eks.yaml changed, but every recipe resolves to the same as before"},
		{"an overlay without node profiles", func(p *project) { p.edit("recipes/overlays/l40-oke.yaml") }, nil, "", ""},
	}
}

// TestTiers: every tier's recipes and deployers, without git.
func TestTiers(t *testing.T) {
	p := newProject(t)
	for _, test := range []struct {
		tiers []int
		want  string
	}{
		{[]int{1}, "aks helm,aks argocd-oci,aks flux-oci,eks helm,eks argocd-oci,eks flux-oci"},
		{[]int{3}, "aks helm,aks argocd-oci,aks flux-oci,eks helm,eks argocd-oci,eks flux-oci,gb200-eks helm,gb200-eks argocd-oci,gb200-eks flux-oci," +
			"h100-eks helm,h100-eks argocd-oci,h100-eks flux-oci,h100-eks-training helm,h100-eks-training argocd-oci,h100-eks-training flux-oci"},
	} {
		plan, err := Select(Input{Store: p.store(), Deployers: []string{"helm", "argocd-oci", "flux-oci"}, Tiers: test.tiers, Runnable: runnable})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.ReplaceAll(strings.TrimSpace(plan.Cells()), "\n", ","); got != test.want {
			t.Errorf("tiers %v: got\n%s\nwant\n%s", test.tiers, got, test.want)
		}
		if skipped := len(plan.Skipped); (skipped == 1) != slices.Contains(test.tiers, 3) {
			t.Errorf("tiers %v: skipped %v; l40-oke has no node profiles", test.tiers, plan.Skipped)
		}
	}
	_, err := Select(Input{Store: p.store(), Deployers: []string{"helm"}, Tiers: []int{1}, Runnable: func(*recipe.Result) error { return errors.New("none") }})
	if !errors.Is(err, ErrNothing) {
		t.Errorf("tier 1 with nothing to run: got %v, want ErrNothing: no cell must not look like no failure", err)
	}
}

// TestTiersTogether: a cell that two tiers select is listed once.
func TestTiersTogether(t *testing.T) {
	p := newProject(t)
	base := p.git("rev-parse", "HEAD")
	p.edit("recipes/overlays/eks.yaml")
	plan := p.plan([]int{1, 2, 3}, base, noEnv)
	seen := map[result.Cell]Entry{}
	for _, e := range plan.Entries {
		if _, twice := seen[e.Cell]; twice {
			t.Errorf("%v is there twice", e.Cell)
		}
		seen[e.Cell] = e
	}
	if got := seen[result.Cell{Recipe: "gb200-eks", Deployer: "helm"}].Tiers; !slices.Equal(got, []int{2, 3}) {
		t.Errorf("gb200-eks helm: tiers %v, want 2 and 3", got)
	}
	if got := seen[result.Cell{Recipe: "eks", Deployer: "helm"}].Tiers; !slices.Equal(got, []int{1, 3}) {
		t.Errorf("eks helm: tiers %v, want 1 and 3", got)
	}
}

// TestUncommitted: a run reads the working tree, so what is not committed, not added, or ignored
// counts.
func TestUncommitted(t *testing.T) {
	for name, change := range map[string]func(*project){
		"modified":  func(p *project) { p.edit("recipes/overlays/gb200-eks.yaml") },
		"staged":    func(p *project) { p.edit("recipes/overlays/gb200-eks.yaml"); p.git("add", "--all") },
		"untracked": func(p *project) { p.write("recipes/checks/gpu-operator/new.yaml", "kind: Test\n") },
		"ignored": func(p *project) {
			p.write(".gitignore", "/recipes/checks/gpu-operator/new.yaml\n")
			p.write("recipes/checks/gpu-operator/new.yaml", "kind: Test\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t)
			change(p)
			plan := p.plan([]int{2}, "main", noEnv)
			if !slices.ContainsFunc(plan.Entries, func(e Entry) bool { return e.Recipe == "gb200-eks" }) {
				t.Errorf("entries %v, want gb200-eks among them", plan.Entries)
			}
		})
	}
}

// TestUnreadableBase: without a readable base, everything may have changed.
func TestUnreadableBase(t *testing.T) {
	p := newProject(t)
	good := recipesOf["recipes/registry.yaml"]
	p.write("recipes/registry.yaml", "kind: [\n")
	base := p.commit("broken recipes")
	p.write("recipes/registry.yaml", good)
	p.commit("fixed")
	plan := p.plan([]int{2}, base, noEnv)
	if len(plan.Entries) != 3 {
		t.Errorf("entries: got %v, want the three overlays with accelerators", plan.Entries)
	}
	if len(plan.Notes) > 0 {
		t.Errorf("notes %q say what changes nothing, which is unknown here", plan.Notes)
	}
	for _, e := range plan.Entries {
		if !strings.Contains(strings.Join(e.Reasons, ""), "cannot be read") {
			t.Errorf("%s: reasons %q do not say why", e.Recipe, e.Reasons)
		}
	}
}

// TestNoRecipesBefore: a change that adds the recipes adds all of them.
func TestNoRecipesBefore(t *testing.T) {
	p := newProject(t)
	p.git("checkout", "--quiet", "--orphan", "fresh")
	p.git("rm", "-r", "--quiet", "--cached", ".")
	p.git("add", "README.md")
	p.git("commit", "--quiet", "--message", "no recipes")
	base := p.git("rev-parse", "HEAD")
	p.commit("recipes")
	if plan := p.plan([]int{2}, base, noEnv); len(plan.Entries) != 3 {
		t.Errorf("entries: got %v, want the three overlays with accelerators", plan.Entries)
	}
}

// TestHostileNames: a file name cannot act as a command in a log.
func TestHostileNames(t *testing.T) {
	p := newProject(t)
	base := p.git("rev-parse", "HEAD")
	p.write("recipes/checks/gpu-operator/a\n::error::b.yaml", "kind: Test\n")
	p.write("recipes/components/x/a\n::error::c.txt", "x\n")
	plan := p.plan([]int{2}, base, noEnv)
	var text strings.Builder
	for _, row := range plan.Rows() {
		text.WriteString(strings.Join(row, " ") + "\n")
	}
	text.WriteString(strings.Join(plan.Notes, "\n"))
	if !strings.Contains(text.String(), `a\n::error::b.yaml`) || !strings.Contains(text.String(), `a\n::error::c.txt`) {
		t.Errorf("both files must be named, quoted; got:\n%s", text.String())
	}
	if strings.Contains(text.String(), "\n::") {
		t.Errorf("a workflow command got through:\n%s", text.String())
	}
}

// TestTree_AllFiles: the recipes are read from git to the byte, whatever a .gitattributes says
// about exports.
func TestTree_AllFiles(t *testing.T) {
	p := newProject(t)
	p.write(".gitattributes", "recipes/overlays/* export-ignore\n")
	p.write("recipes/components/cert-manager/two\nlines", "x")
	p.write("recipes/empty", "")
	id := p.commit("attributes")
	repo, err := OpenRepo(t.Context(), p.dir, "")
	if err != nil {
		t.Fatal(err)
	}
	fsys, err := repo.tree(t.Context(), id, "recipes/")
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	err = fs.WalkDir(os.DirFS(filepath.Join(p.dir, "recipes")), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		want, err := os.ReadFile(filepath.Join(p.dir, "recipes", name))
		if err != nil {
			return err
		}
		got, err := fs.ReadFile(fsys, name)
		if err != nil || string(got) != string(want) {
			t.Errorf("%q: got %q (%v), want %q", name, got, err, want)
		}
		return nil
	})
	if err != nil || files < 15 {
		t.Errorf("walked %d files: %v", files, err)
	}
}
