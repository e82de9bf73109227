package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/filesys"
	"github.com/nvidia/aicr-action/internal/util/httpstatus"
	"github.com/nvidia/aicr-action/internal/verify/upgradecheck"
)

// upgradeFlags say which move is meant.
type upgradeFlags struct {
	from, to, deployer, output, format, kubeconfig string
	fromRecipes                                    string // of the old charts' lock file
	evidence, charts                               []string
	failOnError                                    bool
	scan, scanSet                                  bool // whether objects at risk are looked for, and whether that was said
	dirs                                           cli.RecipeDirs
}

func (a *app) upgradeCheckCommand() *cobra.Command {
	var f upgradeFlags
	cmd := &cobra.Command{
		Use: "upgrade-check", Short: "Say whether the components of one recipe can be upgraded to those of another", Args: cobra.NoArgs,
		Long: `Compare two recipes component by component, and judge each move by the records of upgrades that the recipe files have
(components/NAME/upgrades.yaml, named in the registry).

A side is a recipe, or the directory of a bundle, which has one; --from cluster is what --deployer has installed there: the chart of each deployed Helm release, or of each Application's
last completed sync. Without --to, the criteria of --from are resolved again with the recipe
files that are there now: what an upgrade to them would be.

The verdict is safe, manual or blocked as a record says; unknown if none does, and unversioned if versions cannot be compared. A move that
crosses two records, begins where its record does not, or ends past what its record was looked at, is blocked, and no steps are shown:
they were written for another move. Anything but safe ends with code 2.

--scan-cluster lists, of the kinds that crossed records name (affectedResources), the objects in the cluster without an
owner: neither a Helm release nor an Application of Argo CD. The section AT RISK always stands in the report and says why it is empty. It never
changes the exit code.

--evidence names files that matrix run --from --evidence has written. Beside each safe, it says whether such a run has shown exactly that
move: the same criteria, versions and files of the charts. A run in which the move failed contradicts it, which ends with code 2. For a move
without a record it proposes one. A file never makes a verdict: anyone can write one, so read the run that it names.`,
		Example: `  aicr upgrade-check --from old-recipe.yaml --to new-recipe.yaml --deployer helm
  aicr upgrade-check --from ./bundles --deployer flux`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.scanSet = cmd.Flags().Changed("scan-cluster"); !f.scanSet {
				f.scan = f.from == fromCluster
			}
			return a.upgradeCheck(cmd.Context(), f)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.from, "from", "f", "", "`address` of the recipe that is deployed, or the directory of its bundle; or cluster, what --deployer has installed (required)")
	flags.StringVar(&f.to, "to", "", "`address` of the recipe to upgrade to, or the directory of its bundle (default: the criteria of --from, resolved now)")
	flags.StringVarP(&f.deployer, "deployer", "d", "", "deployer whose steps are shown: "+strings.Join(recipe.UpgradeDeployers(), ", ")+"; needed if there are steps")
	flags.StringArrayVar(&f.evidence, "evidence", nil, "`file` of matrix run --evidence, to compare with (repeatable)")
	flags.BoolVar(&f.scan, "scan-cluster", false, "list the objects in the cluster that the upgrade may remove and no deployer restores (default with --from cluster); the exit code does not count them")
	cli.ChartsFlag(cmd, &f.charts, "with --evidence: `source` of the charts whose files are compared: auto (upstream where the recipes have a charts.lock), upstream, or a directory; repeat it for a list. Simulated charts are not compared")
	flags.StringVar(&f.fromRecipes, "from-recipes-dir", "", "with --evidence: `directory` of the old recipe files, whose charts.lock has the old charts (default: that of the new ones)")
	flags.BoolVar(&f.failOnError, "fail-on-error", true, "end with code 2 if a component needs attention")
	flags.StringVarP(&f.output, "output", "o", "-", "`address` to write the report to: a file, cm://NAMESPACE/NAME, or - for standard output")
	flags.StringVarP(&f.format, "format", "t", "table", "output format: table, json or yaml")
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig `file` for cm:// addresses, --from cluster and --scan-cluster (default: KUBECONFIG, ~/.kube/config, or the pod's own cluster)")
	recipesFlags(cmd, &f.dirs)
	return cmd
}

