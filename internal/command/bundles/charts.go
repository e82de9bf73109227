package bundles

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/nvidia/aicr-action/internal/charts"
	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// ChartsCommand is `matrix charts`.
func ChartsCommand(shared *cli.App) *cobra.Command {
	a := &app{App: shared}
	cmd := &cobra.Command{
		Use: "charts", Short: "Lock, verify, download and mirror the charts of the recipes", Args: cobra.NoArgs, RunE: cli.NeedSubcommand,
		Long: `Lock, verify and download the charts that recipes name, from their HTTP and OCI repositories. The lock file charts.lock in the recipes
directory contains the digest of each; matrix run --charts upstream rejects other bytes. Charts are kept by digest in the
cache directory, below charts/.

Logins are Helm's (helm repo add, helm registry login) and Docker's (docker login, credential helpers). HTTP_PROXY, HTTPS_PROXY
and NO_PROXY apply.`,
		Example: `  matrix charts lock
  matrix charts verify --upstream
  matrix charts mirror /tmp/charts-mirror`,
	}
	cmd.AddCommand(a.chartsLockCommand(), a.chartsVerifyCommand(), a.chartsPullCommand(), a.chartsMirrorCommand())
	return cmd
}

func (a *app) chartsLockCommand() *cobra.Command {
	var recipes cli.RecipeDirs
	var app, environment string
	cmd := &cobra.Command{
		Use: "lock [RECIPE...]", Short: "Download the charts of the recipes and write charts.lock",
		Long: `Download every chart of the recipes (default: all that set a service), and write where each is from and its digest to charts.lock
in the recipes directory. With recipes, the entries of others stay. A chart whose bytes are not those that the file has is
refused: remove its entry first, if that is meant.

With --app, the charts are those that an app names, and the file is in its directory. A range of versions is locked to the highest
one in it.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if app != "" {
				return a.lockApp(cmd.Context(), args, app, environment, recipes)
			}
			return a.lockCharts(cmd.Context(), args, recipes)
		},
	}
	cmd.Flags().StringVar(&app, "app", "", "lock the charts of what is at this `path`, as matrix run --app reads it, instead of recipes")
	cmd.Flags().StringVar(&environment, "environment", "", "with --app and a helmfile: its `environment` (default: default)")
	cli.RecipesFlags(cmd, &recipes)
	return cmd
}

// lockApp writes the lock of an app's charts.
func (a *app) lockApp(ctx context.Context, names []string, path, environment string, dirs cli.RecipeDirs) error {
	if len(names) > 0 || dirs.Recipes != "" || dirs.Data != "" {
		return cli.Usagef("charts lock --app %s needs no recipes; leave them out", path)
	}
	pins, err := appPins(ctx, path, environment)
	if err != nil {
		return err
	}
	return a.writeLock(ctx, AppDirectory(path), [][]charts.Pin{pins}, pins)
}

func (a *app) lockCharts(ctx context.Context, names []string, dirs cli.RecipeDirs) error {
	dir := a.RecipesDirectory(dirs.Recipes)
	if dir == "" {
		return cli.Usagef("the recipes in this binary cannot be locked, since the lock file is in the recipes directory; give --recipes-dir DIR")
	}
	wanted, all, err := a.recipePins(names, dirs)
	if err != nil {
		return err
	}
	return a.writeLock(ctx, dir, wanted, all)
}

// writeLock downloads the wanted charts and writes the lock file of a directory. Entries for the others
// of all stay.
func (a *app) writeLock(ctx context.Context, dir string, wanted [][]charts.Pin, all []charts.Pin) error {
	old, err := a.ChartLock(dir)
	var none *charts.NoLockError
	if errors.As(err, &none) {
		old, err = &charts.Lock{File: none.File}, nil
	}
	if err != nil {
		return err
	}
	fetcher, err := a.Fetcher()
	if err != nil {
		return err
	}
	var made *charts.Lock
	err = a.ChartTask(ctx, "Downloading charts", func(ctx context.Context, tell func(done, of int)) error {
		made, err = charts.Make(ctx, fetcher, a.ChartCache(), old, wanted, all, tell)
		return err
	})
	if err != nil {
		return err
	}
	if err := made.Write(filepath.Join(dir, charts.LockFile)); err != nil {
		return reason.Wrap(infra.DiskReason(err, reason.Usage), err)
	}
	return a.printCharts(made, "locked")
}

func (a *app) chartsVerifyCommand() *cobra.Command {
	var recipes cli.RecipeDirs
	var upstream bool
	cmd := &cobra.Command{
		Use: "verify", Short: "Check that charts.lock fits the recipes", Args: cobra.NoArgs,
		Long: `Check that charts.lock has every chart of every recipe that sets a service, and nothing else. Downloads nothing, except with
--upstream.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.verifyCharts(cmd.Context(), recipes, upstream) },
	}
	cmd.Flags().BoolVar(&upstream, "upstream", false, "also download every chart again, and compare its digest with the lock")
	cli.RecipesFlags(cmd, &recipes)
	return cmd
}

