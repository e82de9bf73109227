package cli

import (
	"errors"
	"go/build"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// testApp is an opened App with a cache of its own; env are pairs of a name and a value.
func testApp(t *testing.T, env ...string) *App {
	t.Helper()
	env = append([]string{"AICR_ACTION_CACHE", t.TempDir()}, env...)
	a := New(func(name string) string {
		for i := 0; i < len(env); i += 2 {
			if env[i] == name {
				return env[i+1]
			}
		}
		return ""
	}, io.Discard, io.Discard)
	t.Cleanup(a.Progress.Close)
	if err := a.Open(); err != nil {
		t.Fatal(err)
	}
	return a
}

// What is opened, and how results call it: the flag, the variable, and what is in the binary.
func TestOpening(t *testing.T) {
	const shipped = "../../../recipes"
	a := testApp(t)
	for name, test := range map[string]struct {
		app        *App
		flag, want string
	}{
		"binary":            {a, "", "the recipes in this binary"},
		"flag":              {a, shipped, shipped},
		"variable":          {testApp(t, "AICR_ACTION_RECIPES_DIR", shipped), "", shipped},
		"flag and variable": {testApp(t, "AICR_ACTION_RECIPES_DIR", "/nonexistent"), shipped, shipped},
		"embedded":          {a, "embedded", "the recipes in this binary"},
		"not embedded":      {testApp(t, "AICR_ACTION_RECIPES_DIR", "embedded"), shipped, shipped},
	} {
		store, called, err := test.app.Recipes(RecipeDirs{Recipes: test.flag})
		if err != nil || called != test.want || !slices.Contains(store.Names(), "eks-training") {
			t.Errorf("recipes, %s: got %q, %v", name, called, err)
		}
	}
	if _, _, err := a.Recipes(RecipeDirs{Recipes: "/nonexistent"}); reason.Of(err) != reason.Usage {
		t.Errorf("recipes that do not exist: got %v", err)
	}
	t.Run("in CI", func(t *testing.T) { ciRecipes(t, shipped) })
	t.Run("with data", dataOverRecipes)
	for _, charts := range []string{"simulated", "../../../kwok/charts"} {
		if _, err := a.Charts([]string{charts}, ""); err != nil {
			t.Errorf("charts %s: %v", charts, err)
		}
	}
	for _, charts := range []string{"", "/nonexistent"} {
		if _, err := a.Charts([]string{charts}, ""); reason.Of(err) != reason.Usage || !strings.Contains(err.Error(), "--charts") {
			t.Errorf("charts %q: got %v", charts, err)
		}
	}
	for _, test := range []struct {
		app         *App
		asked, want string
	}{{a, "", a.Settings.Cluster.Name}, {a, "mine", "mine"}, {testApp(t, "KWOK_CLUSTER", "theirs"), "", "theirs"}, {testApp(t, "KWOK_CLUSTER", "theirs"), "mine", "mine"}} {
		if got, err := test.app.ClusterName(test.asked); err != nil || got != test.want {
			t.Errorf("cluster: got %q, %v; want %q", got, err, test.want)
		}
	}
	if port, exact, err := a.RegistryPort(); err != nil || exact || port != a.Settings.Registry.HostPort {
		t.Errorf("port: got %d, %v, %v", port, exact, err)
	}
	if port, exact, err := testApp(t, "KWOK_REGISTRY_HOST_PORT", "6000").RegistryPort(); err != nil || !exact || port != 6000 {
		t.Errorf("port of the variable: got %d, %v, %v", port, exact, err)
	}
	if port, err := testApp(t, "KWOK_GITEA_HOST_PORT", "3301").GitPort(); err != nil || port != 3301 {
		t.Errorf("port of the Git server: got %d, %v", port, err)
	}
	if port, err := testApp(t, "KWOK_GITEA_HOST_PORT", "70000").GitPort(); err == nil || port != 0 || !strings.Contains(err.Error(), "KWOK_GITEA_HOST_PORT") {
		t.Errorf("port of the Git server: got %d, %v", port, err)
	}
}

// A data directory is laid over whichever recipes there are, and is no excuse for a job without a
// checkout.
func dataOverRecipes(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	head := "apiVersion: aicr.run/v1beta1\nkind: "
	write("registry.yaml", head+"ComponentRegistry\ncomponents: []\n")
	write("overlays/mine.yaml", head+"RecipeMetadata\nmetadata: {name: mine}\nspec: {criteria: {service: mine}}\n")
	for name, test := range map[string]struct {
		app  *App
		dirs RecipeDirs
		want string
	}{
		"over the binary":    {testApp(t), RecipeDirs{Data: dir}, "the recipes in this binary"},
		"over a directory":   {testApp(t), RecipeDirs{Recipes: "../../../recipes", Data: dir + "/"}, "../../../recipes"},
		"variable":           {testApp(t, "AICR_ACTION_DATA", dir), RecipeDirs{}, "the recipes in this binary"},
		"flag over variable": {testApp(t, "AICR_ACTION_DATA", "/nonexistent"), RecipeDirs{Data: dir}, "the recipes in this binary"},
		"in CI":              {testApp(t, "CI", "true"), RecipeDirs{Recipes: "embedded", Data: dir}, "the recipes in this binary"},
	} {
		store, called, err := test.app.Recipes(test.dirs)
		if err != nil || called != test.want || !slices.Contains(store.Names(), "mine") || !slices.Contains(store.Names(), "eks-training") {
			t.Errorf("%s: got %q, %v", name, called, err)
			continue
		}
		if o, _ := store.Overlay("mine"); o.Origin.File != filepath.ToSlash(filepath.Join(dir, "overlays", "mine.yaml")) {
			t.Errorf("%s: the overlay is at %s", name, o.Origin)
		}
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	for data, want := range map[string]string{"/nonexistent": "data directory /nonexistent: no such file", link: "symbolic link", link + "/": "symbolic link", "open_test.go": "not a directory", t.TempDir(): "registry.yaml"} {
		if _, _, err := testApp(t).Recipes(RecipeDirs{Data: data}); reason.Of(err) != reason.Usage || !strings.Contains(err.Error(), want) {
			t.Errorf("--data %s: got %v, want a usage error with %q", data, err, want)
		}
	}
	if _, _, err := testApp(t, "CI", "true").Recipes(RecipeDirs{Data: dir}); reason.Of(err) != reason.Usage || !strings.Contains(err.Error(), "--recipes-dir embedded") {
		t.Errorf("data alone, in CI: got %v, want the error about the missing recipes", err)
	}
}

// In CI the recipes in the binary are never the default: a job without a checkout would pass
// without checking any recipe of its repository.
func ciRecipes(t *testing.T, shipped string) {
	t.Helper()
	for _, test := range []struct {
		env  []string
		flag string
		want string // empty: a usage error
	}{
		{[]string{"CI", "true"}, "", ""},
		{[]string{"CI", "woodpecker"}, "", ""},
		{[]string{"GITHUB_ACTIONS", "true"}, "", ""},
		{[]string{"CI", "true"}, "embedded", "the recipes in this binary"},
		{[]string{"CI", "true", "AICR_ACTION_RECIPES_DIR", "embedded"}, "", "the recipes in this binary"},
		{[]string{"CI", "true"}, shipped, shipped},
		{[]string{"CI", "false"}, "", "the recipes in this binary"},
	} {
		store, called, err := testApp(t, test.env...).Recipes(RecipeDirs{Recipes: test.flag})
		if test.want == "" {
			if reason.Of(err) != reason.Usage || !strings.Contains(err.Error(), "--recipes-dir embedded") || !strings.Contains(err.Error(), "actions/checkout") {
				t.Errorf("%v, flag %q: got %v, want a usage error that says what to do", test.env, test.flag, err)
			}
			continue
		}
		if err != nil || called != test.want || len(store.Names()) == 0 {
			t.Errorf("%v, flag %q: got %q, %v", test.env, test.flag, called, err)
		}
	}
	t.Chdir("../../..") // where there is a ./recipes
	if _, called, err := testApp(t, "CI", "true").Recipes(RecipeDirs{}); err != nil || called != "recipes" {
		t.Errorf("./recipes: got %q, %v", called, err)
	}
}

// What the programs carry with them can be read.
func TestShippedFiles(t *testing.T) {
	if profiles, err := Profiles("", ""); err != nil || len(profiles) == 0 {
		t.Errorf("profiles: got %d, %v", len(profiles), err)
	}
	if stages, err := Stages(); err != nil || len(stages) == 0 {
		t.Errorf("stages: got %d bytes, %v", len(stages), err)
	}
	if stages, err := OperatorStages(); err != nil || len(stages) == 0 {
		t.Errorf("operator stages: got %d, %v", len(stages), err)
	}
	if _, err := HealthPolicy(); err != nil {
		t.Errorf("health policy: %v", err)
	}
}

// The profiles of the checkout that the recipes are in count too, and none from outside of it.
func TestProfiles_Checkout(t *testing.T) {
	const profile = "apiVersion: aicr.run/v1alpha2\nkind: KWOKNodeProfile\nmetadata: {name: tray, labels: {provider: moon, nodeType: accelerated, accelerator: h100}}\n" +
		"spec: {instanceType: tray, arch: arm64, resources: {cpu: \"4\", memory: 8Gi, storage: 9Gi}, gpu: {product: X, count: 1, memory: 1, driver: \"615.0.0\"}}\n"
	root, elsewhere := t.TempDir(), t.TempDir()
	for _, dir := range []string{filepath.Join(root, "kwok/profiles/moon"), filepath.Join(elsewhere, "moon"), filepath.Join(root, "recipes")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if filepath.Base(dir) == "moon" {
			if err := os.WriteFile(filepath.Join(dir, "tray.yaml"), []byte(profile), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	has := func(recipes string) bool {
		all, err := Profiles("", recipes)
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(all, func(p simulate.Profile) bool { return p.Metadata.Name == "moon-tray" })
	}
	if !has(filepath.Join(root, "recipes")) || has(filepath.Join(elsewhere, "recipes")) || has("") {
		t.Error("the profiles of the checkout are not those that are found")
	}
	if err := errors.Join(os.RemoveAll(filepath.Join(root, "kwok/profiles")), os.Symlink(elsewhere, filepath.Join(root, "kwok/profiles"))); err != nil {
		t.Fatal(err)
	}
	if all, err := Profiles("", filepath.Join(root, "recipes")); err == nil && slices.ContainsFunc(all, func(p simulate.Profile) bool { return p.Spec.Criteria.Service == "moon" }) {
		t.Error("a link leads out of the checkout")
	}
}

func TestSplitList(t *testing.T) {
	if got := SplitList([]string{"a, b\nc", "", " ,d"}); !slices.Equal(got, []string{"a", "b", "c", "d"}) {
		t.Errorf("got %q", got)
	}
}

// cli is below the programs: it imports nothing of cmd.
func TestImports(t *testing.T) {
	pkg, err := build.ImportDir(".", 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range pkg.Imports {
		if strings.Contains(path, "aicr-action/cmd") {
			t.Errorf("cli imports %s", path)
		}
	}
}
