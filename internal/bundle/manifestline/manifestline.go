// Package manifestline finds the line of a manifest that a person has to edit. A manifest may be a
// template, which no parser reads. It must not know recipes or clusters.
package manifestline

import (
	"iter"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Object is an object as an error names it. An empty kind or name fits every object.
type Object struct{ Kind, Name string }

// Find returns the line, from 1, of a field of an object: the deepest part of the path that the
// manifest has, which for an empty path is the object's kind. It is 0 if the manifest has no such
// object. Numbers in the path are places in a list. Exact reports whether the field itself is there.
func Find(text string, o Object, path ...string) (line int, exact bool) {
	lines := strings.Split(text, "\n")
	most := -1
	for start, doc := range documents(lines) {
		root := parse(doc)
		if root != nil && o.is(root) {
			at, found := root.down(path)
			if found == 0 {
				at, _ = root.down([]string{"kind"})
			}
			if found > most {
				line, most = start+at.line, found
			}
		}
	}
	return line, most == len(path)
}

// Document returns the lines, from 0, of an object's document, from the first to the one before end; both
// are 0 if the manifest has no such object.
func Document(text string, o Object) (first, end int) {
	for start, doc := range documents(strings.Split(text, "\n")) {
		if root := parse(doc); root != nil && o.is(root) {
			return start, start + len(doc)
		}
	}
	return 0, 0
}

// documents gives the documents of a manifest, each with the number of lines before it. The line that
// separates two belongs to the second.
func documents(lines []string) iter.Seq2[int, []string] {
	return func(yield func(int, []string) bool) {
		for start := 0; start < len(lines); {
			end := start + 1
			for end < len(lines) && !strings.HasPrefix(lines[end], "---") {
				end++
			}
			if !yield(start, lines[start:end]) {
				return
			}
			start = end
		}
	}
}

// The parts of a template that are no YAML: lines of actions alone, and actions in a line.
var (
	actionLines = regexp.MustCompile(`(?m)^[ \t]*(?:\{\{.*?\}\}[ \t]*)+\r?$`)
	action      = regexp.MustCompile(`\{\{.*?\}\}`)
	atLine      = regexp.MustCompile(`^yaml: line (\d+): `)
)

// Malformed returns the line, from 1, at which a manifest is no YAML even without its actions; 0 if
// it is YAML, so that only what it renders can be malformed.
func Malformed(text string) int {
	text = action.ReplaceAllString(actionLines.ReplaceAllString(text, ""), "x")
	lines := strings.Split(text, "\n")
	for start, text := range documents(lines) {
		var doc yaml.Node
		if err := yaml.Unmarshal([]byte(strings.Join(text, "\n")), &doc); err != nil {
			line := 1
			if at := atLine.FindStringSubmatch(err.Error()); at != nil {
				line, _ = strconv.Atoi(at[1])
			}
			return min(start+line, len(lines))
		}
	}
	return 0
}

// Headless returns the line, from 1, of the first document of a manifest that is no object: a list or a text,
// or a mapping without apiVersion, kind or a name; 0 if all are, as far as they say it without a template.
func Headless(text string) int {
	lines := strings.Split(text, "\n")
	bare := strings.Split(action.ReplaceAllString(actionLines.ReplaceAllString(text, "#"), "x"), "\n")
	for start, doc := range documents(bare) {
		var head struct {
			APIVersion string `yaml:"apiVersion"`
			Kind       string
			Metadata   struct {
				Name         string
				GenerateName string `yaml:"generateName"`
			}
		}
		var content yaml.Node
		if err := yaml.Unmarshal([]byte(strings.Join(doc, "\n")), &content); err != nil || len(content.Content) == 0 || content.Content[0].Tag == "!!null" {
			continue
		}
		err := content.Decode(&head)
		if err == nil && head.APIVersion != "" && head.Kind != "" && (head.Metadata.Name+head.Metadata.GenerateName != "" || strings.HasSuffix(head.Kind, "List")) {
			continue
		}
		return min(start+content.Content[0].Line, len(lines))
	}
	return 0
}

// is reports whether a document is the object. What a template fills in fits everything.
func (o Object) is(root *node) bool {
	fits := func(want string, path ...string) bool {
		at, found := root.down(path)
		switch {
		case want == "":
			return true
		case found == len(path): // {{ .Release.Name }} alone is a mapping to a parser
			return at.value == want || strings.Contains(at.value, "{{") || len(at.children) > 0
		}
		return found > 0 && strings.HasPrefix(at.value, "{") && (strings.Contains(at.value, want) || strings.Contains(at.value, "{{")) // in one line
	}
	kind, found := root.down([]string{"kind"})
	return found == 1 && kind.value != "" && fits(o.Kind, "kind") && fits(o.Name, "metadata", "name")
}

// node is a key or an item of a list, with what is below it.
type node struct {
	line     int // from 1
	key      string
	value    string
	items    []*node
	children []*node
	column   int // twice that of the text, and one more for an item: a list may begin below its key
}

// down follows a path; found is how many parts of it there are.
func (n *node) down(path []string) (at *node, found int) {
	at = n
	for _, part := range path {
		next := at.child(part)
		if next == nil {
			break
		}
		at = next
		found++
	}
	return at, found
}

func (n *node) child(part string) *node {
	if i, err := strconv.Atoi(part); err == nil && i >= 0 && i < len(n.items) {
		return n.items[i]
	}
	for _, c := range n.children {
		if c.key == part {
			return c
		}
	}
	return nil
}

// parse reads a document: as YAML, or as far as its indentation says.
func parse(lines []string) *node {
	var doc yaml.Node
	begins := strings.TrimSpace(strings.Join(lines, "\n"))
	// An action in the first line is a whole document to a parser, which stops there.
	if err := yaml.Unmarshal([]byte(strings.Join(lines, "\n")), &doc); err == nil && !strings.HasPrefix(begins, "{{") {
		if len(doc.Content) == 0 {
			return nil
		}
		return ofYAML(doc.Content[0])
	}
	return ofText(lines)
}

func ofYAML(y *yaml.Node) *node {
	n := &node{line: y.Line, value: y.Value}
	switch y.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(y.Content); i += 2 {
			c := ofYAML(y.Content[i+1])
			c.key, c.line = y.Content[i].Value, y.Content[i].Line
			n.children = append(n.children, c)
		}
	case yaml.SequenceNode:
		for _, item := range y.Content {
			n.items = append(n.items, ofYAML(item))
		}
	}
	return n
}

