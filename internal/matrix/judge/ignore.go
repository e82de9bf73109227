package judge

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// IgnoreFile is the file of a repository with what is ignored in it.
const IgnoreFile = ".aicr-checks.yaml"

// IgnoreList is the file.
type IgnoreList struct {
	Ignore []Ignore `yaml:"ignore"`
}

// Ignore is one entry: a check, and the object for which it is ignored.
type Ignore struct {
	Check string `yaml:"check" jsonschema:"required"`
	// Object is Kind/namespace/name or, of a cluster-scoped kind, Kind/name; * stands for any name or namespace.
	// Empty: every object, which a check that makes cells fail does not allow.
	Object string `yaml:"object,omitempty"`
	// Recipe, if set, is the only one for which it counts.
	Recipe string `yaml:"recipe,omitempty"`
	Reason string `yaml:"reason" jsonschema:"required"`

	// place is FILE:LINE, or the flag, and stage the check's last.
	place string
	stage Stage
}

// Ignores are the entries of a run, and how often each was used. Nil has none.
type Ignores struct {
	entries []Ignore
	mu      sync.Mutex
	used    []int
}

// NewIgnores reads the entries of flags, each ID or ID=KIND/NAMESPACE/NAME, and of a file. A file that does not exist is
// an error only if it is required. The checks are those of the list.
func NewIgnores(list []Check, flags []string, file string, required bool) (*Ignores, error) {
	all := &Ignores{}
	for _, f := range flags {
		id, object, _ := strings.Cut(f, "=")
		all.entries = append(all.entries, Ignore{Check: id, Object: object, Reason: "--ignore", place: "--ignore " + f})
	}
	if file != "" {
		entries, err := readIgnores(file)
		if err != nil && (required || !errors.Is(err, fs.ErrNotExist)) {
			return nil, err
		}
		all.entries = append(all.entries, entries...)
	}
	for i := range all.entries {
		if err := all.entries[i].settle(list); err != nil {
			return nil, err
		}
	}
	all.used = make([]int, len(all.entries))
	return all, nil
}

func readIgnores(file string) ([]Ignore, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the list of ignored checks: %w", err)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(raw, &doc); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(doc.Content) == 0 {
		return nil, nil // empty, or comments only
	}
	list, err := field(file, doc.Content[0], []string{"ignore"}, "ignore")
	if err != nil || list == nil {
		return nil, err
	}
	if list.Kind != yaml.SequenceNode {
		return nil, fmt.Errorf("%s:%d: ignore: want a list", file, list.Line)
	}
	var all []Ignore
	for _, item := range list.Content {
		if _, err := field(file, item, []string{"check", "object", "recipe", "reason"}, ""); err != nil {
			return nil, err
		}
		var entry Ignore
		if err := item.Decode(&entry); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, item.Line, err)
		}
		if entry.place = fmt.Sprintf("%s:%d", file, item.Line); strings.TrimSpace(entry.Reason) == "" {
			return nil, fmt.Errorf("%s: the entry for %s has no reason: say why it may be ignored", entry.place, entry.Check)
		}
		all = append(all, entry)
	}
	return all, nil
}

// field is a field of a mapping that has no others than known ones; nil if it is not there.
func field(file string, n *yaml.Node, known []string, name string) (found *yaml.Node, err error) {
	if n.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%s:%d: want a mapping with %s", file, n.Line, strings.Join(known, ", "))
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if !slices.Contains(known, key.Value) {
			return nil, fmt.Errorf("%s:%d: unknown field %s%s; there are %s", file, key.Line, key.Value, meant(key.Value, known), strings.Join(known, ", "))
		}
		if key.Value == name {
			found = n.Content[i+1]
		}
	}
	return found, nil
}

func meant(name string, known []string) string {
	if near := lists.Nearest(name, known); near != "" {
		return " (did you mean " + near + "?)"
	}
	return ""
}

// settle refuses an entry that can ignore nothing, or too much.
func (g *Ignore) settle(list []Check) error {
	c := ByID(list, g.Check)
	if c == nil {
		return fmt.Errorf("%s: %w", g.place, Unknown(list, g.Check))
	}
	if g.Check, g.stage = c.ID, c.Last(); c.Final {
		return fmt.Errorf("%s: check %s (%s) says why a cell could not go on, so that it cannot be ignored", g.place, c.ID, c.Name)
	}
	if g.Object == "" {
		if c.Gives != "" {
			return fmt.Errorf("%s: check %s (%s) makes a cell fail, so that it can be ignored for a named object only: %s=KIND/NAMESPACE/NAME", g.place, c.ID, c.Name, c.ID)
		}
		return nil
	}
	parts := strings.Split(g.Object, "/")
	if len(parts) < 2 || len(parts) > 3 || slices.Contains(parts, "") {
		return fmt.Errorf("%s: object %q: want KIND/NAMESPACE/NAME or, of a kind without namespaces, KIND/NAME", g.place, g.Object)
	}
	if c.Gives != "" && slices.Contains(parts, "*") {
		return fmt.Errorf("%s: object %q: check %s makes a cell fail, so that it can be ignored for one object only, without *", g.place, g.Object, c.ID)
	}
	var kinds []string
	for _, k := range c.Kinds {
		kinds = append(kinds, k.Kind)
	}
	if len(kinds) > 0 && !slices.Contains(kinds, parts[0]) {
		return fmt.Errorf("%s: check %s (%s) finds nothing of the kind %s%s; its kinds are %s", g.place, c.ID, c.Name, parts[0], meant(parts[0], kinds), strings.Join(kinds, ", "))
	}
	return nil
}

// Unknown is the error for an ID or a name that no check has.
func Unknown(list []Check, id string) error {
	var known []string
	for i := range list {
		known = append(known, list[i].ID, list[i].Name)
	}
	return fmt.Errorf("there is no check %q%s; matrix list checks lists them", id, meant(id, known))
}

// why is the reason for which what a check finds of an object is ignored; empty if it is not.
func (g *Ignores) why(check string, of result.Ref, recipe string) string {
	if g == nil {
		return ""
	}
	for i := range g.entries {
		e := &g.entries[i]
		if e.Check == check && (e.Recipe == "" || e.Recipe == recipe) && e.covers(of) {
			g.mu.Lock()
			g.used[i]++
			g.mu.Unlock()
			if e.Reason == "--ignore" {
				return e.place
			}
			return e.Reason + " (" + e.place + ")"
		}
	}
	return ""
}

func (g *Ignore) covers(r result.Ref) bool {
	if g.Object == "" {
		return true
	}
	want := []string{r.Kind, r.Namespace, r.Name}
	if r.Namespace == "" {
		want = []string{r.Kind, r.Name}
	}
	return slices.EqualFunc(strings.Split(g.Object, "/"), want, func(a, b string) bool { return a == "*" || a == b })
}

// Unused says which entries have ignored nothing, a line each, of those whose checks ran for the recipe that they are for;
// for any, if they name none.
func (g *Ignores) Unused(ran func(recipe string, stage Stage) bool) (lines []string) {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, e := range g.entries {
		if g.used[i] == 0 && ran(e.Recipe, e.stage) {
			lines = append(lines, strings.TrimSuffix(fmt.Sprintf("%s ignores nothing: check %s found nothing for %s", e.place, e.Check, e.Object), " for "))
		}
	}
	return lines
}
