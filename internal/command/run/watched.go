package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

const watchFlag = "watch"

// runWatched runs the same command line, without --watch, after each change of a file that it uses,
// until a signal ends it. Each run is a process of its own, so that one that is cancelled ends as
// after a signal.
func (a *app) runWatched(cmd *cobra.Command, args []string, f runFlags) error {
	switch {
	case f.keep:
		return cli.Usagef("--keep and --%s exclude each other: each run would leave its clusters", watchFlag)
	case f.reports.progress == "json":
		return cli.Usagef("--progress json and --%s exclude each other: the events are those of one run", watchFlag)
	}
	w := watched{app: a, args: args, flags: f}
	roots := w.roots()
	if len(roots) == 0 {
		return cli.Usagef("--%s has no file to watch: the recipes and charts in this binary do not change; give --recipes-dir DIR, --charts DIR or --app PATH", watchFlag)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	line := commandLine(cmd, args)
	loop := watchLoop{
		Roots: roots, State: w.state,
		Run:  func(ctx context.Context) int { return a.runOnce(ctx, self, line) },
		Tell: func(text string) { _, _ = fmt.Fprintf(a.Stderr, "\n%s\n", text) },
	}
	a.Progress.Close() // the runs have their own
	code, ended := loop.Do(cmd.Context())
	switch {
	case !ended:
		return &cli.Reported{Err: context.Cause(cmd.Context())}
	case code == 0:
		return nil
	}
	for _, row := range reason.Table() {
		if row.Code == code {
			return &cli.Reported{Err: &reason.Error{Reason: row.Reason, Err: errors.New("the last run failed")}}
		}
	}
	return &cli.Reported{Err: fmt.Errorf("the last run exited with %d", code)}
}

// runOnce starts one run, in a process group of its own: Ctrl-C reaches this process only, which
// passes on one signal. A second one would end the run without its cleanup.
func (a *app) runOnce(ctx context.Context, self string, line []string) int {
	run := exec.CommandContext(ctx, self, line...)
	run.Stdout, run.Stderr = os.Stdout, os.Stderr // and no pipe: it may be a terminal
	run.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	run.Cancel = func() error { return run.Process.Signal(syscall.SIGINT) }
	run.WaitDelay = 3 * time.Minute // longer than a run takes to save the debug artifacts
	err := run.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() > 0:
		return exit.ExitCode()
	case err != nil:
		_, _ = fmt.Fprintf(a.Stderr, "start %s again: %v\n", self, err)
		return reason.Internal.Code()
	}
	return 0
}

// commandLine is a command with the flags that were given, except for --watch.
func commandLine(cmd *cobra.Command, args []string) []string {
	line := strings.Fields(strings.TrimPrefix(cmd.CommandPath(), cmd.Root().CommandPath())) // without the program
	cmd.Flags().Visit(func(f *pflag.Flag) {
		switch list, isList := f.Value.(pflag.SliceValue); {
		case f.Name == watchFlag:
		case isList:
			for _, value := range list.GetSlice() {
				line = append(line, "--"+f.Name+"="+value)
			}
		default:
			line = append(line, "--"+f.Name+"="+f.Value.String())
		}
	})
	return slices.Concat(line, []string{"--"}, args)
}

// watched knows which files a run uses.
type watched struct {
	app   *app
	args  []string
	flags runFlags
}

// roots are the directories and files of which a run can use something.
func (w watched) roots() []string {
	f := &w.flags
	all := []string{w.app.RecipesDirectory(f.recipes.Recipes), w.app.DataDirectory(f.recipes.Data), f.profiles, f.bundles.dir, f.bundles.app, f.chaos, w.app.SettingsFile}
	if f.bundles.app != "" || f.bundles.dir != "" {
		all[0] = f.recipes.Recipes
	}
	all = append(all, f.bundles.values...)
	all = append(all, w.chartDirs()...)
	return slices.DeleteFunc(all, func(path string) bool { return path == "" })
}

func (w watched) chartDirs() []string {
	return slices.DeleteFunc(cli.SplitList(w.flags.charts), func(source string) bool {
		info, err := os.Stat(source)
		return slices.Contains(cli.ChartSources(), source) || err != nil || !info.IsDir()
	})
}

// state stands for the content of what the run uses: of the recipes that it names their own files
// and their charts, and of everything where that cannot be told, e.g. while a file has an error.
func (w watched) state() string {
	files, charts, err := w.used()
	if err != nil {
		return watchDigest(w.roots())
	}
	recipes, data := w.app.RecipesDirectory(w.flags.recipes.Recipes), w.app.DataDirectory(w.flags.recipes.Data)
	var paths []string
	for _, root := range w.roots() {
		switch {
		case root == recipes || root == data:
			for _, file := range files {
				paths = append(paths, filepath.Join(root, filepath.FromSlash(file)))
			}
		case slices.Contains(w.chartDirs(), root):
			paths = append(paths, chartsNamed(root, charts)...)
		default:
			paths = append(paths, root)
		}
	}
	return watchDigest(paths)
}

// used lists the files of the recipes, by their names in the recipes directory, and the names of
// their charts.
func (w watched) used() (files, charts []string, err error) {
	if len(w.args) == 0 {
		return nil, nil, errors.New("the recipes are not named")
	}
	store, _, err := w.app.Recipes(w.flags.recipes)
	if err != nil {
		return nil, nil, err
	}
	files = []string{"registry.yaml", "charts.lock"}
	for _, name := range w.args {
		inputs, err := store.Inputs(name)
		if err != nil {
			return nil, nil, err
		}
		for _, in := range inputs {
			files = append(files, in.Path)
		}
		resolved, err := store.ResolveName(name)
		if err != nil {
			return nil, nil, err
		}
		for _, ref := range resolved.ComponentRefs {
			charts = append(charts, ref.Name, ref.Chart)
		}
	}
	return files, charts, nil
}

var chartName = regexp.MustCompile(`(?m)^name:\s*["']?([^\s"'#]+)`)

// chartsNamed are the charts of a directory whose name, or that of their directory or archive,
// is one of these.
func chartsNamed(dir string, names []string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return []string{dir}
	}
	var found []string
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		meta, _ := os.ReadFile(filepath.Join(path, "Chart.yaml"))
		name := chartName.FindStringSubmatch(string(meta))
		if slices.ContainsFunc(names, func(want string) bool {
			return want != "" && (e.Name() == want || strings.HasPrefix(e.Name(), want+"-") || name != nil && name[1] == want)
		}) {
			found = append(found, path)
		}
	}
	return found
}
