package matrix

import (
	"cmp"
	_ "embed"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/charts/catalog"
	"github.com/nvidia/aicr-action/internal/recipe"
)

// tinyRecipe is a recipe of a few components with charts of their own: what a fault needs to be
// injected into, and no more. A cell of it takes seconds.
type tinyRecipe struct {
	components []*tinyComponent
	validation string // the overlay's validation block
	version    string // of the charts; 1.0.0 if it is empty
}

type tinyComponent struct {
	name  string
	class string // of the registry
	// namespace is its name's if empty.
	namespace string
	// templates of its chart by file name. A component without any is manifest-only.
	templates map[string]string
	crds      map[string]string
	manifest  string
	values    string // values.yaml of the recipe
	defaults  string // further lines of the chart's values.yaml
	after     []string
	check     string // its health check
	// kubeVersion is of its chart.
	kubeVersion string
	expected    string // expectedResources of the recipe
	// kustomize are the files of a component of type Kustomize, whose kustomization is in prod/;
	// patches are those that the recipe names.
	kustomize map[string]string
	patches   []string
}

// newTinyRecipe has a chart, a, and two components that come after it: b, a chart too, and c, which
// is manifests only. Each has a Deployment with one pod.
func newTinyRecipe() *tinyRecipe {
	return &tinyRecipe{components: []*tinyComponent{
		{name: "a", templates: map[string]string{"web.yaml": webTemplate}},
		{name: "b", templates: map[string]string{"web.yaml": webTemplate}, after: []string{"a"}},
		{name: "c", manifest: strings.ReplaceAll(webTemplate, ".Values.", ".Values.c."), after: []string{"a"}},
	}}
}

// part is the component of that name.
func (r *tinyRecipe) part(name string) *tinyComponent {
	for _, c := range r.components {
		if c.name == name {
			return c
		}
	}
	panic("the tiny recipe has no component " + name)
}

// only leaves the other components out.
func (r *tinyRecipe) only(names ...string) {
	var kept []*tinyComponent
	for _, n := range names {
		kept = append(kept, r.part(n))
	}
	r.components = kept
}

// add puts one more template into the chart.
func (c *tinyComponent) add(file, text string) {
	c.templates = maps.Clone(c.templates)
	c.templates[file] = text
}

// edit changes the component's Deployment.
func (c *tinyComponent) edit(from, to string) {
	old := c.templates["web.yaml"]
	changed := strings.Replace(old, from, to, 1)
	if changed == old {
		panic(fmt.Sprintf("the tiny recipe's Deployment has no %q: fix this test", from))
	}
	c.add("web.yaml", changed)
}

// webTemplate is a Deployment whose pods can be steered.
//
//go:embed testdata/objects/web_template.yaml
var webTemplate string

func (r *tinyRecipe) chartVersion() string { return cmp.Or(r.version, "1.0.0") }

// write makes the recipes directory and the directory of charts.
func (r *tinyRecipe) write(t *testing.T) (recipes, charts string) {
	t.Helper()
	dir := t.TempDir()
	recipes, charts = filepath.Join(dir, "recipes"), filepath.Join(dir, "charts")
	put := func(text string, path ...string) {
		file := filepath.Join(path...)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatalf("make a recipe to break: %v", err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatalf("make a recipe to break: %v", err)
		}
	}
	registry := "apiVersion: aicr.nvidia.com/v1alpha1\nkind: ComponentRegistry\ncomponents:\n"
	overlay := "apiVersion: aicr.nvidia.com/v1alpha1\nkind: RecipeMetadata\nmetadata: {name: tiny}\nspec:\n  criteria: {service: eks}\n  componentRefs:\n"
	for _, c := range r.components {
		if c.kustomize != nil {
			registry += fmt.Sprintf("  - name: %s\n    kustomize: {defaultSource: components/%[1]s, defaultPath: prod}\n", c.name)
			overlay += fmt.Sprintf("    - name: %s\n      namespace: %[1]s\n      dependencyRefs: [%s]\n      patches: [", c.name, strings.Join(c.after, ", "))
			for _, file := range c.patches {
				overlay += "components/" + c.name + "/" + file + ", "
			}
			overlay += "]\n"
			for file, text := range c.kustomize {
				put(text, recipes, "components", c.name, filepath.FromSlash(file))
			}
			continue
		}
		origin := fmt.Sprintf("    helm: {defaultRepository: \"https://charts.example.com\", defaultChart: example/%s, defaultVersion: %s, defaultNamespace: %s}\n", c.name, r.chartVersion(), cmp.Or(c.namespace, c.name))
		if c.manifest != "" {
			origin = fmt.Sprintf("    manifest: {defaultNamespace: %s}\n", c.name)
		}
		registry += fmt.Sprintf("  - name: %s\n%s    nodeScheduling: {system: {nodeSelectorPaths: [nodeSelector], tolerationPaths: [tolerations]}}\n", c.name, origin)
		if c.class != "" {
			registry += "    class: " + c.class + "\n"
		}
		if c.check != "" {
			registry += fmt.Sprintf("    healthCheck: {assertFile: checks/%s/health-check.yaml}\n", c.name)
			put(c.check, recipes, "checks", c.name, "health-check.yaml")
		}
		overlay += fmt.Sprintf("    - name: %s\n      type: Helm\n      valuesFile: components/%s/values.yaml\n", c.name, c.name)
		if len(c.after) > 0 {
			overlay += "      dependencyRefs: [" + strings.Join(c.after, ", ") + "]\n"
		}
		if c.expected != "" {
			overlay += "      expectedResources: " + c.expected + "\n"
		}
		put(c.values+"\n", recipes, "components", c.name, "values.yaml")
		if c.manifest != "" {
			overlay += fmt.Sprintf("      manifestFiles: [components/%s/manifests/web.yaml]\n", c.name)
			put(c.manifest, recipes, "components", c.name, "manifests", "web.yaml")
			continue
		}
		chart := fmt.Sprintf("apiVersion: v2\nname: %s\nversion: %s\n", c.name, r.chartVersion())
		if c.kubeVersion != "" {
			chart += fmt.Sprintf("kubeVersion: %q\n", c.kubeVersion)
		}
		put(chart, charts, c.name, "Chart.yaml")
		put("nodeSelector: {}\ntolerations: []\n"+c.defaults, charts, c.name, "values.yaml")
		for file, text := range c.templates {
			put(text, charts, c.name, "templates", file)
		}
		for file, text := range c.crds {
			put(text, charts, c.name, "crds", file)
		}
	}
	if r.validation != "" {
		overlay += "  validation: " + r.validation + "\n"
	}
	put(registry, recipes, "registry.yaml")
	put("apiVersion: aicr.nvidia.com/v1alpha1\nkind: RecipeMetadata\nmetadata: {name: base}\nspec: {}\n", recipes, "overlays", "base.yaml")
	put(overlay, recipes, "overlays", "tiny.yaml")
	return recipes, charts
}

// use makes the runner run the recipe, under the name tiny.
func (r *tinyRecipe) use(t *testing.T, runner *Runner) {
	t.Helper()
	recipes, charts := r.write(t)
	store, err := recipe.Open(os.DirFS(recipes), recipes)
	if err != nil {
		t.Fatalf("open the tiny recipe: %v", err)
	}
	source, err := catalog.FromDir(charts)
	if err != nil {
		t.Fatal(err)
	}
	runner.Store, runner.Charts, runner.RecipesName = store, source, recipes
}
