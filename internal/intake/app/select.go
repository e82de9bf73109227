package app

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/bundle/fluxapi"
	"github.com/nvidia/aicr-action/internal/util/lists"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// selection is which of a repository's apps are delivered (--select); all of them without a pattern. A pattern is NAME, KIND/NAME or
// namespace=NAMESPACE, with * for any text in a name.
type selection struct {
	patterns []string
	hit      map[string]bool // patterns that selected something
	had      map[string]bool // KIND/NAME of all apps
	left     int
	changed  []string // names of apps that have changed, which alone are selected; nil for all
	without  []string // names of apps that cannot be delivered, and are left out whatever is selected
}

// some: not all apps are delivered.
func (s *selection) some() bool { return len(s.patterns)+len(s.without) > 0 || s.changed != nil }

// hasChanged reports whether an app has changed, where that counts.
func (s *selection) hasChanged(name string) bool {
	return s.changed == nil || slices.Contains(s.changed, name)
}

// lacks reports whether an app cannot be delivered.
func (s *selection) lacks(name string) bool { return slices.Contains(s.without, name) }

func newSelection(patterns []string) *selection {
	return &selection{patterns: patterns, hit: map[string]bool{}, had: map[string]bool{}}
}

// takes reports whether an app is delivered.
func (s *selection) takes(kind, name, namespace string) bool {
	if len(s.patterns) == 0 {
		return true
	}
	s.had[kind+"/"+name] = true
	found := false
	for _, p := range s.patterns {
		if in, ok := strings.CutPrefix(p, "namespace="); ok && matches(in, namespace) || !ok && (matches(p, name) || matches(p, kind+"/"+name)) {
			s.hit[p], found = true, true
		}
	}
	return found
}

func matches(pattern, text string) bool {
	before, after, ok := strings.Cut(pattern, "*")
	if !ok {
		return pattern == text
	}
	return len(text) >= len(before)+len(after) && strings.HasPrefix(text, before) && strings.HasSuffix(text, after)
}

// check is an error if a pattern has selected nothing.
func (s *selection) check() error {
	for _, p := range s.patterns {
		if s.hit[p] {
			continue
		}
		names := slices.Sorted(maps.Keys(s.had))
		near := ""
		if n := lists.Nearest(p, append(names, shortNames(names)...)); n != "" {
			near = fmt.Sprintf("; did you mean %s?", n)
		}
		return fmt.Errorf("--select %s: no app of this path is selected by it%s; there are: %s", p, near, strings.Join(lists.AtMost(names, 20), ", "))
	}
	return nil
}

func shortNames(names []string) (short []string) {
	for _, n := range names {
		_, name, _ := strings.Cut(n, "/")
		short = append(short, name)
	}
	return short
}

// chosen leaves the HelmReleases that are selected, and those that they depend on.
func (f *fluxApp) chosen() {
	if !f.selects.some() {
		return
	}
	releases := map[string]object{}
	var next []string
	for _, o := range f.objects {
		if o.Kind() != kindRelease || o.Group() != groupHelm {
			continue
		}
		releases[o.Name()] = o
		kind := kindRelease
		if f.packed[o.Node] {
			kind = kindKustomization
		}
		target := yamlx.Text(o.Node, "spec", "targetNamespace")
		if target == "" {
			target = f.namespaceOf(o)
		}
		_, kustomization, _ := strings.Cut(f.within[o.Node], "/")
		// A Kustomization stands for all that it applies.
		selected := f.selects.takes(kind, f.calledAs(o), target) || kustomization != "" && f.selects.takes(kindKustomization, kustomization, target)
		if selected && f.selects.hasChanged(o.Name()) {
			next = append(next, o.Name())
		}
	}
	keep := map[string]bool{}
	for len(next) > 0 {
		name := next[0]
		o, ok := releases[name]
		if next = next[1:]; !ok || keep[name] {
			continue
		}
		keep[name] = true
		next = append(next, f.graph.Before(f.within[o.Node])...)
		for _, d := range fluxapi.DependsOn(o.Node) {
			_, short, ok := strings.Cut(d, "/")
			if !ok {
				short = d
			}
			next = append(next, short)
		}
	}
	f.selects.left = len(releases) - len(keep)
	for _, name := range f.selects.without {
		delete(keep, name)
	}
	for key, of := range f.of {
		f.of[key] = slices.DeleteFunc(slices.Clone(of), func(name string) bool { return !keep[name] })
	}
	f.notChosen = map[string]bool{}
	for name, o := range releases {
		f.notChosen[f.calledAs(o)] = f.notChosen[f.calledAs(o)] || !keep[name]
	}
	f.objects = slices.DeleteFunc(f.objects, func(o object) bool {
		return o.Kind() == kindRelease && o.Group() == groupHelm && !keep[o.Name()]
	})
}

// withoutOthers drops the needs of a helmfile's release that name releases which are not selected.
func (s *selection) withoutOthers(release *yamlv3.Node, delivered func(need string) bool) {
	if list := yamlx.Find(release, "needs"); list != nil && s.some() {
		list.Content = slices.DeleteFunc(list.Content, func(n *yamlv3.Node) bool { return !delivered(n.Value) })
	}
}
