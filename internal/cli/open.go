package cli

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"

	aicraction "github.com/nvidia/aicr-action"
	"github.com/nvidia/aicr-action/internal/health"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/kwok"
)

// RecipesFlag adds --recipes-dir, whose value is for Recipes.
func RecipesFlag(cmd *cobra.Command, value *string) {
	cmd.Flags().StringVar(value, "recipes-dir", "", "recipes `directory`, or embedded for the recipes in this binary (default: ./recipes, else embedded; in CI, ./recipes must exist)")
}

// NameFlag adds --name, whose value is for ClusterName.
func NameFlag(cmd *cobra.Command, value *string) {
	cmd.Flags().StringVar(value, "name", "", "`name` of the cluster (default: KWOK_CLUSTER, else the one in .settings.yaml)")
}

// Embedded is the value of --recipes-dir that stands for the recipes in the binary. A directory of that name is ./embedded.
const Embedded = "embedded"

// Recipes opens a recipes directory: the flag, AICR_ACTION_RECIPES_DIR, ./recipes, or the recipes in the binary. The second result
// is how results call it. Recipes that cannot be read are a usage error, with file and line. In CI the recipes in the binary must be asked
// for: a job that forgot its checkout would otherwise pass without having looked at its repository.
func (a *App) Recipes(flag string) (*recipe.Store, string, error) {
	dir := a.RecipesDirectory(flag)
	if dir == "" {
		if FirstOf(flag, a.Getenv(recipesVariable)) != Embedded && a.inCI() {
			return nil, "", Usagef("no recipes of this repository were found: the working directory has no recipes/registry.yaml. Check out the repository first " +
				"(actions/checkout), or name its recipes directory (--recipes-dir DIR, input recipes-dir). To run the recipes in this binary instead, write --recipes-dir embedded")
		}
		fsys, err := fs.Sub(aicraction.Recipes, "recipes")
		if err != nil {
			return nil, "", err
		}
		store, err := recipe.Open(fsys, "recipes")
		return store, "the recipes in this binary", WrapUsage(err)
	}
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() {
		return nil, "", Usagef("recipes directory %s: not a directory that can be read", dir)
	}
	store, err := recipe.Open(os.DirFS(dir), filepath.ToSlash(filepath.Clean(dir)))
	return store, dir, WrapUsage(err)
}

// recipesVariable is the environment's --recipes-dir.
const recipesVariable = "AICR_ACTION_RECIPES_DIR"

// inCI reports whether this is a CI job: GITHUB_ACTIONS is true, or CI has any value but a false one.
func (a *App) inCI() bool {
	ci := a.Getenv("CI")
	on, err := strconv.ParseBool(ci)
	return a.Getenv("GITHUB_ACTIONS") == "true" || ci != "" && (on || err != nil)
}

// RecipesDirectory is where Recipes reads them; empty for those in the binary.
func (a *App) RecipesDirectory(flag string) string {
	dir := FirstOf(flag, a.Getenv(recipesVariable))
	if dir == Embedded {
		return ""
	}
	if dir == "" {
		if _, err := os.Stat(filepath.Join("recipes", "registry.yaml")); err == nil {
			dir = "recipes"
		}
	}
	return dir
}

// ClusterName is the name of a cluster, or the prefix of a run's: asked for (--name), else KWOK_CLUSTER, else the one in .settings.yaml. It
// becomes part of paths, so that it is checked as Kubernetes checks names.
func (a *App) ClusterName(asked string) (string, error) {
	name := FirstOf(asked, a.Getenv("KWOK_CLUSTER"), a.Settings.Cluster.Name)
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return "", Usagef("cluster name %q: %s", name, strings.Join(problems, "; "))
	}
	return name, nil
}

// RegistryPort follows KWOK_REGISTRY_HOST_PORT; the second result says whether the user asked for it.
func (a *App) RegistryPort() (int, bool, error) {
	text := a.Getenv("KWOK_REGISTRY_HOST_PORT")
	if text == "" {
		return a.Settings.Registry.HostPort, false, nil
	}
	port, err := strconv.Atoi(text)
	if err != nil || port < 1 || port > 65535 {
		return 0, false, Usagef("KWOK_REGISTRY_HOST_PORT=%q: want a port from 1 to 65535", text)
	}
	return port, true, nil
}

// Profiles are the shipped node profiles.
func Profiles() ([]simulate.Profile, error) { return simulate.LoadProfiles(kwok.Files, "profiles") }

// Stages are the shipped KWOK stages of nodes and pods, as one YAML stream.
func Stages() ([]byte, error) { return simulate.Stages(kwok.Files, "stages") }

// OperatorStages are the shipped stages that simulate operators.
func OperatorStages() ([]simulate.OperatorStage, error) {
	return simulate.LoadOperatorStages(kwok.Files, "stages/operators")
}

// HealthPolicy is the shipped health policy.
func HealthPolicy() (health.Policy, error) {
	data, err := kwok.Files.ReadFile("health.yaml")
	if err != nil {
		return health.Policy{}, err
	}
	return health.Parse("kwok/health.yaml", data)
}
