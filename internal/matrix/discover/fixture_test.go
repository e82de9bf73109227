package discover

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/recipe"
)

// project is a real git repository in a directory of the test's own.
type project struct {
	t   *testing.T
	dir string
}

// recipesOf the fixture: a generic chain (base, eks), three overlays for accelerators, of which one
// has a mixin and one overrides what its bases and the registry say, one overlay that applies to
// every recipe, and one for a service without node profiles.
var recipesOf = map[string]string{
	"README.md": "a project\n",
	"recipes/registry.yaml": `kind: ComponentRegistry
apiVersion: aicr.nvidia.com/v1alpha1
components:
  - name: cert-manager
    helm: {defaultRepository: https://charts.example.com, defaultChart: example/cert-manager, defaultVersion: v1.0.0, defaultNamespace: cert-manager}
    healthCheck: {assertFile: checks/cert-manager/health-check.yaml}
  - name: gpu-operator
    helm: {defaultRepository: https://charts.example.com, defaultChart: example/gpu-operator, defaultVersion: v1.0.0, defaultNamespace: gpu-operator}
  - name: skyhook
    manifest: {defaultNamespace: skyhook}
  - name: adapter
    helm: {defaultRepository: https://charts.example.com, defaultChart: example/adapter, defaultVersion: 1.0.0, defaultNamespace: monitoring}
`,
	"recipes/checks/cert-manager/health-check.yaml":         "kind: Test\n",
	"recipes/checks/gpu-operator/health-check.yaml":         "kind: Test\n",
	"recipes/components/cert-manager/values.yaml":           "replicas: 1\n",
	"recipes/components/gpu-operator/values.yaml":           "driver: {}\n",
	"recipes/components/gpu-operator/values-gb200.yaml":     "driver: {enabled: true}\n",
	"recipes/components/skyhook/manifests/tuning.yaml":      "kind: ConfigMap\n",
	"recipes/components/gpu-operator/values-unused.yaml":    "a: 1\n",
	"recipes/mixins/tuned.yaml":                             "kind: RecipeMixin\napiVersion: aicr.nvidia.com/v1alpha1\nmetadata: {name: tuned}\nspec:\n  componentRefs:\n    - {name: skyhook, manifestFiles: [components/skyhook/manifests/tuning.yaml]}\n",
	"recipes/overlays/base.yaml":                            overlay("base", "", "", "  componentRefs:\n    - {name: cert-manager}\n"),
	"recipes/overlays/eks.yaml":                             overlay("eks", "base", "service: eks", "  componentRefs:\n    - {name: gpu-operator}\n"),
	"recipes/overlays/aks.yaml":                             overlay("aks", "base", "service: aks", ""),
	"recipes/overlays/h100-eks.yaml":                        overlay("h100-eks", "eks", "service: eks, accelerator: h100", "  componentRefs:\n    - {name: gpu-operator, version: v1.0.0}\n    - {name: cert-manager, overrides: {a: 2}}\n"),
	"recipes/overlays/h100-eks-training.yaml":               overlay("h100-eks-training", "h100-eks", "service: eks, accelerator: h100, intent: training", "  mixins: [tuned]\n"),
	"recipes/overlays/gb200-eks.yaml":                       overlay("gb200-eks", "eks", "service: eks, accelerator: gb200", "  componentRefs:\n    - {name: gpu-operator, valuesFile: components/gpu-operator/values-gb200.yaml}\n"),
	"recipes/overlays/l40-oke.yaml":                         overlay("l40-oke", "base", "service: oke, accelerator: l40", ""),
	"charts/gpu-operator/Chart.yaml":                        "apiVersion: v2\nname: gpu-operator\nversion: v1.0.0\n",
	"charts/gpu-operator/templates/operator.yaml":           "kind: Deployment\n",
	"charts/adapter-in-a-directory/Chart.yaml":              "apiVersion: v2\nname: adapter\nversion: 1.0.0\n",
	"charts/adapter-in-a-directory/templates/adapter.yaml":  "kind: Deployment\n",
	"charts/README.md":                                      "charts\n",
	"recipes/overlays/monitoring.yaml":                      overlay("monitoring", "base", "intent: training", "  componentRefs:\n    - {name: adapter}\n"),
	"recipes/components/cert-manager/manifests/unused.yaml": "kind: ConfigMap\n",
}

