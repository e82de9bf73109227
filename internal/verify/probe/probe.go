// Package probe runs the jobs that a user of a recipe would run, and says whether they are placed.
// What the jobs are, and which recipes they are for, is data: recipes/probes. The package knows
// clusters and recipes; it must not know cells, lanes or how a report is written.
package probe

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/util/filesys"
	"github.com/nvidia/aicr-action/internal/util/texttemplate"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
	"go.yaml.in/yaml/v3"
)

// dir is the place of probes in a recipes directory.
const dir = "probes"

// maxFile is the largest file of a probe, in bytes.
const maxFile = 1 << 20

// defaultTimeout is how long the pods of a probe may take to get their nodes.
const defaultTimeout = 2 * time.Minute

// Probe is one file of recipes/probes.
type Probe struct {
	Name string
	// File is its path as a person can open it, Line that of its objects' first line in it.
	File string
	Line int
	// Spec is what the file says.
	Spec Spec
	// Content is the file's.
	Content string

	objects, pods texttemplate.Template
}

// Spec is the spec of a probe's file.
type Spec struct {
	// Description is one line: what a user would do.
	Description string `yaml:"description"`
	// Components must all be in a recipe, and Without must not, for the probe to be for it; without
	// both it is for every recipe.
	Components []string `yaml:"components"`
	Without    []string `yaml:"without"`
	// Criteria must be the recipe's: service, accelerator, intent, os, platform.
	Criteria map[string]string `yaml:"criteria"`
	// Scheduler must place the pods. Default: default-scheduler.
	Scheduler string `yaml:"scheduler"`
	// Pods is a Go template of how many pods must have a node at the same time; 0: the objects only
	// have to be accepted by the API server.
	Pods string `yaml:"pods"`
	// Timeout is how long that may take, e.g. 30s. Default: 2m.
	Timeout string `yaml:"timeout"`
	// Objects is a Go template of YAML documents; Values are its values.
	Objects string `yaml:"objects"`

	timeout time.Duration
}

// Values are what a probe's templates know of the cluster that the recipe is for.
type Values struct {
	// Namespace is the one that the run makes for its probes.
	Namespace string
	// Nodes is how many nodes have GPUs, GPUs how many they have together, GPUsPerNode how many the
	// one with the fewest has.
	Nodes, GPUs, GPUsPerNode int
}

// document is a file of recipes/probes.
type document struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	Metadata   struct {
		Name string `yaml:"name"`
	} `yaml:"metadata"`
	Spec Spec `yaml:"spec"`
}

// Load reads the probes of a recipes directory, sorted by file name. A directory without any has
// those of this program: AICR's own has none. Each mistake is an error with file and line.
func Load(s *recipe.Store) ([]*Probe, error) {
	fsys, display := s.FS()
	if _, err := fs.Stat(fsys, dir); errors.Is(err, fs.ErrNotExist) {
		shipped, err := fs.Sub(aicraction.Recipes, "recipes")
		if err != nil {
			return nil, err
		}
		fsys, display = shipped, func(name string) string { return path.Join("recipes", name) }
	}
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		return nil, fmt.Errorf("read the probes in %s: %w", display(dir), err)
	}
	var all []*Probe
	var found []error
	with := &texttemplate.Renderer{}
	defer with.Close()
	for _, e := range entries {
		if e.IsDir() || !strings.HasSuffix(e.Name(), ".yaml") {
			continue
		}
		name := path.Join(dir, e.Name())
		raw, err := filesys.FS(fsys, name, maxFile)
		if err != nil {
			found = append(found, fmt.Errorf("read the probe %s: %w", display(name), err))
			continue
		}
		p, err := parse(display(name), raw, with)
		if err != nil {
			found = append(found, err)
			continue
		}
		all = append(all, p)
	}
	return all, errors.Join(found...)
}

// parseFile reads one file. Its templates are tried with values, so that what cannot be rendered is an
// error here.
func parseFile(file string, raw []byte) (*Probe, error) {
	with := &texttemplate.Renderer{}
	defer with.Close()
	return parse(file, raw, with)
}

