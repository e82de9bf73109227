package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// recipesDir is the environment's --recipes-dir.
const recipesDir = "AICR_ACTION_RECIPES_DIR"

// strictVariable is the environment's --criteria-strict, as of AICR's own CLI.
const strictVariable = "AICR_CRITERIA_STRICT"

// recipesFlags are cli.RecipesFlags for a program that people run anywhere: without them the
// recipes are those in the binary, even if the working directory has recipes.
func recipesFlags(cmd *cobra.Command, dirs *cli.RecipeDirs) {
	cmd.Flags().StringVar(&dirs.Recipes, "recipes-dir", "", "recipes `directory` in place of the recipes in this binary")
	cmd.Flags().StringVar(&dirs.Data, "data", "", "`directory` to overlay on the recipes: its registry.yaml is merged by component, other files replace those with the same path")
	cli.StrictFieldsFlag(cmd, &dirs.Strict)
	cmd.Flags().StringArrayVar(&dirs.Sources, "kustomize-source", nil, "`SOURCE=DIRECTORY`: where the source of a Kustomize component is checked out (repeatable)")
}

// inBinary makes the recipes in the binary the default.
func (a *app) inBinary(dirs cli.RecipeDirs) cli.RecipeDirs {
	dirs.Recipes = cli.FirstOf(dirs.Recipes, a.Getenv(recipesDir), cli.InBinary)
	return dirs
}

func (a *app) openRecipes(dirs cli.RecipeDirs) (*recipe.Store, error) {
	store, _, err := a.Recipes(a.inBinary(dirs))
	return store, err
}

// readResult reads a resolved recipe, and says what of it is not known here. Reason: USAGE.
func (a *app) readResult(called string, data []byte) (*recipe.Result, error) {
	r, err := recipe.ReadResult(called, data)
	if err != nil {
		return nil, cli.WrapUsage(err)
	}
	a.tellUnknown(r.Unknown())
	return r, nil
}

// tellUnknown says what documents have and this release does not know.
func (a *app) tellUnknown(lines []string) {
	for _, line := range lines {
		_, _ = fmt.Fprintln(a.Stderr, "warning:", cli.Inert(line))
	}
}

// queryFlags say which recipe is meant.
type queryFlags struct {
	criteria recipe.Criteria
	profile  string
	strict   bool
	config   configFlag
	// configuration is what is chosen besides the criteria and the profile.
	configuration recipe.ConfigurationChoice
	file          string
	snapshot      string
	kubeconfig    string
	dirs          cli.RecipeDirs
}

func (f *queryFlags) register(cmd *cobra.Command) {
	known := recipe.KnownCriteria()
	for _, flag := range criterionFlags(&f.criteria) {
		cmd.Flags().StringVarP(flag.value, flag.name, flag.short, "", fmt.Sprintf("%s: %s, any (default any)", flag.what, strings.Join(known[flag.name], ", ")))
	}
	cmd.Flags().StringVar(&f.profile, "profile", "", "value of the recipe's profile, as `NAME=VALUE` (default: the profile's own default)")
	cmd.Flags().StringVar(&f.configuration.Accounting, "slurm-accounting-mode", "", "whose database the accounting of a Slurm recipe uses, a `mode` of "+strings.Join(recipe.AccountingModes(), ", ")+" (default: disabled)")
	cmd.Flags().StringVar(&f.configuration.Inventory, "runtime-inventory", "", "whether the runtime inventory k8s-aibom is installed, a `mode` of "+strings.Join(recipe.InventoryModes(), ", ")+" (default: as the recipe says)")
	cmd.Flags().StringVar(&f.configuration.Interfaces, "gke-tcpxo-interfaces", "", "on GKE, the network of each GPU NIC that the runtime torch-distributed-tcpxo names, as `eth1=NETWORK,...,eth8=NETWORK`; a recipe with that runtime needs it")
	cmd.Flags().BoolVar(&f.strict, "criteria-strict", false, "refuse criteria that AICR itself does not know, whatever the recipe files add (also AICR_CRITERIA_STRICT=1)")
	f.config.register(cmd)
	cmd.Flags().IntVar(&f.criteria.Nodes, "nodes", 0, "number of GPU nodes; 0 is any")
	cmd.Flags().StringVarP(&f.file, "criteria", "c", "", "`address` of a RecipeCriteria document; flags override what it sets")
	cmd.Flags().StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig `file` for cm:// addresses (default: KUBECONFIG, ~/.kube/config, or the pod's own cluster)")
	cmd.Flags().StringVarP(&f.snapshot, "snapshot", "s", "", "`address` of a snapshot of the cluster: a file, https://…, cm://NAMESPACE/NAME, or -; it tells what no flag does")
	recipesFlags(cmd, &f.dirs)
	cmd.Flags().SetNormalizeFunc(gpuIsAccelerator)
}

// criterionFlag is the flag of a criterion.
type criterionFlag struct {
	name, short, what string
	value             *string
}

func criterionFlags(c *recipe.Criteria) []criterionFlag {
	return []criterionFlag{
		{"service", "", "Kubernetes service", &c.Service},
		{"accelerator", "", "accelerator, also --gpu", &c.Accelerator},
		{"intent", "i", "what the cluster is for", &c.Intent},
		{"os", "", "operating system of the GPU nodes", &c.OS},
		{"platform", "", "platform on the cluster", &c.Platform},
	}
}

// gpuIsAccelerator makes --gpu another name of --accelerator.
func gpuIsAccelerator(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	if name == "gpu" {
		name = "accelerator"
	}
	return pflag.NormalizedName(name)
}

