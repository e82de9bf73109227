package report

import "github.com/nvidia/aicr-action/internal/matrix"

// remark is a thing that was noticed, said once for all cells that have it.
type remark struct {
	Text  string
	Cells []*matrix.Result
	All   bool // every cell that ran has it
}

// remarkKind is one kind of remarks.
type remarkKind struct {
	Title, Means string
	Remarks      []remark
}

// remarks gathers notes, warnings, overrides and stand-ins; kinds without any are left out.
func (r *Report) remarks() []remarkKind {
	ran := 0
	for i := range r.Results {
		if len(r.Results[i].Phases) > 0 {
			ran++
		}
	}
	var kinds []remarkKind
	for _, k := range []struct {
		title, means string
		of           func(*matrix.Result) []string
	}{
		{"Warnings", "findings in the recipe that do not decide the verdict", func(x *matrix.Result) []string { return x.Warnings }},
		{"Notes", "passes in another state than the canonical one, and other remarks", func(x *matrix.Result) []string { return x.Notes }},
		{"Stand-ins", "what the harness answered for an operator or a server that is only simulated", func(x *matrix.Result) []string { return x.StandIns }},
		{"Order", "what began before something that comes earlier had been delivered, by the deployer's own times", func(x *matrix.Result) []string { return x.OutOfOrder }},
		{"Overrides", "values that the harness put in beside the recipe's", func(x *matrix.Result) []string { return x.Overrides }},
	} {
		kind := remarkKind{Title: k.title, Means: k.means}
		at := map[string]int{}
		for i := range r.Results {
			for _, text := range k.of(&r.Results[i]) {
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