func (a *app) upgradeCheck(ctx context.Context, f upgradeFlags) error {
	deployer, err := f.check()
	if err != nil {
		return err
	}
	store, err := a.openRecipes(f.dirs)
	if err != nil {
		return err
	}
	a.TellRead(store)
	from, to, called := (*recipe.Result)(nil), (*recipe.Result)(nil), f.to
	if f.from != fromCluster {
		if from, err = a.side(ctx, "--from", f.from, f.kubeconfig); err != nil {
			return err
		}
	}
	if f.to == "" {
		if to, err = resolveAgain(store, from); err != nil {
			return err
		}
		called = "the criteria of " + f.from + ", resolved with these recipe files"
	} else if to, err = a.side(ctx, "--to", f.to, f.kubeconfig); err != nil {
		return err
	}
	after, before := upgradecheck.Components(to), []recipe.UpgradeComponent(nil)
	var source *upgradecheck.Source
	if from != nil {
		before = upgradecheck.Components(from)
	} else if before, source, err = a.installed(ctx, f.kubeconfig, deployer, after, registered(store)); err != nil {
		return err
	}
	records, err := recordsFor(store, a.tellUnknown, before, after)
	if err != nil {
		return cli.WrapUsage(err)
	}
	rows := recipe.CompareUpgrades(before, after, records)
	if deployer == "" {
		for _, r := range rows {
			if r.Record != nil && r.Record.HasSteps() {
				return cli.Usagef("--deployer: the upgrade of %s needs steps, which are not the same for each deployer; name one of %s", r.Component, strings.Join(recipe.UpgradeDeployers(), ", "))
			}
		}
	}
	seen, err := a.openProofs(ctx, f, from, to, deployer)
	if err != nil {
		return err
	}
	report := newUpgradeReport(ctx, f.from, called, deployer, rows, seen)
	report.Source = source
	if report.AtRisk, err = a.scan(ctx, f, rows); err != nil {
		return err
	}
	data, err := report.print(f.format)
	if err != nil {
		return err
	}
	if err := a.places(f.kubeconfig).Write(ctx, "upgrade-check", f.output, f.format, data); err != nil {
		return err
	}
	if report.Summary.Failing > 0 && f.failOnError {
		return &cli.Reported{Err: cli.Usagef("%d components need attention", report.Summary.Failing)}
	}
	return nil
}

// fromCluster is the value of --from that stands for what is installed.
const fromCluster = "cluster"

// installed are the components that a deployer has installed, and what was read for it.
func (a *app) installed(ctx context.Context, kubeconfig, deployer string, wanted []recipe.UpgradeComponent, others []string) ([]recipe.UpgradeComponent, *upgradecheck.Source, error) {
	all, source, err := upgradecheck.Installed(ctx, upgradecheck.Cluster{
		Kube:    func() (kubernetes.Interface, error) { return a.client(kubeconfig) },
		Dynamic: func() (dynamic.Interface, error) { return a.dynamic(kubeconfig) },
	}, deployer, wanted, others)
	switch {
	case err == nil:
		return all, &source, nil
	case errors.Is(err, upgradecheck.ErrNone):
		err = cli.WrapUsage(httpstatus.With(http.StatusNotFound, fmt.Errorf("--from cluster: %s has installed none of the components; name the deployer that did with --deployer, or check the kubeconfig's cluster", deployer)))
	case errors.As(err, new(*upgradecheck.TwiceError)):
		err = cli.Usagef("--from cluster: %w; compare recipes or bundles, one for each", err)
	case apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err):
		err = httpstatus.With(http.StatusForbidden, fmt.Errorf("--from cluster: %w; it needs list on secrets (Helm, Flux), or on applications.argoproj.io", err))
	case apierrors.IsNotFound(err):
		err = cli.WrapUsage(httpstatus.With(http.StatusNotFound, fmt.Errorf("--from cluster: the cluster has no Applications of Argo CD: %w; name the deployer that installed the components with --deployer", err)))
	default:
		err = reason.New(reason.ClusterAccess, "--from cluster: %w; check the kubeconfig's server, the network and the login", err)
	}
	return nil, nil, err
}

