package report

import (
	"fmt"
	"html"
	"strings"

	"github.com/nvidia/aicr-action/internal/matrix"
)

// Text from recipes, charts and controllers goes into Markdown as code only: nothing in it can become a link, an image, a mention or a
// tag.

// code is a text as a code span on one line, whatever backticks it has.
// https://spec.commonmark.org/0.31.2/#code-spans
func code(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if text == "" {
		return ""
	}
	ticks := strings.Repeat("`", longestRun(text)+1)
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		text = " " + text + " "
	}
	return ticks + text + ticks
}

// cellCode is code in a cell of a table, where a | must be escaped even in code.
// https://github.github.com/gfm/#example-200
func cellCode(text string) string { return strings.ReplaceAll(code(text), "|", `\|`) }

// fence is a block of code, behind a fence that is longer than any in the text.
func fence(text, language string) string {
	ticks := strings.Repeat("`", max(3, longestRun(text)+1))
	return ticks + language + "\n" + strings.TrimRight(text, "\n") + "\n" + ticks + "\n\n"
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

// folded is a part that a reader opens.
func folded(title, body string) string {
	return "\n<details><summary>" + html.EscapeString(title) + "</summary>\n\n" + body + "</details>\n\n"
}

// codes lists cells as code, at most n of them.
func codes(cells []*matrix.Result, n int) string {
	var parts []string
	for i, c := range cells {
		if i == n {
			parts = append(parts, fmt.Sprintf("and %d more", len(cells)-n))
			break
		}
		parts = append(parts, code(c.Cell.String()))
	}
	return strings.Join(parts, ", ")
}