func parse(file string, raw []byte, with *texttemplate.Renderer) (*Probe, error) {
	at := func(line int, format string, args ...any) error {
		return &recipe.FileError{File: file, Line: line, Err: fmt.Errorf(format, args...)}
	}
	docs, err := yamlx.Documents(raw)
	if err == nil && len(docs) != 1 {
		return nil, at(1, "a probe is one YAML document; got %d", len(docs))
	}
	var d document
	if err == nil {
		err = yamlx.DecodeStrict(raw, &d)
	}
	if err != nil {
		p := yamlx.Problems(err)[0]
		return nil, at(p.Line, "%s", p.Text)
	}
	line := func(keys ...string) int { return lineOf(docs[0], keys...) }
	p := &Probe{Name: d.Metadata.Name, File: file, Line: line("spec", "objects") + 1, Spec: d.Spec, Content: string(raw)}
	s := &p.Spec
	if s.Scheduler == "" {
		s.Scheduler = corev1.DefaultSchedulerName
	}
	switch {
	case d.APIVersion != "aicr.nvidia.com/v1alpha1" || d.Kind != "Probe":
		return nil, at(1, "want apiVersion aicr.nvidia.com/v1alpha1 and kind Probe; got %q and %q", d.APIVersion, d.Kind)
	case p.Name == "":
		return nil, at(1, "metadata.name is missing")
	case s.Description == "" || strings.Contains(s.Description, "\n"):
		return nil, at(line("spec"), "spec.description: want one line on what a user of the recipe would do")
	case s.Pods == "":
		return nil, at(line("spec"), "spec.pods is missing: how many pods must have a node, or \"0\" if the objects only have to be accepted")
	case s.Objects == "":
		return nil, at(line("spec"), "spec.objects is missing: the probe would check nothing")
	}
	for name := range s.Criteria {
		if _, ok := criterion(recipe.Criteria{}, name); !ok {
			return nil, at(line("spec", "criteria", name), "spec.criteria: there is no %q; want service, accelerator, intent, os or platform", name)
		}
	}
	if s.timeout = defaultTimeout; s.Timeout != "" {
		if s.timeout, err = time.ParseDuration(s.Timeout); err != nil || s.timeout <= 0 {
			return nil, at(line("spec", "timeout"), "spec.timeout %q: want a time such as 30s", s.Timeout)
		}
	}
	for _, t := range []struct {
		key, text string
		to        *texttemplate.Template
	}{{"objects", s.Objects, &p.objects}, {"pods", s.Pods, &p.pods}} {
		*t.to = texttemplate.Template{Name: t.key, Text: t.text, Strict: true, Arithmetic: true, Most: mostText}
		if _, err := t.to.Parse(); err != nil {
			return nil, at(line("spec", t.key), "spec.%s: %w", t.key, err)
		}
	}
	if _, _, err := p.render(context.Background(), with, Values{Namespace: Namespace, Nodes: 2, GPUs: 16, GPUsPerNode: 8}); err != nil {
		return nil, err
	}
	return p, nil
}

// lineOf is the line of the value below these keys, or of the last one that exists.
func lineOf(n *yaml.Node, keys ...string) int {
	if n.Kind == yaml.DocumentNode {
		n = n.Content[0]
	}
	line := n.Line
	for _, key := range keys {
		i := 0
		for ; i+1 < len(n.Content) && n.Content[i].Value != key; i += 2 {
		}
		if n.Kind != yaml.MappingNode || i+1 >= len(n.Content) {
			return line
		}
		line, n = n.Content[i].Line, n.Content[i+1]
	}
	return line
}

// criterion is one criterion of a recipe by its name, or false for an unknown name.
func criterion(c recipe.Criteria, name string) (string, bool) {
	switch name {
	case "service":
		return c.Service, true
	case "accelerator":
		return c.Accelerator, true
	case "intent":
		return c.Intent, true
	case "os":
		return c.OS, true
	case "platform":
		return c.Platform, true
	}
	return "", false
}

// For are the probes for a recipe.
func For(all []*Probe, r *recipe.Result) []*Probe {
	has := func(name string) bool {
		return slices.ContainsFunc(r.ComponentRefs, func(c recipe.ComponentRef) bool { return c.Name == name })
	}
	var mine []*Probe
	for _, p := range all {
		if p.isFor(r.Criteria, has) {
			mine = append(mine, p)
		}
	}
	return mine
}

func (p *Probe) isFor(criteria recipe.Criteria, has func(string) bool) bool {
	if slices.ContainsFunc(p.Spec.Without, has) || slices.ContainsFunc(p.Spec.Components, func(name string) bool { return !has(name) }) {
		return false
	}
	for name, want := range p.Spec.Criteria {
		if have, _ := criterion(criteria, name); have != want {
			return false
		}
	}
	return true
}
