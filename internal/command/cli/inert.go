package cli

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/nvidia/aicr-action/internal/util/mdtext"
)

// What a CI runner reads in a step's log are commands: `::error::…` at the beginning of a line, and
// `##[error]…` anywhere in one. File names, recipes, charts and clusters must not be able to give
// any. A backslash in front of the last character of the mark makes it text, which a person can
// still read.
// https://github.com/actions/runner/blob/main/src/Runner.Common/ActionCommand.cs

// Inert gives a text that has no commands to a CI runner and no characters that a terminal would
// obey: no control characters but newlines and tabs, and none that changes the direction in which what
// follows is written.
func Inert(text string) string {
	var b strings.Builder
	_, _ = NewInertWriter(&b).Write([]byte(text)) // a strings.Builder takes everything
	return b.String()
}

// InertWriter makes the text that it gets Inert and writes it. The result does not depend on how
// callers split the text. It is safe for concurrent use.
type InertWriter struct {
	mu sync.Mutex
	w  io.Writer
	// inLine: something but white space is in the line already; colon and hashes: how many of them
	// came last.
	inLine        bool
	colon, hashes int
	// held is the beginning of a character that may steer a terminal.
	held []byte
}

// NewInertWriter writes to w, a line's beginning first.
func NewInertWriter(w io.Writer) *InertWriter { return &InertWriter{w: w} }

// Write returns the length of p, or the error of the writer below.
func (i *InertWriter) Write(p []byte) (int, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	out := make([]byte, 0, len(p)+16)
	for _, c := range p {
		out = i.take(out, c)
	}
	if _, err := i.w.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// take adds a byte, unless it is part of a character beyond ASCII that a terminal would obey: that is
// spelled.
func (i *InertWriter) take(out []byte, c byte) []byte {
	if len(i.held) > 0 {
		whole := append(i.held, c)
		if string(whole) == "\xe2\x80" || string(whole) == "\xe2\x81" {
			i.held = whole
			return out
		}
		i.held = nil
		if r, size := utf8.DecodeRune(whole); size == len(whole) && mdtext.Steers(r) {
			i.inLine, i.hashes, i.colon = true, 0, 0
			return fmt.Appendf(out, `\u%04x`, r)
		}
		for _, before := range whole[:len(whole)-1] {
			out = i.add(out, before)
		}
	}
	if c == 0xc2 || c == 0xe2 {
		i.held = []byte{c}
		return out
	}
	return i.add(out, c)
}

func (i *InertWriter) add(out []byte, c byte) []byte {
	hashes, colon := i.hashes, i.colon
	i.hashes, i.colon = 0, 0
	switch {
	case c == '\n':
		i.inLine = false
		return append(out, c)
	case c == '\t', c == ' ', c >= 0x80: // also what is no ASCII may be white space to a runner
		return append(out, c)
	case c == '\r': // a line break to a runner
		i.inLine = true
		return append(out, `\r`...)
	case c < ' ' || c == 0x7f:
		i.inLine = true
		return fmt.Appendf(out, `\x%02x`, c)
	case c == '#':
		i.hashes = hashes + 1
	case c == '[' && hashes >= 2:
		out = append(out, '\\')
	case c == ':' && colon > 0:
		out = append(out, '\\')
	case c == ':' && !i.inLine:
		i.colon = 1
		return append(out, c)
	}
	i.inLine = true
	return append(out, c)
}

// inertJSON writes JSON documents, each of which comes in one piece. They have no line breaks in
// strings, and a mark in a string is spelled in another way that means the same.
type inertJSON struct{ w io.Writer }

// InertJSON is a JSON document that is inert, as Inert is, and means the same.
func InertJSON(doc string) string { return strings.ReplaceAll(doc, "##[", `#\u0023[`) }

func (j inertJSON) Write(p []byte) (int, error) {
	if _, err := j.w.Write(bytes.ReplaceAll(p, []byte("##["), []byte(`#\u0023[`))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// InertMarkup gives an HTML or XML document that has no commands to a CI runner and no control
// characters: what would be one is written as a reference to the character, which a browser or a
// parser reads as the character. No script, style or CDATA of the document may have any.
func InertMarkup(doc []byte) []byte {
	doc = markupCommand.ReplaceAllFunc(doc, func(match []byte) []byte {
		if bytes.HasSuffix(match, []byte("::")) {
			return append(bytes.Clone(match[:len(match)-2]), "&#58;:"...)
		}
		return []byte("##&#91;")
	})
	return markupControl.ReplaceAllFunc(doc, func(match []byte) []byte {
		if match[0] == '\r' {
			return []byte("&#13;")
		}
		return []byte("\uFFFD") // neither HTML nor XML can have one
	})
}

// markupCommand matches the commands that Inert breaks, with the line breaks and the white space
// that a runner accepts.
var (
	markupCommand = regexp.MustCompile(`(?m)(?:^|\r)[\s\x{85}\x{a0}\x{1680}\x{feff}\x{2000}-\x{200b}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x00-\x1f]*::|##\[`)
	markupControl = regexp.MustCompile(`[\x00-\x08\x0b-\x1f\x7f]`)
)