func overlay(name, base, criteria, rest string) string {
	text := fmt.Sprintf("kind: RecipeMetadata\napiVersion: aicr.nvidia.com/v1alpha1\nmetadata: {name: %s}\nspec:\n", name)
	if base != "" {
		text += "  base: " + base + "\n"
	}
	return text + "  criteria: {" + criteria + "}\n" + rest
}

// newProject has one commit, of the fixture, on main.
func newProject(t *testing.T) *project {
	t.Helper()
	p := &project{t, t.TempDir()}
	p.git("init", "--quiet", "--initial-branch=main")
	for name, content := range recipesOf {
		p.write(name, content)
	}
	p.commit("fixture")
	return p
}

// git runs git without any user's configuration.
func (p *project) git(args ...string) string {
	p.t.Helper()
	return p.gitIn(p.dir, nil, args...)
}

func (p *project) gitIn(dir string, env []string, args ...string) string {
	p.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), env...), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull,
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func (p *project) write(name, content string) {
	p.t.Helper()
	file := filepath.Join(p.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func (p *project) append(name, content string) {
	p.t.Helper()
	raw, err := os.ReadFile(filepath.Join(p.dir, name))
	if err != nil {
		p.t.Fatal(err)
	}
	p.write(name, string(raw)+content)
}

// edit changes what a file of the recipes says.
func (p *project) edit(name string) {
	p.t.Helper()
	if strings.Contains(name, "/overlays/") || strings.Contains(name, "/mixins/") {
		p.append(name, "  constraints: [{name: K8s.server.version, value: '>= 1.30'}]\n")
		return
	}
	p.append(name, "more: 1\n")
}

func (p *project) replace(name, from, to string) {
	p.t.Helper()
	raw, err := os.ReadFile(filepath.Join(p.dir, name))
	if err != nil || !strings.Contains(string(raw), from) {
		p.t.Fatalf("%s has no %q (%v)", name, from, err)
	}
	p.write(name, strings.Replace(string(raw), from, to, 1))
}

func (p *project) commit(message string) string {
	p.t.Helper()
	p.git("add", "--all", "--force")
	p.git("commit", "--quiet", "--message", message)
	return p.git("rev-parse", "HEAD")
}

// clone is a shallow clone of the branch, as actions/checkout makes them.
func (p *project) clone(depth int, ref string) *project {
	p.t.Helper()
	c := &project{p.t, p.t.TempDir()}
	c.git("init", "--quiet")
	c.git("remote", "add", "origin", "file://"+p.dir)
	c.git("fetch", "--quiet", "--no-tags", fmt.Sprintf("--depth=%d", depth), "origin", "+"+ref+":refs/remotes/origin/checkout")
	c.git("checkout", "--quiet", "--detach", "refs/remotes/origin/checkout")
	return c
}

// store reads the recipes of the working tree.
func (p *project) store() *recipe.Store {
	p.t.Helper()
	s, err := recipe.Open(os.DirFS(filepath.Join(p.dir, "recipes")), "recipes")
	if err != nil {
		p.t.Fatalf("the fixture's recipes: %v", err)
	}
	return s
}

// noEnv is an environment with nothing in it.
func noEnv(string) string { return "" }

func (p *project) findBase(rev string, getenv func(string) string) (*Repo, Base, error) {
	p.t.Helper()
	repo, err := OpenRepo(context.Background(), filepath.Join(p.dir, "recipes"), "")
	if err != nil {
		p.t.Fatal(err)
	}
	base, err := repo.FindBase(context.Background(), rev, getenv)
	return repo, base, err
}

// plan selects with profiles for every service but oke.
func (p *project) plan(tiers []int, rev string, getenv func(string) string) *Plan {
	p.t.Helper()
	repo, base, err := p.findBase(rev, getenv)
	if err != nil {
		p.t.Fatalf("find the base: %v", err)
	}
	diff, err := repo.Compare(context.Background(), base, Dirs{Recipes: filepath.Join(p.dir, "recipes"), Charts: Charts{Dirs: []string{filepath.Join(p.dir, "charts")}, Lock: "charts.lock"}})
	if err != nil {
		p.t.Fatalf("compare: %v", err)
	}
	plan, err := Select(Input{Store: p.store(), Deployers: []string{"helm", "argocd-oci", "flux-oci"}, Tiers: tiers, Diff: diff, Runnable: runnable})
	if err != nil {
		p.t.Fatalf("select: %v", err)
	}
	return plan
}

func runnable(r *recipe.Result) error {
	if r.Criteria.Service == "oke" {
		return errors.New("no profile for oke")
	}
	return nil
}
