package report

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/nvidia/aicr-action/internal/result"
)

// remark is a text that is shown once for all cells that have it.
type remark struct {
	Text  string
	Cells []*result.Result
	All   bool // every cell that ran has it
	// Old is the run before, if all of these cells had it in the run before too, and empty otherwise.
	Old string
}

// remarkKind is one kind of remarks, with all remarks of that kind.
type remarkKind struct {
	result.RemarkRow
	Remarks []remark // those that are new come before those of the run before
}

// split gives the remarks that are new, or of which no run before is known, and the others.
func (k remarkKind) split() (fresh, old []remark) {
	n := slices.IndexFunc(k.Remarks, func(x remark) bool { return x.Old != "" })
	if n < 0 {
		return k.Remarks, nil
	}
	return k.Remarks[:n], k.Remarks[n:]
}

// Fresh are the remarks that are new, or of which no run before is known.
func (k remarkKind) Fresh() []remark { fresh, _ := k.split(); return fresh }

// Old are the remarks that are unchanged since the run before.
func (k remarkKind) Old() []remark { _, old := k.split(); return old }

// Count says how many remarks there are, and how many of them are unchanged.
func (k remarkKind) Count() string {
	fresh, old := k.split()
	if len(old) == 0 {
		return strconv.Itoa(len(fresh))
	}
	return fmt.Sprintf("%d new, %d unchanged", len(fresh), len(old))
}

// remarks gathers the remarks of all cells, in the order of result.RemarkRows; kinds without any
// are left out.
func (r *Report) remarks() []remarkKind {
	ran := 0
	for i := range r.Results {
		if len(r.Results[i].Phases) > 0 {
			ran++
		}
	}
	var kinds []remarkKind
	for _, row := range result.RemarkRows() {
		kind := remarkKind{RemarkRow: row}
		at := map[string]int{}
		for i := range r.Results {
			for _, text := range r.Results[i].Remarks(row.Kind) {
				j, known := at[unnumbered(text)]
				if !known {
					j = len(kind.Remarks)
					at[unnumbered(text)] = j
					kind.Remarks = append(kind.Remarks, remark{Text: text})
				}
				kind.Remarks[j].Cells = append(kind.Remarks[j].Cells, &r.Results[i])
			}
		}
		for j := range kind.Remarks {
			kind.Remarks[j].All = len(kind.Remarks[j].Cells) == ran
			kind.Remarks[j].Old = oldIn(&kind.Remarks[j], row.Kind)
		}
		slices.SortStableFunc(kind.Remarks, func(a, b remark) int { return cmp.Compare(min(len(a.Old), 1), min(len(b.Old), 1)) })
		if len(kind.Remarks) > 0 {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// numberedFolder is the number of a folder of a bundle, which says how many are before it in that lane.
var numberedFolder = regexp.MustCompile(`(^|[/ ])[0-9]{3}-([a-z0-9])`)

// unnumbered is a text without what differs from lane to lane though the remark is the same.
func unnumbered(text string) string { return numberedFolder.ReplaceAllString(text, "$1$2") }

// oldIn is the run before in which all cells of a warning had it; empty if one had not.
func oldIn(x *remark, kind result.RemarkKind) string {
	if kind != result.RemarkWarnings || slices.ContainsFunc(x.Cells, func(c *result.Result) bool {
		return !slices.Contains(c.OldWarnings, slices.IndexFunc(c.Warnings, func(text string) bool { return unnumbered(text) == unnumbered(x.Text) }))
	}) {
		return ""
	}
	return lastRun(x.Cells[0].Past)
}

// counted is a number of remarks, whose name is that of several.
func counted(n int, what string) string {
	if n == 1 {
		what = strings.TrimSuffix(what, "s")
	}
	return fmt.Sprintf("%d %s", n, what)
}

// remarkLines are the remarks on one cell, each behind its label. As on the terminal, those that are
// the same from run to run are counted, unless Explain is set.
func (r *Report) remarkLines(c *result.Result) []string {
	var lines, counts []string
	for _, row := range result.RemarkRows() {
		texts := c.Remarks(row.Kind)
		switch {
		case len(texts) == 0:
		case r.Explain || !row.Usual:
			for _, text := range texts {
				lines = append(lines, row.Label+": "+text)
			}
		case row.Counted != "":
			counts = append(counts, counted(len(texts), row.Counted))
		}
	}
	if len(counts) > 0 {
		lines = append(lines, "not shown: "+strings.Join(counts, ", ")+" (kwok-results.json and the page have them)")
	}
	return lines
}
