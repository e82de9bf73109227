package foreign

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"
	"github.com/google/go-containerregistry/pkg/registry"
	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/foreign/command"
	"github.com/nvidia/aicr-action/internal/bundle/foreign/resolved"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/util/removal"
)

// defaultLimit is how long each command of an external CLI may take.
const defaultLimit = 2 * time.Minute

// versionLimit is how long it may take to say its version.
const versionLimit = 30 * time.Second

// known is the first version of AICR's CLI whose bundles and flags this package knows.
const known = "0.11.0"

// originalName is where the debug artifacts have the files that the CLI made; they are called by
// it, since the cell's directory goes away.
const originalName = "bundle-original"

// recipeName is the file of a resolved recipe.
const recipeName = "recipe.yaml"

// Exec makes bundles with AICR's own CLI, with the flags that AICR's own test harness gives it. It
// runs before the cell's cluster exists.
type Exec struct {
	// Limit is how long each command may take; 0 for defaultLimit.
	Limit time.Duration

	// Compared: the recipes that the runner reads are meant to be the CLI's own, so that what both
	// make of a recipe is compared.
	Compared bool

	cli     command.CLI
	data    string
	version string
}

// NewExec finds the CLI, by its path or by its name in PATH, and asks it for its version. data, if
// not empty, is the directory that its flag --data gets. Of the environment that lookup has, the
// CLI gets an allow-list.
func NewExec(ctx context.Context, path, data string, lookup func(string) (string, bool)) (*Exec, error) {
	if path == "" {
		return nil, errors.New("--bundler exec needs the CLI: pass --aicr PATH")
	}
	found, err := exec.LookPath(path)
	switch {
	case errors.Is(err, os.ErrNotExist) || errors.Is(err, exec.ErrNotFound):
		return nil, fmt.Errorf("--aicr %s: no such file; pass the path of AICR's CLI", path)
	case errors.Is(err, os.ErrPermission):
		return nil, fmt.Errorf("--aicr %s: not executable; run chmod +x, or pass the path of AICR's CLI", path)
	case err != nil:
		return nil, fmt.Errorf("--aicr %s: %w", path, err)
	}
	e := &Exec{cli: command.CLI{Lookup: lookup}}
	if e.cli.Path, err = filepath.Abs(found); err != nil {
		return nil, err
	}
	if data != "" {
		if e.data, err = filepath.Abs(data); err != nil {
			return nil, err
		}
	}
	e.version, err = e.cli.Version(ctx, versionLimit)
	return e, err
}

// Version is what the CLI calls itself, e.g. 0.11.2.
func (e *Exec) Version() string { return e.version }

