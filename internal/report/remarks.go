package report

import (
	"fmt"
	"strings"

	"github.com/nvidia/aicr-action/internal/result"
)

// remark is a text that is shown once for all cells that have it.
type remark struct {
	Text  string
	Cells []*result.Result
	All   bool // every cell that ran has it
}

// remarkKind is one kind of remarks, with all remarks of that kind.
type remarkKind struct {
	result.RemarkRow
	Remarks []remark
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
				j, known := at[text]
				if !known {
					j = len(kind.Remarks)
					at[text] = j
					kind.Remarks = append(kind.Remarks, remark{Text: text})
				}
				kind.Remarks[j].Cells = append(kind.Remarks[j].Cells, &r.Results[i])
			}
		}
		for j := range kind.Remarks {
			kind.Remarks[j].All = len(kind.Remarks[j].Cells) == ran
		}
		if len(kind.Remarks) > 0 {
			kinds = append(kinds, kind)
		}
	}
	return kinds
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
			counts = append(counts, fmt.Sprintf("%d %s", len(texts), row.Counted))
		}
	}
	if len(counts) > 0 {
		lines = append(lines, "not shown: "+strings.Join(counts, ", ")+" (kwok-results.json and the page have them)")
	}
	return lines
}
