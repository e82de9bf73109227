package report

import (
	"fmt"
	"strings"
	"testing"
)

// Of thousands of lines the first and the last ones are shown, in a terminal and in Markdown, whether they are one
// detail or many: a program's reason is often its last line.
func TestStory_HeadAndTail(t *testing.T) {
	t.Parallel()
	var lines []string
	for i := range 3000 {
		lines = append(lines, fmt.Sprintf("line %d", i))
	}
	for name, text := range map[string]string{
		"terminal, many": storyText(lines, "the cause", "out"), "terminal, one": storyText([]string{"the cause", strings.Join(lines, "\n")}, "the cause", "out"),
		"terminal, in the cause": storyText([]string{strings.Join(lines, "\n")}, oneLine(strings.Join(lines, "\n")), "out"),
		"markdown, many":         strings.Join(storyLines(lines), "\n"), "markdown, one": strings.Join(storyLines([]string{strings.Join(lines, "\n")}), "\n"),
	} {
		if n := strings.Count(text, "\n"); n > 45 || !strings.Contains(text, "line 2999") || !strings.Contains(text, "line 1\n") || strings.Contains(text, "line 1500\n") || !strings.Contains(text, "more lines in ") {
			t.Errorf("%s: %d lines:\n%s", name, n, text)
		}
	}
	if got := headAndTail([]string{"a", "b"}, 2, ""); len(got) != 2 {
		t.Errorf("got %q", got)
	}
}
