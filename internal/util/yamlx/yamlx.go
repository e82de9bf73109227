// Package yamlx is what every reader of a person's YAML needs of it: the documents as nodes, which
// have lines, strict decoding, and the line of each of the library's complaints, which has it in
// its text only. It knows no format: what a document must have is its reader's to say.
package yamlx

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// Documents reads the documents of a file; their roots are Content[0] of each. With an error it
// still returns those before it. A document whose aliases stand for more than mostExpanded bytes is
// an error (*TooLargeError). A file without a document, e.g. of comments only, has none and is no
// error.
func Documents(data []byte) ([]*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var all []*yaml.Node
	for {
		var doc yaml.Node
		err := decoder.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		if err := checkAliases(&doc); err != nil {
			return all, err
		}
		all = append(all, &doc)
	}
}

// DecodeStrict fills out from the first document. Unknown fields and repeated keys are errors, and
// so is a file without a document (io.EOF).
func DecodeStrict(data []byte, out any) error {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	return decoder.Decode(out)
}

// Problem is one complaint of the library. Line is 0 if it names none.
type Problem struct {
	Line int
	Text string
}

var (
	linePrefix = regexp.MustCompile(`^(?:yaml: )?line (\d+): `)
	// parserError is what the library's parser says, as against its scanner; it counts the parser's
	// lines from zero.
	parserError = regexp.MustCompile(`^did not find expected (node content|'-' indicator|key|',' or |<)`)
)

// Problems splits an error of the library into its complaints.
func Problems(err error) []Problem {
	texts := []string{err.Error()}
	var several *yaml.TypeError
	if errors.As(err, &several) {
		texts = several.Errors
	}
	var all []Problem
	for _, text := range texts {
		p := Problem{Text: text}
		if m := linePrefix.FindStringSubmatch(text); m != nil {
			p.Line, _ = strconv.Atoi(m[1]) // digits only; a number too large leaves the line out
			p.Text = text[len(m[0]):]
			if p.Line > 0 && parserError.MatchString(p.Text) {
				p.Line++
			}
		}
		all = append(all, p)
	}
	return all
}