// resolve makes the recipe that the flags describe.
func (a *app) resolve(ctx context.Context, f queryFlags) (*recipe.Store, *recipe.Result, error) {
	if f.criteria.Nodes < 0 {
		return nil, nil, cli.Usagef("--nodes %d: want 0 (any number) or more", f.criteria.Nodes)
	}
	store, err := a.openRecipes(f.dirs)
	if err != nil {
		return nil, nil, err
	}
	a.TellRead(store)
	f.strict = f.strict || slices.Contains([]string{"1", "true", "yes", "on"}, strings.ToLower(a.Getenv(strictVariable)))
	query := f.criteria.Usual()
	if err := f.checkCriteria(store, query, "--"); err != nil {
		return nil, nil, err
	}
	if cli.FirstOf(f.file, f.snapshot) == "-" && f.file == f.snapshot {
		return nil, nil, cli.Usagef("--criteria and --snapshot cannot both be read from standard input")
	}
	if f.file != "" {
		data, called, err := a.places(f.kubeconfig).Read(ctx, "criteria", f.file)
		if err != nil {
			return nil, nil, err
		}
		given, err := recipe.ReadCriteria(called, data)
		if err == nil {
			err = f.checkCriteria(store, given.Usual(), called+": spec.")
		}
		if err != nil {
			return nil, nil, cli.WrapUsage(err)
		}
		query = override(query, given.Usual())
	}
	choices := recipe.Choices{Configuration: f.configuration}
	if choices.Profile, err = recipe.ParseProfile(f.profile); err != nil {
		return nil, nil, cli.Usagef("--profile: %w", err)
	}
	if query.Bare() == (recipe.Criteria{}) && f.snapshot == "" {
		return nil, nil, cli.Usagef("no criteria: name at least one of --service, --accelerator, --intent, --os, --platform and --nodes, in a file of --criteria too, or pass --snapshot. A recipe for any system at all is for none")
	}
	var result *recipe.Result
	if f.snapshot != "" {
		result, err = a.resolveMeasured(ctx, f, store, query, choices)
	} else {
		result, err = store.ResolveWith(query, choices)
	}
	if err != nil {
		return nil, nil, cli.WrapUsage(err)
	}
	slog.Debug("resolved the recipe", "overlays", result.Metadata.AppliedOverlays, "components", len(result.ComponentRefs), "constraints", len(result.Constraints))
	for _, unused := range store.Unused(result) {
		a.note("note: no overlay of these recipes is for %s; the recipe has nothing of its own for it", unused)
	}
	return store, result, nil
}

// resolveMeasured makes the recipe of the system that a snapshot was taken of. It infers criteria
// that the query does not set, and leaves out overlays whose constraints do not hold there. It
// prints what it inferred, left out, or could not infer.
func (a *app) resolveMeasured(ctx context.Context, f queryFlags, store *recipe.Store, query recipe.Criteria, choices recipe.Choices) (*recipe.Result, error) {
	taken, err := a.readSnapshot(ctx, f.kubeconfig, f.snapshot)
	if err != nil {
		return nil, err
	}
	given := map[string]*string{"service": &query.Service, "accelerator": &query.Accelerator, "os": &query.OS}
	var inferred []string
	for _, told := range taken.Infer() {
		field := given[told.Criterion]
		switch {
		case *field != "" && told.Value != "" && *field != told.Value:
			a.note("warning: --%s is %s, and the snapshot says %s (%s); the flag counts", told.Criterion, *field, told.Value, told.From)
		case *field != "":
		case told.Value == "":
			a.note("note: the snapshot does not tell the %s: %s; name it with --%s", told.Criterion, told.From, told.Criterion)
		default:
			*field = told.Value
			inferred = append(inferred, told.Criterion)
			a.note("note: %s %s, by the snapshot: %s", told.Criterion, told.Value, told.From)
		}
	}
	result, left, unmeasured, err := store.ResolveMeasured(query, choices, taken.Measure)
	// What nobody has asked for need not be in a recipe.
	var uncovered *recipe.UncoveredError
	if errors.As(err, &uncovered) && len(lists.Without(uncovered.Criteria, inferred)) == 0 {
		for _, criterion := range uncovered.Criteria {
			a.note("warning: no recipe for this system is for the %s %s, which the snapshot shows; it is left out of the query", criterion, *given[criterion])
			*given[criterion] = ""
		}
		result, left, unmeasured, err = store.ResolveMeasured(query, choices, taken.Measure)
	}
	for _, l := range left {
		a.note("warning: %s", l)
	}
	if err != nil {
		return nil, err
	}
	for _, name := range unmeasured {
		a.note("note: constraint %s is not checked: the snapshot has no such reading", name)
	}
	return result, nil
}

// override puts flags over a file. A flag with the value any overrides too.
func override(flags, file recipe.Criteria) recipe.Criteria {
	for _, f := range []struct{ flag, file *string }{
		{&flags.Service, &file.Service}, {&flags.Accelerator, &file.Accelerator}, {&flags.Intent, &file.Intent}, {&flags.OS, &file.OS}, {&flags.Platform, &file.Platform},
	} {
		*f.flag = cli.FirstOf(*f.flag, *f.file)
	}
	if flags.Nodes == 0 {
		flags.Nodes = file.Nodes
	}
	return flags
}

// checkCriteria names the flag or the field, which is prefix and the criterion's name.
func (f *queryFlags) checkCriteria(store *recipe.Store, c recipe.Criteria, prefix string) error {
	err := store.CheckCriteria(c)
	if err == nil && f.strict {
		if err = c.Check(nil); err != nil {
			return cli.Usagef("%s%w (--criteria-strict: values that recipe files add do not count)", prefix, err)
		}
	}
	var unknown *recipe.UnknownValueError
	if errors.As(err, &unknown) {
		return cli.Usagef("%s%w", prefix, err)
	}
	return err
}