// ofText reads the lines of a template by their indentation. Lines that are nothing but an action or
// a comment count for nothing.
func ofText(lines []string) *node {
	root := &node{line: 1, column: -1}
	above := []*node{root}
	add := func(n *node, item bool) {
		for above[len(above)-1].column >= n.column {
			above = above[:len(above)-1]
		}
		to := above[len(above)-1]
		if item {
			to.items = append(to.items, n)
		} else {
			to.children = append(to.children, n)
		}
		above = append(above, n)
	}
	for i, line := range lines {
		text := strings.TrimLeft(line, " ")
		column := len(line) - len(text)
		for strings.HasPrefix(text, "- ") {
			add(&node{line: i + 1, column: 2*column + 1}, true)
			rest := strings.TrimLeft(text[2:], " ")
			column, text = column+len(text)-len(rest), rest
		}
		name, value, isKey := strings.Cut(text, ":")
		if name = strings.Trim(strings.TrimSpace(name), `"'`); !isKey || name == "" || strings.HasPrefix(text, "#") || strings.HasPrefix(text, "{{") {
			continue
		}
		value, _, _ = strings.Cut(strings.TrimSpace(value), " #")
		add(&node{line: i + 1, key: name, value: strings.Trim(strings.TrimSpace(value), `"'`), column: 2 * column}, false)
	}
	return root
}