// check refuses flags before anything is read, and gives the deployer by AICR's name.
func (f *upgradeFlags) check() (string, error) {
	switch {
	case f.from == "":
		return "", cli.Usagef("--from: name the recipe that is deployed, or the directory of its bundle")
	case f.from == fromCluster && (f.to == "" || f.deployer == ""):
		return "", cli.Usagef("--from cluster: a cluster does not say which recipe it is of, nor which deployer knows it; name --to and --deployer (a directory of that name is ./cluster)")
	case f.from == fromCluster && len(f.evidence) > 0:
		return "", cli.Usagef("--evidence is of one recipe's upgrade to another, and --from cluster is none; name the recipe that was deployed")
	case f.from == "-" && f.to == "-":
		return "", cli.Usagef("--from and --to cannot both be read from standard input")
	}
	if err := checkOutput("upgrade-check", f.output, f.format); err != nil {
		return "", err
	}
	name := f.deployer
	for _, end := range []string{"-oci", "-git"} { // as aicr bundle calls them
		name = strings.TrimSuffix(name, end)
	}
	if name != "" && !slices.Contains(recipe.UpgradeDeployers(), name) {
		return "", cli.Usagef("--deployer %q: want one of %s", f.deployer, strings.Join(recipe.UpgradeDeployers(), ", "))
	}
	return name, nil
}

// side reads a recipe, or that of a bundle.
func (a *app) side(ctx context.Context, flag, address, kubeconfig string) (*recipe.Result, error) {
	if info, err := os.Stat(address); err == nil && info.IsDir() {
		inside := filepath.Join(address, "recipe.yaml")
		if _, err := os.Stat(inside); errors.Is(err, fs.ErrNotExist) {
			return nil, cli.WrapUsage(httpstatus.With(http.StatusNotFound, fmt.Errorf("%s %s: it is a directory without recipe.yaml, so no bundle; name a recipe", flag, address)))
		}
		address = inside
	}
	data, called, err := a.places(kubeconfig).Read(ctx, "recipe", address)
	if err != nil {
		return nil, err
	}
	return a.readResult(called, data)
}

// resolveAgain is the recipe that the criteria of another one give now.
func resolveAgain(store *recipe.Store, of *recipe.Result) (*recipe.Result, error) {
	var selection recipe.ProfileSelection
	if p := of.Metadata.SelectedProfile; p != nil {
		selection = recipe.ProfileSelection{Name: p.Name, Value: p.Value}
	}
	result, err := store.ResolveWith(of.Criteria.Bare(), recipe.Choices{Profile: selection, Configuration: of.Configuration.Choice()})
	if err != nil {
		return nil, cli.Usagef("the criteria of --from cannot be resolved with these recipe files; name the other recipe with --to: %w", err)
	}
	return result, nil
}

// registered are the names of the components in the registry: a cluster may have others of them than a recipe.
func registered(store *recipe.Store) (names []string) {
	for _, e := range store.Entries() {
		names = append(names, e.Name)
	}
	return names
}

// mostRecord is the largest file of records that is read, in bytes.
const mostRecord = 1 << 20

// recordsFor reads the records of the components on both sides, and tells what of them is not known here.
func recordsFor(store *recipe.Store, tell func([]string), sides ...[]recipe.UpgradeComponent) (map[string]*recipe.UpgradeRecord, error) {
	files, display := store.FS()
	records := map[string]*recipe.UpgradeRecord{}
	var problems []error
	for _, e := range store.Entries() {
		used := slices.ContainsFunc(slices.Concat(sides...), func(c recipe.UpgradeComponent) bool { return c.Name == e.Name })
		if e.Upgrades == "" || !used {
			continue
		}
		data, err := filesys.FS(files, e.Upgrades, mostRecord)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: the records of component %s: %w", e.Origin, e.Name, err))
			continue
		}
		r, err := recipe.ReadUpgrades(display(e.Upgrades), e.Name, data)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		records[e.Name] = r
		tell(r.Unknown)
	}
	return records, errors.Join(problems...)
}