func (a *app) verifyCharts(ctx context.Context, dirs cli.RecipeDirs, upstream bool) error {
	lock, err := a.ChartLock(dirs.Recipes)
	if err != nil {
		return err
	}
	recipes, all, err := a.recipePins(nil, dirs)
	if err != nil {
		return err
	}
	if err := lock.Verify(recipes, all); err != nil {
		return err
	}
	if upstream {
		fetcher, err := a.Fetcher()
		if err != nil {
			return err
		}
		err = a.ChartTask(ctx, "Downloading charts", func(ctx context.Context, tell func(done, of int)) error {
			return lock.Again(ctx, fetcher, tell)
		})
		if err != nil {
			return err
		}
	}
	return a.printCharts(lock, "verified")
}

func (a *app) chartsPullCommand() *cobra.Command {
	var recipes cli.RecipeDirs
	cmd := &cobra.Command{
		Use: "pull [RECIPE...]", Short: "Download the charts of charts.lock that the cache lacks",
		Long: `Download what the cache lacks of the charts of the recipes (default: of all of charts.lock), by the lock. What comes after can run
without a network.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			lock, err := a.ChartLock(recipes.Recipes)
			if err != nil {
				return err
			}
			pins := [][]charts.Pin{lock.Pins()}
			if len(args) > 0 {
				if pins, _, err = a.recipePins(args, recipes); err != nil {
					return err
				}
			}
			if err := a.PullCharts(cmd.Context(), a.Upstream(lock, false), pins); err != nil {
				return err
			}
			return a.printCharts(lock.Of(slices.Concat(pins...)), "in the cache")
		},
	}
	cli.RecipesFlags(cmd, &recipes)
	return cmd
}

func (a *app) chartsMirrorCommand() *cobra.Command {
	var recipes cli.RecipeDirs
	cmd := &cobra.Command{
		Use: "mirror DIR", Short: "Write every chart of charts.lock to a directory, for --charts DIR", Args: cobra.ExactArgs(1),
		Long: `Write every chart of charts.lock to DIR, as NAME-VERSION.tgz, and download what the cache lacks. matrix run --charts DIR reads it
where the repositories cannot be reached. No file is replaced: one with other bytes is an error.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			lock, err := a.ChartLock(recipes.Recipes)
			if err != nil {
				return err
			}
			source := a.Upstream(lock, false)
			if err := a.PullCharts(cmd.Context(), source, [][]charts.Pin{lock.Pins()}); err != nil {
				return err
			}
			files, err := source.Mirror(cmd.Context(), args[0])
			if err != nil {
				return reason.Wrap(infra.DiskReason(err, reason.Usage), err)
			}
			for _, f := range files {
				if _, err := fmt.Fprintln(a.Stdout, filepath.Join(args[0], f)); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cli.RecipesFlags(cmd, &recipes)
	return cmd
}

// recipePins are the charts of each of the recipes, and those of all that set a service. Without
// names the recipes are all of these.
func (a *app) recipePins(names []string, dirs cli.RecipeDirs) (wanted [][]charts.Pin, all []charts.Pin, err error) {
	store, _, err := a.Recipes(dirs)
	if err != nil {
		return nil, nil, err
	}
	byName := map[string][]charts.Pin{}
	for _, name := range store.Names() {
		if o, ok := store.Overlay(name); !ok || !o.Testable() {
			continue
		}
		if byName[name], err = pinsOf(store, name); err != nil {
			return nil, nil, err
		}
		all = append(all, byName[name]...)
		if len(names) == 0 {
			wanted = append(wanted, byName[name])
		}
	}
	for _, name := range cli.SplitList(names) {
		pins, known := byName[name]
		if !known {
			if pins, err = pinsOf(store, name); err != nil {
				return nil, nil, err
			}
		}
		wanted = append(wanted, pins)
	}
	return wanted, all, nil
}

func pinsOf(store *recipe.Store, name string) ([]charts.Pin, error) {
	resolved, err := store.ResolveName(name)
	if err != nil {
		return nil, cli.WrapUsage(err)
	}
	components, err := store.WithoutKustomizations().Components(resolved) // which have no charts
	if err != nil {
		return nil, cli.WrapUsage(err)
	}
	return charts.Pins(components), nil
}

// printCharts lists a lock.
func (a *app) printCharts(lock *charts.Lock, what string) error {
	rows := [][]string{{"COMPONENT", "CHART", "VERSION", "REPOSITORY", "SIZE", "DIGEST"}}
	for _, e := range lock.Entries {
		rows = append(rows, []string{e.Component, e.Chart, e.Version, e.Repository, strconv.FormatInt(e.Size, 10), e.Digest})
	}
	_, err := io.WriteString(a.Stdout, cli.Inert(cli.Table(rows)+fmt.Sprintf("%s of %s: %s\n", lists.Count(len(lock.Entries), "chart"), lock.File, what)))
	return err
}
