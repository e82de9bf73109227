package report

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// cause is one root cause, with every cell that it broke.
type cause struct {
	Reason reason.Reason
	Text   string       // one line
	Place  result.Place // the line of the recipes that decides, if one is known
	Story  []string     // what the first cell says about it
	Cells  []*result.Result
}

// causeKey is what findings with one root cause have in common.
type causeKey struct {
	reason reason.Reason
	file   string
	line   int
	text   string // only where there is no place
}

// causes groups failures by root cause. Cells whose findings lead to one line of one file have one
// root cause, and so have cells of one reason whose findings have the same text and no place. The
// gravest status comes first.
func (r *Report) causes() []cause {
	var all []cause
	at := map[causeKey]int{}
	for _, l := range styles() {
		for i := range r.Results {
			cell := &r.Results[i]
			if cell.Status != l.Status || !broken(l.Status) || l.Status == result.Interrupted {
				continue
			}
			for _, f := range rootCauses(cell) {
				text := oneLine(f.Cause)
				key := causeKey{reason: cell.Reason, file: f.Place.File, line: f.Place.Line}
				if f.Place.File == "" {
					key.text = text
				}
				j, known := at[key]
				if !known {
					j = len(all)
					at[key] = j
					all = append(all, cause{Reason: cell.Reason, Text: text, Place: f.Place, Story: f.Story})
				}
				if !slices.Contains(all[j].Cells, cell) {
					all[j].Cells = append(all[j].Cells, cell)
				}
			}
		}
	}
	return all
}

// placeOf is the line of the recipes that broke a cell: that of its first root cause that has one.
func placeOf(cell *result.Result) result.Place {
	for _, f := range rootCauses(cell) {
		if f.Place.File != "" {
			return f.Place
		}
	}
	return result.Place{}
}

// rootCauses are the findings of a cell that have a root cause of their own. A cell that was not
// run, and one of a results file that was written before there were findings, has one that is made
// of its cause.
func rootCauses(cell *result.Result) []result.Finding {
	var all []result.Finding
	for _, f := range cell.Findings {
		if f.SameAs == nil {
			f.Place = inRecipes(cell.Roots(), f.Place)
			all = append(all, f)
		}
	}
	if len(all) == 0 {
		all = []result.Finding{{Cause: cell.Cause, Story: cell.Details}}
	}
	return all
}

// inRecipes is the place if it is a line of a file in one of the directories: the recipes directory
// and the data directory, by the names that results give them; an empty one is none. The recipes in
// the binary are no files that a person could open.
func inRecipes(dirs []string, p result.Place) result.Place {
	for _, dir := range dirs {
		if dir == "" || p.File == "" || p.Line < 1 {
			continue
		}
		if rel, err := filepath.Rel(filepath.FromSlash(dir), filepath.FromSlash(p.File)); err == nil && filepath.IsLocal(rel) {
			return p
		}
	}
	return result.Place{}
}

// oneLine is the first line of a text.
func oneLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return strings.TrimSpace(line)
}

// cellNames lists cells, at most n of them by name.
func cellNames(cells []*result.Result, n int) string {
	var names []string
	for i, c := range cells {
		if i == n {
			names = append(names, fmt.Sprintf("and %d more", len(cells)-n))
			break
		}
		names = append(names, c.Cell.String())
	}
	return strings.Join(names, ", ")
}
