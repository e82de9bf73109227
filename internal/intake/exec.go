package intake

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/Masterminds/semver/v3"
	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/intake/aicrcli"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/util/filesys"
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

	// Recipes are those, if they are known as a whole: what each bundle is held against. Nil if not.
	Recipes Recipes

	// Args are those that the CLI gets besides.
	Args aicrcli.Args

	cli     aicrcli.CLI
	build   func(context.Context) (string, error) // makes the CLI; nil if it is there
	data    string
	version string
	asked   aicrcli.Answers // what the CLI has resolved, by the criteria, and that it was built
}

// NewBuiltExec is NewExec of a CLI that is built when the first bundle is asked for: one that cannot be is the fault of the
// recipes' checkout, and fails each cell.
func NewBuiltExec(build func(context.Context) (string, error), data string, lookup func(string) (string, bool)) (_ *Exec, err error) {
	e := &Exec{cli: aicrcli.CLI{Lookup: lookup, Hung: new(atomic.Int32)}, build: build}
	if data != "" {
		e.data, err = filepath.Abs(data)
	}
	return e, err
}

// ready builds the CLI, if it is not there.
func (e *Exec) ready(ctx context.Context) error {
	if e.build == nil {
		return nil
	}
	_, err := e.asked.Get(ctx, "", func() ([]byte, error) {
		path, err := e.build(ctx)
		if err != nil {
			return nil, err
		}
		e.cli.Path = path
		e.version, err = e.cli.Version(ctx, versionLimit)
		return nil, err
	})
	return err
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
		return nil, fmt.Errorf("--aicr %s: %w; pass the path of AICR's CLI, or build with the recipes of a checkout", path, err)
	}
	e := &Exec{cli: aicrcli.CLI{Lookup: lookup, Hung: new(atomic.Int32)}}
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
// directory dir, and reads what it wrote. Of a bundle that is not what the recipe promises, it returns the original
// files with the error, a *result.Failure.
func (e *Exec) Bundle(ctx context.Context, d bundle.Deployer, in bundle.Input, dir string) (bundle.Input, *bundle.Bundle, []string, error) {
	if err := e.ready(ctx); err != nil {
		return in, nil, nil, err
	}
	fail := func(err error) (bundle.Input, *bundle.Bundle, []string, error) {
		return in, nil, nil, fmt.Errorf("%s bundle by AICR's CLI %s: %w", d.Name(), e.version, err)
	}
	m, b, err := e.read(ctx, d, in, dir)
	if err != nil {
		return fail(err)
	}
	if v, err := semver.NewVersion(e.version); err == nil && v.LessThan(semver.MustParse(known)) {
		b.warnings = append(b.warnings, fmt.Sprintf("AICR's CLI is version %s; the form of its bundles is known from %s on", e.version, known))
	}
	var differences []string
	if e.Compared {
		if differences, err = compareResolved(in.Recipe, filepath.Join(dir, recipeName), m.recipe); err != nil {
			return fail(err)
		}
	}
	own := in
	promise, err := e.promised(ctx, b, in.Recipe.Metadata.Name, m)
	if err != nil {
		return fail(err)
	}
	findings, warnings := b.compare(promise)
	if len(findings) > 0 { // before it is rendered: what is lost may be what a chart fails for
		return in, &bundle.Bundle{Deployer: d.Name(), Foreign: &bundle.Foreign{Original: slices.Collect(maps.Values(b.tree.original))}}, nil, &result.Failure{Findings: findings}
	}
	in, made, err := b.Make(ctx, in)
	if err != nil {
		return fail(err)
	}
	made.Expectation.Warnings = append(made.Expectation.Warnings, warnings...)
	made.Foreign.Notes = differences
	made.Foreign.Original = slices.Collect(maps.Values(b.tree.original))
	for _, set := range m.sets {
		made.Expectation.Overrides = append(made.Expectation.Overrides, "bundler: --set "+set.Value+", as AICR's KWOK tests pass it")
	}
	for _, command := range []string{"recipe", "bundle"} {
		if more := e.Args.Of(own.Recipe.Metadata.Name, command); len(more) > 0 {
			made.Expectation.Overrides = append(made.Expectation.Overrides, "bundler: "+command+" "+strings.Join(more, " ")+", by --aicr-args")
		}
	}
	off, err := promise.switchedOff(ctx, own, made)
	if err != nil {
		return fail(err)
	}
	made.Foreign.Maker = "AICR's CLI " + e.version + " made it"
	notes := append(slices.Concat(b.NotVerified(made), promise.notes, off), "bundler: AICR's CLI resolved the recipe from the criteria with its own recipes; of the recipes directory, the criteria, the constraints and the node profile were used, and what the bundle was held against")
	return in, made, notes, nil
}

// promised is what the recipe that the CLI was given promises of the bundle. What the arguments of a user make of the values
// is not known.
func (e *Exec) promised(ctx context.Context, b *Bundle, name string, m made) (*promise, error) {
	recipes := e.Recipes
	if !e.Compared {
		recipes = nil // of another release than the CLI
	}
	return promised(ctx, m.recipe, func(line int) recipe.Origin { return b.tree.at(recipeName, line) }, recipes, m.sets, len(e.Args.Of(name, "bundle")) == 0)
}

