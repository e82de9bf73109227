// Package mdtext puts untrusted text into Markdown: as code, or with each mark escaped, so that no part of it can become
// a link, an image, a mention or a tag. It must not know results.
package mdtext

import (
	"fmt"
	"html"
	"strings"
	"unicode"
)

// Steers reports whether a character beyond ASCII changes how a terminal or a browser shows what
// follows: a control character, or one that turns the direction of writing, so that a text reads as
// another one.
func Steers(r rune) bool {
	return r >= 0x80 && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

// unseen is Steers for all characters; white space is no such character.
func unseen(r rune) bool {
	return Steers(r) || r < 0x20 && r != '\t' && r != '\n' && r != '\r' || r == 0x7f
}

// Visible is a text with such characters spelled, those of ASCII too.
func Visible(text string) string {
	if !strings.ContainsFunc(text, unseen) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if unseen(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Plain is a text on one line that is nothing but text: each mark of ASCII that could begin something else is
// escaped, also in links that GitHub makes of bare addresses.
// https://spec.commonmark.org/0.31.2/#backslash-escapes
func Plain(text string) string {
	var b strings.Builder
	for _, r := range strings.Join(strings.Fields(Visible(text)), " ") {
		if r < 0x80 && !strings.ContainsRune(" -,()", r) && (unicode.IsPunct(r) || unicode.IsSymbol(r)) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Code is a text as a code span on one line, even if it has backticks; "" for an empty text.
// https://spec.commonmark.org/0.31.2/#code-spans
func Code(text string) string {
	text = strings.Join(strings.Fields(Visible(text)), " ")
	if text == "" {
		return ""
	}
	ticks := strings.Repeat("`", longestRun(text)+1)
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		text = " " + text + " "
	}
	return ticks + text + ticks
}

// CellCode is Code in a cell of a table, where a | must be escaped even in code.
// https://github.github.com/gfm/#example-200
func CellCode(text string) string { return strings.ReplaceAll(Code(text), "|", `\|`) }

// CodeList is lines as a list of code spans, whose long lines wrap where a block of code would have to
// be scrolled sideways. A line that is indented further than the one above it is below it in the list.
func CodeList(lines []string) string {
	var b strings.Builder
	var above []int // the indents of the items that this one is in
	for _, line := range lines {
		code := Code(line)
		if code == "" {
			continue
		}
		indent := len(line) - len(strings.TrimLeft(line, " "))
		for len(above) > 0 && indent <= above[len(above)-1] {
			above = above[:len(above)-1]
		}
		b.WriteString(strings.Repeat("  ", len(above)) + "- " + code + "\n")
		above = append(above, indent)
	}
	return b.String()
}

// Fence is a block of code that ends with a newline, behind a fence that is longer than any in the
// text. The language may be empty.
func Fence(text, language string) string {
	text = Visible(text)
	ticks := strings.Repeat("`", max(3, longestRun(text)+1))
	return ticks + language + "\n" + strings.TrimRight(text, "\n") + "\n" + ticks + "\n"
}

// Folded is a part that a reader opens, with a blank line before and after it. The title is trusted
// text; code is untrusted text after it, and may be empty. The body is Markdown.
func Folded(title, code, body string) string {
	if code = strings.Join(strings.Fields(Visible(code)), " "); code != "" { // a blank line in it would end the tag, and GitHub finds mentions anywhere but in code
		code = " <code>" + html.EscapeString(code) + "</code>"
	}
	return "\n<details><summary>" + html.EscapeString(title) + code + "</summary>\n\n" + strings.TrimRight(body, "\n") + "\n\n</details>\n\n"
}

func longestRun(text string) int {
	longest, run := 0, 0
	for _, c := range text {
		if c != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}
