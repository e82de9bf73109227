package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/klog/v2"
	"sigs.k8s.io/yaml"

	aicraction "github.com/nvidia/aicr-action"
	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/reason"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/kwok"
)

// app is what all verbs share.
type app struct {
	getenv         func(string) string
	stdout, stderr io.Writer
	settingsFile   string
	verbose        bool

	ci ciFiles // of the verb run

	progress *progress
	settings settings
	paths    infra.Paths
	stack    *infra.Stack
	ports    *infra.Ports
}

// settings is .settings.yaml.
type settings struct {
	Go struct {
		Minimum string `json:"minimum"`
	} `json:"go"`
	Nodes struct {
		System      int `json:"system"`
		Accelerated int `json:"accelerated"`
	} `json:"nodes"`
	Registry struct {
		HostPort int `json:"hostPort"`
	} `json:"registry"`
	Cluster struct {
		Name string `json:"name"`
	} `json:"cluster"`
}

// nodeGroups are the nodes of every cluster.
func (s settings) nodeGroups() []infra.NodeGroup {
	return infra.DefaultNodeGroups(s.Nodes.System, s.Nodes.Accelerated)
}

func readSettings(raw []byte, name string) (settings, error) {
	var s settings
	if err := yaml.UnmarshalStrict(raw, &s); err != nil {
		return s, reason.New(reason.SettingsInvalid, "read %s: %w", name, err)
	}
	for _, field := range []struct {
		name  string
		empty bool
	}{
		{"go.minimum", s.Go.Minimum == ""}, {"nodes.system", s.Nodes.System <= 0}, {"nodes.accelerated", s.Nodes.Accelerated <= 0},
		{"registry.hostPort", s.Registry.HostPort <= 0}, {"cluster.name", s.Cluster.Name == ""},
	} {
		if field.empty {
			return s, reason.New(reason.SettingsInvalid, "%s: the field %s is missing or not positive", name, field.name)
		}
	}
	return s, nil
}

// run is the whole program but for the process: arguments in, exit code out.
func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	a := &app{getenv: getenv, stdout: stdout, stderr: stderr, progress: newProgress(stderr, getenv), ci: ciFiles{getenv: getenv}}
	root := a.rootCommand()
	root.SetArgs(args)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	a.progress.close()
	err = a.ci.end(err)
	var quiet *reported
	if err != nil && !errors.As(err, &quiet) {
		_, _ = fmt.Fprintf(stderr, "matrix: %s\n", err)
		if code := codeOf(err); code != 2 && code < 128 {
			_, _ = fmt.Fprintf(stderr, "exit code %d (%s); `matrix explain %d` says more\n", code, reason.Of(err), code)
		}
	}
	return codeOf(err)
}

// reported is an error that the user has read already, in the report.
type reported struct{ err error }

func (r *reported) Error() string { return r.err.Error() }
func (r *reported) Unwrap() error { return r.err }

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "matrix",
		Short: "Run AICR recipes through their deployers on a simulated GPU cluster",
		Long: `matrix runs AICR recipes through their deployers (helm, Argo CD, Flux) on a real Kubernetes control plane
whose nodes KWOK simulates, and says whether every pod landed where the recipe says it must.

Exit codes:
` + codesTable(),
		// Without these two cobra answers a verb that does not exist by itself, as an error without a code.
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("unknown verb %q; there are: %s", args[0], strings.Join(verbsOf(cmd), ", "))
			}
			return nil
		},
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceUsage:      true,
		SilenceErrors:     true,
		PersistentPreRunE: func(*cobra.Command, []string) error { return a.open() },
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usagef("%w; see `%s --help`", err, c.CommandPath())
	})
	root.PersistentFlags().StringVar(&a.settingsFile, "settings", "", "`file` with the pinned settings (default: the ones in the binary)")
	root.PersistentFlags().BoolVarP(&a.verbose, "verbose", "v", false, "log what the harness does to stderr")
	root.AddCommand(a.runCommand(), a.replayCommand(), a.clusterCommand(), a.nodesCommand(), a.stackCommand(), a.bundleCommand(), a.whyCommand(), a.explainCommand(), a.versionCommand())
	root.AddCommand(a.reportCommand(), a.mergeCommand())
	root.AddCommand(a.discoverCommand(), a.doctorCommand())
	root.SetOut(a.stdout) // cobra's completion commands keep the writer that they find now
	root.InitDefaultCompletionCmd()
	if err := a.addCompletions(root); err != nil {
		panic(err) // a flag that does not exist: a mistake in this program, found by any test
	}
	for _, c := range root.Commands() {
		usageErrors(c)
	}
	return root
}

// usageErrors makes a wrong number of arguments a usage error, in every verb.
func usageErrors(c *cobra.Command) {
	if check := c.Args; check != nil {
		c.Args = func(c *cobra.Command, args []string) error {
			if err := check(c, args); err != nil {
				return usagef("%w; see `%s --help`", err, c.CommandPath())
			}
			return nil
		}
	}
	for _, sub := range c.Commands() {
		usageErrors(sub)
	}
}