// read has the CLI make a bundle, and reads it.
func (e *Exec) read(ctx context.Context, d bundle.Deployer, in bundle.Input, dir string) (made, *Bundle, error) {
	m, err := e.make(ctx, d, in, dir)
	if err != nil {
		return m, nil, err
	}
	if info, err := os.Lstat(m.dir); err == nil && !info.IsDir() {
		return m, nil, fmt.Errorf("it made %s, which is %s and not a directory", m.dir, kindOf(info.Mode()))
	}
	if m.recipe, err = filesys.Regular(filepath.Join(dir, recipeName), mostFile); err != nil {
		return m, nil, err
	}
	b, err := open(ctx, m.dir, originalName, d, m.recipe)
	return m, b, err
}

// resolve has the CLI resolve the recipe by the criteria and the profile in the input, to the file recipe.yaml in a
// directory, and returns what is in it. The CLI is asked once for all lanes of a recipe, and for the
// recipes that it resolves alike.
func (e *Exec) resolve(ctx context.Context, in bundle.Input, dir string) ([]byte, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	file := filepath.Join(dir, recipeName)
	criteria := criteriaFlags(in.Recipe.Criteria)
	if p := in.Recipe.Metadata.SelectedProfile; p != nil {
		criteria = append(criteria, "--profile", p.Name+"="+p.Value)
	}
	criteria = append(criteria, e.Args.Of(in.Recipe.Metadata.Name, "recipe")...)
	text, err := e.asked.Get(ctx, "recipe "+strings.Join(criteria, "\x00"), func() ([]byte, error) {
		said, err := e.cli.Run(ctx, cmp.Or(e.Limit, defaultLimit), dir, nil, append(append([]string{"recipe"}, criteria...), e.dataFlags("--output", file)...)...)
		if err != nil {
			return nil, err
		}
		if info, err := os.Lstat(file); err != nil || !info.Mode().IsRegular() {
			return nil, fmt.Errorf("%s recipe exited with 0 and did not write the file of --output, %s%s", e.cli.Path, file, said)
		}
		return filesys.File(file, mostFile)
	})
	if err != nil {
		return nil, err
	}
	if err := resolvedApplied(in.Recipe, criteria, text); err != nil {
		return nil, err
	}
	return text, os.WriteFile(file, text, 0o644)
}

// made is what the CLI has made.
type made struct {
	dir    string            // of the bundle
	recipe []byte            // the resolved recipe, as it left it
	sets   []aicrcli.KWOKSet // what it was told to set
	host   string            // of the registry that it has pushed to; empty if it pushed nothing
}

// make runs the CLI. For a deployer that pulls bundles, the CLI pushes to a registry that discards
// everything: only with such an output does the CLI write the form for a registry. It leaves a copy
// in a directory below its working directory, which is read; else what it pushed is.
func (e *Exec) make(ctx context.Context, d bundle.Deployer, in bundle.Input, dir string) (m made, err error) {
	row, err := formOf(d)
	if err != nil {
		return m, err
	}
	recipe, err := e.resolve(ctx, in, dir)
	if err != nil {
		return m, err
	}
	if m.sets, err = aicrcli.KWOKSets(filepath.Join(dir, recipeName), recipe); err != nil {
		return m, err
	}
	m.dir = filepath.Join(dir, "bundle")
	limit := cmp.Or(e.Limit, defaultLimit)
	args := []string{"bundle", "--recipe", filepath.Join(dir, recipeName)}
	for _, set := range m.sets {
		args = append(args, "--set", set.Value)
	}
	args = append(args, e.dataFlags(schedulingFlags(bundle.KwokScheduling())...)...)
	args = append(args, e.Args.Of(in.Recipe.Metadata.Name, "bundle")...)
	var ports []int
	switch {
	case row.cli == "":
		args = append(args, "--output", m.dir)
	case row.dir:
		args = append(args, "--deployer", row.cli, "--output", m.dir)
	default:
		var stop func()
		ports = []int{0}
		if m.host, ports[0], stop, err = aicrcli.PushRegistry(); err != nil {
			return m, err
		}
		defer stop()
		args = append(args, "--deployer", row.cli, "--output", ociScheme+m.host+"/aicr/"+bundle.RecipeName(in.Recipe)+":"+in.TargetRevision, "--plain-http")
	}
	var said aicrcli.Said
	if row.repo {
		said, err = e.cli.Run(ctx, limit, dir, ports, append(slices.Clone(args), "--repo", in.RepoURL)...)
	}
	// The address in a registry can also come from --output, and not every version takes both.
	if !row.repo || err != nil && !row.dir && strings.Contains(said.String(), "repo") && filesys.RemoveTree(m.dir) == nil {
		var again error
		if said, again = e.cli.Run(ctx, limit, dir, ports, args...); again == nil || !row.repo {
			err = again
		}
	}
	if err != nil {
		return m, err
	}
	if ports != nil {
		left := aicrcli.LeftIn(dir, m.dir, aicrcli.Home)
		if m.dir = cmp.Or(left, m.dir); left == "" {
			if err := aicrcli.UnpackPushed(ctx, m.host, in.TargetRevision, m.dir, aicrcli.PushLimits{Files: mostFiles, Bytes: mostBytes}); err != nil {
				return m, fmt.Errorf("%s bundle exited with 0 and left no copy of what it pushed in %s, and what it pushed cannot be read: %w%s", e.cli.Path, dir, err, said)
			}
		}
	}
	if entries, err := os.ReadDir(m.dir); errors.Is(err, os.ErrNotExist) || err == nil && len(entries) == 0 {
		return m, fmt.Errorf("%s bundle exited with 0 and wrote nothing to %s%s", e.cli.Path, m.dir, said)
	}
	return m, nil
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
