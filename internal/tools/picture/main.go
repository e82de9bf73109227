// Command picture draws docs/images/run.txt, what `matrix run` printed on a terminal, as the
// pictures of README.md: run-light.svg and run-dark.svg beside it. `make picture` calls it after the
// text was renewed by hand from a run.
package main

import (
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/nvidia/aicr-action/internal/util/filesys"
)

const (
	columns  = 108                        // longer lines are wrapped
	width    = columns*783/100 + 2*margin // a character is 7.83 wide
	leading  = 19
	margin   = 20
	fontSize = 13
)

// theme has the colours of one picture.
type theme struct {
	name                                           string
	background, border, text, dim, good, bad, hint string
}

// themes are those of GitHub's light and dark pages.
func themes() []theme {
	return []theme{
		{"light", "#f6f8fa", "#d1d9e0", "#1f2328", "#59636e", "#116329", "#a40e26", "#0550ae"},
		{"dark", "#151b23", "#3d444d", "#f0f6fc", "#9198a1", "#3fb950", "#ff7b72", "#79c0ff"},
	}
}

func main() {
	if err := draw(filepath.Join("docs", "images")); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "picture:", err)
		os.Exit(1)
	}
}

// draw draws the run.txt of a directory in each theme.
func draw(dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, "run.txt"))
	if err != nil {
		return fmt.Errorf("read the text of the run: %w", err)
	}
	for _, t := range themes() {
		file := filepath.Join(dir, "run-"+t.name+".svg")
		if err := filesys.WriteFile(file, []byte(svg(string(text), t)), 0o644); err != nil {
			return fmt.Errorf("write the picture %s: %w", file, err)
		}
	}
	return nil
}

// svg is the picture of a text.
func svg(text string, t theme) string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, wrap(strings.TrimRight(line, "\n"))...)
	}
	height := len(lines)*leading + 2*margin
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" aria-label="A run in which every cell passes, and one with a failed cell">
<style>text { font: %dpx ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: %s; white-space: pre }
.dim { fill: %s } .good { fill: %s } .bad { fill: %s; font-weight: bold } .hint { fill: %s; font-weight: bold } .command { font-weight: bold }</style>
<rect x="0.5" y="0.5" width="%d" height="%d" rx="8" fill="%s" stroke="%s"/>
`, width, height, width, height, fontSize, t.text, t.dim, t.good, t.bad, t.hint, width-1, height-1, t.background, t.border)
	for i, line := range lines {
		if line != "" {
			fmt.Fprintf(&b, "<text x=\"%d\" y=\"%d\" xml:space=\"preserve\">%s</text>\n", margin, margin+fontSize+i*leading, colored(line))
		}
	}
	return b.String() + "</svg>\n"
}

// wrap breaks a line at spaces; what follows is indented further than the line.
func wrap(line string) []string {
	indent := strings.Repeat(" ", len(line)-len(strings.TrimLeft(line, " "))+2)
	var lines []string
	for len([]rune(line)) > columns {
		at := strings.LastIndex(string([]rune(line)[:columns+1]), " ")
		if at <= len(indent) {
			break
		}
		lines = append(lines, line[:at])
		line = indent + strings.TrimLeft(line[at:], " ")
	}
	return append(lines, line)
}

// parts are what has a colour of its own in a line.
var parts = regexp.MustCompile(`^\$ .*$|✓ \S+ s|✗ .*?\(\d+\)|^\s*edit: .*$|^\s*(?:rerun: .*|…)$`)

func colored(line string) string {
	var b strings.Builder
	done := 0
	for _, at := range parts.FindAllStringIndex(line, -1) {
		part := line[at[0]:at[1]]
		class := "dim"
		switch word := strings.TrimLeft(part, " "); {
		case strings.HasPrefix(word, "$"):
			class = "command"
		case strings.HasPrefix(word, "✓"):
			class = "good"
		case strings.HasPrefix(word, "✗"):
			class = "bad"
		case strings.HasPrefix(word, "edit:"):
			class = "hint"
		}
		fmt.Fprintf(&b, `%s<tspan class="%s">%s</tspan>`, html.EscapeString(line[done:at[0]]), class, html.EscapeString(part))
		done = at[1]
	}
	return b.String() + html.EscapeString(line[done:])
}