// open reads what every verb needs. It starts nothing.
func (a *app) open() error {
	level := slog.LevelError + 4 // silence: progress and reports are for people, --verbose is for us
	if a.verbose {
		level = slog.LevelDebug
	}
	log := slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: level}))
	slog.SetDefault(log)
	klog.SetSlogLogger(log) // client-go would write to stderr by itself
	raw, name := aicraction.Settings, ".settings.yaml"
	if file := firstOf(a.settingsFile, a.getenv("AICR_ACTION_SETTINGS")); file != "" {
		content, err := os.ReadFile(file)
		if err != nil {
			return reason.New(reason.SettingsInvalid, "read the settings: %w", err)
		}
		raw, name = content, file
	}
	var err error
	if a.settings, err = readSettings(raw, name); err != nil {
		return err
	}
	if a.paths, err = infra.DefaultPaths(a.getenv); err != nil {
		return err
	}
	a.ports = infra.NewPorts(a.paths.Ports())
	a.stack, err = infra.NewStack(a.paths, kwok.StackMod, kwok.StackSum)
	return err
}

func firstOf(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// recipes opens a recipes directory: the flag, AICR_ACTION_RECIPES_DIR, ./recipes, or the recipes in the binary. The second result
// is how results call it.
func (a *app) recipes(flag string) (*recipe.Store, string, error) {
	dir := a.recipesDirectory(flag)
	if dir == "" {
		fsys, err := fs.Sub(aicraction.Recipes, "recipes")
		if err != nil {
			return nil, "", err
		}
		store, err := recipe.Open(fsys, "recipes")
		return store, "the recipes in this binary", wrapUsage(err)
	}
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() {
		return nil, "", usagef("recipes directory %s: not a directory that can be read", dir)
	}
	store, err := recipe.Open(os.DirFS(dir), filepath.ToSlash(filepath.Clean(dir)))
	return store, dir, wrapUsage(err)
}

// recipesDirectory is where recipes reads them; empty for those in the binary.
func (a *app) recipesDirectory(flag string) string {
	dir := firstOf(flag, a.getenv("AICR_ACTION_RECIPES_DIR"))
	if dir == "" {
		if _, err := os.Stat(filepath.Join("recipes", "registry.yaml")); err == nil {
			dir = "recipes"
		}
	}
	return dir
}

func wrapUsage(err error) error {
	if err == nil {
		return nil
	}
	return reason.Wrap(reason.Usage, err)
}

// charts opens a chart source by the value of --charts.
func (a *app) charts(flag string) (bundle.ChartSource, error) {
	switch flag {
	case "simulated":
		fsys, err := fs.Sub(kwok.Files, "charts")
		if err != nil {
			return nil, err
		}
		return bundle.FromFS(fsys, "simulated"), nil
	case "":
		return nil, usagef("--charts is empty: want simulated, or a directory of charts")
	}
	source, err := bundle.FromDir(flag)
	if err != nil {
		return nil, reason.Wrap(reason.Usage, fmt.Errorf("--charts %s: want simulated, or a directory of charts: %w", flag, err))
	}
	return source, nil
}

func (a *app) profiles() ([]infra.Profile, error) { return infra.LoadProfiles(kwok.Files, "profiles") }

// clusterName is the name of a cluster, or the prefix of a run's: asked for (--name), else KWOK_CLUSTER, else the one in .settings.yaml. It
// becomes part of paths, so that it is checked as Kubernetes checks names.
func (a *app) clusterName(asked string) (string, error) {
	name := firstOf(asked, a.getenv("KWOK_CLUSTER"), a.settings.Cluster.Name)
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return "", usagef("cluster name %q: %s", name, strings.Join(problems, "; "))
	}
	return name, nil
}

// registryPort follows KWOK_REGISTRY_HOST_PORT; the second result says whether the user asked for it.
func (a *app) registryPort() (int, bool, error) {
	text := a.getenv("KWOK_REGISTRY_HOST_PORT")
	if text == "" {
		return a.settings.Registry.HostPort, false, nil
	}
	port, err := strconv.Atoi(text)
	if err != nil || port < 1 || port > 65535 {
		return 0, false, usagef("KWOK_REGISTRY_HOST_PORT=%q: want a port from 1 to 65535", text)
	}
	return port, true, nil
}

// splitList splits comma and newline separated lists, as the Action's inputs are.
func splitList(values []string) []string {
	var out []string
	for _, v := range values {
		for _, part := range strings.FieldsFunc(v, func(r rune) bool { return r == ',' || r == '\n' }) {
			if part = strings.TrimSpace(part); part != "" {
				out = append(out, part)
			}
		}
	}
	return out
}
