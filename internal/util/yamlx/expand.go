package yamlx

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"

	"go.yaml.in/yaml/v3"
)

// mostExpanded is how many bytes a YAML text may have once each alias is replaced by what it stands
// for: what its reader makes of a few kilobytes of aliases may otherwise be larger than any memory
// ("billion laughs").
const mostExpanded = 64 << 20

// perNode is what a node counts for besides its text, in bytes.
const perNode = 8

// mostNested is how deep a document may be nested: the schema of a large CRD has about 60 levels. What
// is done with a document, e.g. to find the path of each value, takes time by the square of it.
const mostNested = 500

// TooLargeError is a document whose aliases stand for more than mostExpanded bytes, or that is nested
// too deep.
type TooLargeError struct {
	Line   int // of the alias with which it becomes too large, or of the level
	Nested bool
}

func (e *TooLargeError) Error() string {
	if e.Nested {
		return fmt.Sprintf("yaml: line %d: this is nested more than %d levels deep; no file needs that", e.Line, mostNested)
	}
	return fmt.Sprintf("yaml: line %d: with this alias the document stands for more than %d MiB; write the values out", e.Line, mostExpanded>>20)
}

// Check rejects a text that becomes larger than mostExpanded when its aliases are replaced, or that is
// nested too deep (*TooLargeError), for a caller that parses it with another library. That library reports other
// errors of the text.
func Check(data []byte) error {
	if !(anchor.Match(data) && alias.Match(data)) && !mayBeDeep(data) {
		return nil // most texts: they need not be read twice
	}
	var large *TooLargeError
	if _, err := Documents(data); errors.As(err, &large) {
		return err
	}
	return nil
}

// mayBeDeep reports whether a text has enough brackets, dashes or spaces in a row of lines to be nested
// too deep.
func mayBeDeep(data []byte) bool {
	if bytes.Count(data, []byte("["))+bytes.Count(data, []byte("{")) > mostNested/2 {
		return true
	}
	for line := range bytes.Lines(data) {
		if len(line)-len(bytes.TrimLeft(line, " -")) > mostNested/2 {
			return true
		}
	}
	return false
}

// A text without one of these has no aliases; one with them may have.
var anchor, alias = regexp.MustCompile(`&[^\s,\[\]{}]`), regexp.MustCompile(`\*[^\s,\[\]{}]`)

// checkAliases refuses a document that becomes larger than mostExpanded when its aliases are
// replaced, or that is nested too deep (*TooLargeError). The library counts aliases, and so lets a few pass that each stand for
// megabytes. A document without aliases is not larger than its text, and passes.
func checkAliases(n *yaml.Node) error {
	e := expander{sizes: map[*yaml.Node]int{}}
	_, err := e.size(n)
	return err
}

type expander struct {
	// sizes of the nodes that aliases stand for; 0 while one is being measured. One that contains
	// itself is for the library to refuse.
	sizes map[*yaml.Node]int
	last  int // line of the alias that was met last
	depth int // of the node that is being measured
}

// size is what a node stands for, in bytes. It never gets much larger than mostExpanded, so that it
// cannot overflow.
func (e *expander) size(n *yaml.Node) (int, error) {
	if n.Kind == yaml.AliasNode {
		return e.aliased(n)
	}
	if e.depth++; e.depth > mostNested {
		return 0, &TooLargeError{Line: n.Line, Nested: true}
	}
	defer func() { e.depth-- }()
	size := len(n.Value) + perNode
	for _, child := range n.Content {
		s, err := e.size(child)
		if err != nil {
			return 0, err
		}
		if size += s; size > mostExpanded && e.last > 0 {
			return 0, &TooLargeError{Line: e.last}
		}
		size = min(size, mostExpanded+1)
	}
	return size, nil
}

func (e *expander) aliased(n *yaml.Node) (int, error) {
	size, seen := e.sizes[n.Alias]
	if !seen {
		e.sizes[n.Alias] = 0
		var err error
		if size, err = e.size(n.Alias); err != nil {
			return 0, err
		}
		e.sizes[n.Alias] = size
	}
	e.last = n.Line
	return size, nil
}
