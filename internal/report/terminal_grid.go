package report

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/nvidia/aicr-action/internal/result"
)

// detail is how much of a cell is in the terminal's grid.
type detail int

const (
	everything detail = iota // mark, time and pods, or mark, reason and code
	times                    // of cells that passed only the time
	marks                    // only the mark, and the code of a failure
)

// terminalGrid is the grid, no wider than the terminal: what does not fit as a table in full is one
// with less of each cell, if there are many recipes, and else a list. A width of 0 is no limit.
func (r *Report) terminalGrid() string {
	g := r.grid()
	wide := r.gridTable(&g, everything, 3)
	if fits(wide, r.Width) {
		return wide
	}
	if g.Many {
		for _, try := range []struct {
			detail detail
			gap    int
		}{{times, 3}, {times, 2}, {marks, 3}, {marks, 2}} {
			if text := r.gridTable(&g, try.detail, try.gap); fits(text, r.Width) {
				return text
			}
		}
	}
	return r.gridList(&g)
}

func fits(text string, width int) bool {
	if width == 0 {
		return true
	}
	for line := range strings.Lines(text) {
		if utf8.RuneCountInString(strings.TrimRight(line, "\n")) > width {
			return false
		}
	}
	return true
}

// gridTable has a column for each deployer. The summary of a recipe whose lanes agree takes the
// place of all of them.
func (r *Report) gridTable(g *grid, d detail, gap int) string {
	type row struct {
		cells   []string // the recipe first
		summary []string // in place of all but the first, from the longest to the shortest
	}
	rows := []row{{cells: append([]string{strings.ToUpper(g.What)}, g.Deployers...)}}
	for _, group := range g.Groups {
		below := ""
		if group.Title != "" {
			rows = append(rows, row{summary: []string{group.Title}})
			below = "  "
		}
		for _, line := range group.Lines {
			made := row{cells: []string{below + line.Recipe}}
			if line.Same {
				first, texts := r.summary(&line)
				for _, text := range texts {
					made.summary = append(made.summary, styleOf(first.Status).Mark+" "+text)
				}
			} else {
				for _, c := range line.Cells {
					made.cells = append(made.cells, r.terminalCell(c, d))
				}
			}
			rows = append(rows, made)
		}
	}
	width := make([]int, 1+len(g.Deployers))
	for _, row := range rows {
		for i, cell := range row.cells {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		text := ""
		for i, cell := range row.cells {
			text += cell + strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell)+gap)
		}
		if len(row.summary) > 0 {
			text += firstThatFits(row.summary, r.Width-utf8.RuneCountInString(text), r.Width == 0)
		}
		b.WriteString(strings.TrimRight(text, " ") + "\n")
	}
	if d == marks {
		b.WriteString(r.legend())
	}
	return b.String()
}

// firstThatFits is the last of the texts if none fits.
func firstThatFits(texts []string, width int, any bool) string {
	for _, text := range texts {
		if any || utf8.RuneCountInString(text) <= width {
			return text
		}
	}
	return texts[len(texts)-1]
}

// legend says what the marks and codes of a grid stand for.
func (r *Report) legend() string {
	var parts []string
	for _, l := range styles() {
		for i := range r.Results {
			c := &r.Results[i]
			if c.Status != l.Status {
				continue
			}
			text := l.Mark + " " + l.Word
			if r.hasReason(c) {
				text = l.Mark + " " + r.reasonText(c)
			}
			if !slices.Contains(parts, text) {
				parts = append(parts, text)
			}
		}
	}
	return wrap(parts, "   ", r.Width)
}

// wrap puts as many parts on a line as fit.
func wrap(parts []string, between string, width int) string {
	var b strings.Builder
	line := ""
	for _, part := range parts {
		if line != "" && width > 0 && utf8.RuneCountInString(line+between+part) > width {
			b.WriteString(line + "\n")
			line = ""
		}
		if line != "" {
			line += between
		}
		line += part
	}
	return b.String() + line + "\n"
}

// indent of what is below a recipe.
const indent = "    "

// gridList is for a terminal that is too narrow for a table: the lanes are below their recipe.
func (r *Report) gridList(g *grid) string {
	var b strings.Builder
	for _, group := range g.Groups {
		if group.Title != "" {
			b.WriteString(group.Title + "\n")
		}
		for _, line := range group.Lines {
			if line.Same {
				first, texts := r.summary(&line)
				text := styleOf(first.Status).Mark + " " + texts[0]
				if one := line.Recipe + "   " + text; fits(one, r.Width) {
					b.WriteString(one + "\n")
				} else {
					b.WriteString(line.Recipe + "\n" + indent + text + "\n")
				}
				continue
			}
			b.WriteString(line.Recipe + "\n")
			for _, part := range r.lanesBelow(g, &line) {
				b.WriteString(indent + part + "\n")
			}
		}
	}
	return b.String()
}

// lanesBelow has a line for each lane or, of many recipes, for each way in which lanes ended.
func (r *Report) lanesBelow(g *grid, line *gridLine) []string {
	type ending struct {
		text  string
		lanes []string
	}
	var all []ending
	for i, c := range line.Cells {
		if c == nil {
			continue
		}
		text, at := r.terminalCell(c, everything), -1
		if g.Many {
			if c.Status.Good() {
				text = styleOf(c.Status).Mark + " " + styleOf(c.Status).Word
			}
			at = slices.IndexFunc(all, func(e ending) bool { return e.text == text })
		}
		if at < 0 {
			at = len(all)
			all = append(all, ending{text: text})
		}
		all[at].lanes = append(all[at].lanes, g.Deployers[i])
	}
	var lines []string
	for _, e := range all {
		line := e.text + ": " + strings.Join(e.lanes, ", ")
		if fits(indent+line, r.Width) {
			lines = append(lines, line)
			continue
		}
		lines = append(lines, e.text+":")
		for _, lane := range e.lanes {
			lines = append(lines, indent+lane)
		}
	}
	return lines
}

// terminalCell is a cell's text in the grid.
func (r *Report) terminalCell(c *result.Result, d detail) string {
	if c == nil {
		return "-"
	}
	mark, text := styleOf(c.Status).Mark, r.cellText(c)
	switch {
	case d == everything || d == times && !c.Status.Good():
	case d == times && c.Status == result.Reused:
		text = "reused"
	case d == times && c.SameAs != nil:
		text = "same as " + c.SameAs.Recipe
	case d == times:
		text = seconds(c.Duration)
	case r.hasReason(c) && r.code(c) != 0:
		text = fmt.Sprint(r.code(c))
	default:
		text = ""
	}
	text = strings.TrimRight(mark+" "+text, " ")
	if c.Status.Good() && len(c.Notes) > 0 {
		text += " *"
	}
	return text
}
