package intake

// splitset.go reads the two halves of a bundle that AICR's CLI has split by the classes of its components (aicr bundle
// --split): core, and then ops, which may need core. It must not know how a half is installed.

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/util/lists"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// splitFile says which class each component is of.
const splitFile = "split.yaml"

// halves are the classes, in the order in which they are installed.
var halves = []string{"core", "ops"}

var inHalf = regexp.MustCompile(`^(core|ops)/(deploy\.sh|[0-9]{3}-[^/]+/install\.sh)$`)

// halves are the directories of the bundle that are installed one after the other: its root, or those of a split set.
func (t *tree) halves() ([]string, error) {
	file, split := t.files[splitFile]
	var found []string
	for _, name := range t.names() {
		if half, _, _ := strings.Cut(name, "/"); inHalf.MatchString(name) && !slices.Contains(found, half) {
			found = append(found, half)
		}
	}
	switch {
	case !split && len(found) == 0:
		return []string{""}, nil
	case !split:
		return nil, t.bad(found[0], 0, "it is a half of a split set, and the bundle has no %s, which says of what class each component is: copy all files of the bundle", splitFile)
	case !slices.Equal(found, halves):
		return nil, t.bad(splitFile, 0, "the bundle is split into core and ops, and has only the half %s: copy all files of the bundle", strings.Join(found, ", "))
	}
	if _, ok := t.files[deployScript]; ok {
		return nil, t.bad(deployScript, 0, "a split set has a %s in core and one in ops, and none beside them: nothing says what this one is for", deployScript)
	}
	_, err := yamlx.Documents(file.Content)
	if err != nil {
		p := yamlx.Problems(err)[0]
		return nil, t.bad(splitFile, p.Line, "%s", p.Text)
	}
	return found, nil
}

// checkSplit holds the halves of a split set against what its file and its recipe say. A component of core that needs one
// of ops would be installed before it.
func (b *Bundle) checkSplit() error {
	class := map[string]string{} // of each component that is installed
	for _, u := range b.form.units() {
		if u.half == "" {
			return nil
		}
		name := b.component(u.name)
		for _, end := range slices.Concat(before, after) {
			if owner, ok := strings.CutSuffix(name, end); ok && b.isComponent(owner) {
				name = owner
			}
		}
		if other := class[name]; other != "" && other != u.half {
			return b.tree.bad(u.half, 0, "component %s is in %s and in %s; a component of a split set is of one class", name, other, u.half)
		}
		class[name] = u.half
	}
	var docs []*yamlv3.Node
	if _, ok := b.tree.files[splitFile]; ok { // this program's own for Argo CD have none
		var err error
		if docs, err = b.tree.documents(splitFile); err != nil {
			return err
		}
	}
	for _, d := range docs {
		for name, said := range classesIn(d) {
			if have := class[name]; have != "" && have != said.Value {
				return b.tree.bad(splitFile, said.Line, "component %s is of the class %s, and the bundle has it in %s", name, said.Value, have)
			}
		}
	}
	if b.recipe == nil {
		return nil
	}
	for _, ref := range b.recipe.ComponentRefs {
		for _, on := range ref.DependencyRefs {
			if class[ref.Name] == halves[0] && class[on] == halves[1] {
				return b.tree.bad(recipeName, 0, "component %s is of the class core and depends on %s, which is of ops and installed after all of core: correct the class of one in registry.yaml, or the dependency", ref.Name, on)
			}
		}
	}
	return nil
}

// isComponent reports whether the bundle's recipe has a component of that name.
func (b *Bundle) isComponent(name string) bool {
	if b.recipe == nil {
		return false
	}
	for _, ref := range b.recipe.ComponentRefs {
		if ref.Name == name {
			return true
		}
	}
	return false
}

// classesIn finds what a document says of the classes: a component's name as a key, or as the field name, with its class as
// the value, or as the field class.
func classesIn(n *yamlv3.Node) map[string]*yamlv3.Node {
	found := map[string]*yamlv3.Node{}
	if n.Kind == yamlv3.MappingNode {
		if name, class := yamlx.Find(n, "name"), yamlx.Find(n, "class"); name != nil && class != nil && slices.Contains(halves, class.Value) {
			found[name.Value] = class
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			if key, value := n.Content[i], n.Content[i+1]; value.Kind == yamlv3.ScalarNode && slices.Contains(halves, value.Value) && key.Value != "class" {
				found[key.Value] = value
			} else if class := yamlx.Find(value, "class"); class != nil && slices.Contains(halves, class.Value) {
				found[key.Value] = class
			}
		}
	}
	for _, child := range n.Content {
		for name, class := range classesIn(child) {
			found[name] = class
		}
	}
	return found
}

// Only leaves the other half of a split set out of what is run. Core alone is what a cluster has before anybody installs ops,
// which needs it.
func (b *Bundle) Only(class string) error {
	split := slices.ContainsFunc(b.form.units(), func(u unit) bool { return u.half != "" })
	switch {
	case class == "" || class == "all":
		return nil
	case class == halves[1]:
		return fmt.Errorf("%s is installed after %s, and cannot be run alone; leave the class out for both", halves[1], halves[0])
	case class != halves[0]:
		return fmt.Errorf("there is no class %q%s; want %s, or all", class, lists.Tail(class, halves), halves[0])
	case !split:
		return fmt.Errorf("%s is no split set: it has no %s, and no half with an %s", b.tree.name, splitFile, rootFile)
	}
	b.only = class
	return nil
}

// Split is the class of each release of a split set; nil for another bundle.
func (b *Bundle) Split() map[string]string {
	var classes map[string]string
	for _, u := range b.form.units() {
		if u.half != "" {
			if classes == nil {
				classes = map[string]string{}
			}
			classes[u.name] = u.half
		}
	}
	return classes
}

// run are the units of the bundle that are run.
func (b *Bundle) run() []unit {
	return slices.DeleteFunc(slices.Clone(b.form.units()), func(u unit) bool { return b.only != "" && u.half != b.only })
}

// leftOut says what is not run.
func (b *Bundle) leftOut() []string {
	if b.only == "" {
		return nil
	}
	var names []string
	for _, u := range b.form.units() {
		if u.half != b.only {
			names = append(names, u.name)
		}
	}
	return []string{fmt.Sprintf("bundle: of the split set only %s was run; left out: %s", b.only, strings.Join(names, ", "))}
}