// Bundle has the CLI resolve the recipe by the criteria in the input and bundle it, in a new
// directory dir, and reads what it wrote.
func (e *Exec) Bundle(ctx context.Context, d bundle.Deployer, in bundle.Input, dir string) (bundle.Input, *bundle.Bundle, []string, error) {
	fail := func(err error) (bundle.Input, *bundle.Bundle, []string, error) {
		return in, nil, nil, fmt.Errorf("%s bundle by AICR's CLI %s: %w", d.Name(), e.version, err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fail(err)
	}
	out, sets, err := e.make(ctx, d, in, dir)
	if err != nil {
		return fail(err)
	}
	if info, err := os.Lstat(out); err == nil && !info.IsDir() {
		return fail(fmt.Errorf("it made %s, which is %s and not a directory", out, kindOf(info.Mode())))
	}
	b, err := open(ctx, out, originalName, d)
	if err != nil {
		return fail(err)
	}
	if v, err := semver.NewVersion(e.version); err == nil && v.LessThan(semver.MustParse(known)) {
		b.warnings = append(b.warnings, fmt.Sprintf("AICR's CLI is version %s; the form of its bundles is known from %s on", e.version, known))
	}
	var differences []string
	if e.Compared {
		if differences, err = resolved.Compare(in.Recipe, filepath.Join(dir, recipeName)); err != nil {
			return fail(err)
		}
	}
	in, made, err := b.Make(ctx, in)
	if err != nil {
		return fail(err)
	}
	made.Foreign.Notes = differences
	made.Foreign.Original = slices.Collect(maps.Values(b.tree.original))
	for _, set := range sets {
		made.Expectation.Overrides = append(made.Expectation.Overrides, "bundler: --set "+set+", as AICR's KWOK tests pass it")
	}
	made.Foreign.Maker = "AICR's CLI " + e.version + " made it"
	notes := append(b.NotVerified(made), "bundler: AICR's CLI resolved the recipe from the criteria with its own recipes; of the recipes directory, only the criteria, the constraints and the node profile were used")
	return in, made, notes, nil
}

// make runs the CLI, and returns the directory of the bundle and the values that it passed with
// --set. For a deployer that pulls bundles, the CLI pushes to a registry that discards everything:
// only with such an output does the CLI write the form for a registry. It leaves a copy in a
// directory below its working directory, which is read.
func (e *Exec) make(ctx context.Context, d bundle.Deployer, in bundle.Input, dir string) (out string, sets []string, err error) {
	row, err := formOf(d)
	if err != nil {
		return "", nil, err
	}
	recipeFile, out := filepath.Join(dir, recipeName), filepath.Join(dir, "bundle")
	args := append([]string{"recipe"}, criteriaFlags(in.Recipe.Criteria)...)
	limit := cmp.Or(e.Limit, defaultLimit)
	said, err := e.cli.Run(ctx, limit, dir, nil, append(args, e.dataFlags("--output", recipeFile)...)...)
	if err != nil {
		return "", nil, err
	}
	if info, err := os.Lstat(recipeFile); err != nil || !info.Mode().IsRegular() {
		return "", nil, fmt.Errorf("%s recipe exited with 0 and did not write the file of --output, %s%s", e.cli.Path, recipeFile, said)
	}
	if sets, err = setsOf(recipeFile); err != nil {
		return "", nil, err
	}
	args = []string{"bundle", "--recipe", recipeFile}
	for _, set := range sets {
		args = append(args, "--set", set)
	}
	args = append(args, e.dataFlags(schedulingFlags(bundle.KwokScheduling())...)...)
	var ports []int
	switch {
	case row.cli == "":
		args = append(args, "--output", out)
	case row.dir:
		args = append(args, "--deployer", row.cli, "--output", out)
	default:
		host, port, stop, err := discardingRegistry()
		if err != nil {
			return "", nil, err
		}
		defer stop()
		ports = []int{port}
		args = append(args, "--deployer", row.cli, "--output", ociScheme+host+"/aicr/"+bundle.RecipeName(in.Recipe)+":"+in.TargetRevision, "--plain-http")
	}
	if row.repo {
		said, err = e.cli.Run(ctx, limit, dir, ports, append(slices.Clone(args), "--repo", in.RepoURL)...)
	}
	// The address in a registry can also come from --output, and not every version takes both.
	if !row.repo || err != nil && !row.dir && strings.Contains(said.String(), "repo") && removal.All(out) == nil {
		var again error
		if said, again = e.cli.Run(ctx, limit, dir, ports, args...); again == nil || !row.repo {
			err = again
		}
	}
	if err != nil {
		return "", nil, err
	}
	if ports != nil {
		out = leftIn(dir, out)
	}
	if entries, err := os.ReadDir(out); errors.Is(err, os.ErrNotExist) || err == nil && len(entries) == 0 {
		return "", nil, fmt.Errorf("%s bundle exited with 0 and wrote nothing to %s%s", e.cli.Path, out, said)
	}
	return out, sets, nil
}

// leftIn is the directory where the CLI left its copy of a bundle that it pushed: want, or the only
// one that it made, since the name is the CLI's.
func leftIn(dir, want string) string {
	if _, err := os.Lstat(want); err == nil {
		return want
	}
	entries, _ := os.ReadDir(dir) // an unreadable one has none
	var made []string
	for _, entry := range entries {
		if entry.IsDir() && entry.Name() != command.Home && !strings.HasPrefix(entry.Name(), ".") {
			made = append(made, filepath.Join(dir, entry.Name()))
		}
	}
	if len(made) == 1 {
		return made[0]
	}
	return want
}

func (e *Exec) dataFlags(args ...string) []string {
	if e.data != "" {
		args = append(args, "--data", e.data)
	}
	return args
}

// criteriaFlags are the criteria that are set.
func criteriaFlags(c recipe.Criteria) []string {
	var args []string
	add := func(flag, value string) {
		if value != "" && value != "any" {
			args = append(args, flag, value)
		}
	}
	add("--service", c.Service)
	add("--accelerator", c.Accelerator)
	add("--intent", c.Intent)
	add("--os", c.OS)
	add("--platform", c.Platform)
	if c.Nodes > 0 {
		add("--nodes", strconv.Itoa(c.Nodes))
	}
	return args
}

func schedulingFlags(s bundle.Scheduling) []string {
	var args []string
	add := func(kind string, selector map[string]string, tolerations []corev1.Toleration) {
		for k, v := range selector { // one each
			args = append(args, "--"+kind+"-node-selector", k+"="+v)
		}
		for _, t := range tolerations {
			args = append(args, "--"+kind+"-node-toleration", bundle.FormatToleration(t))
		}
	}
	add("system", s.SystemNodeSelector, s.SystemTolerations)
	add("accelerated", s.AcceleratedNodeSelector, s.AcceleratedTolerations)
	return args
}

// mostPushed is how much a CLI may push in one request, in bytes.
const mostPushed = 128 << 20

// discardingRegistry is an OCI registry on this machine, until stop is called.
func discardingRegistry() (host string, port int, stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", 0, nil, fmt.Errorf("a registry for AICR's CLI to push to: %w", err)
	}
	quiet := log.New(io.Discard, "", 0)
	s := &http.Server{Handler: http.MaxBytesHandler(registry.New(registry.Logger(quiet)), mostPushed), ReadHeaderTimeout: 10 * time.Second, ErrorLog: quiet}
	go func() { _ = s.Serve(l) }() // ends with Close
	return l.Addr().String(), l.Addr().(*net.TCPAddr).Port, func() { _ = s.Close() }, nil
}
