package report

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/nvidia/aicr-action/internal/matrix"
	"github.com/nvidia/aicr-action/internal/reason"
)

// cause is one root cause, with every cell that it broke.
type cause struct {
	Reason reason.Reason
	Text   string   // one line
	Place  place    // the file and line that decide, if the story names one
	Story  []string // what the first cell says about it
	Cells  []*matrix.Result
}

// place is a line of a recipe's file; the zero place is none.
type place struct {
	File string
	Line int
}

func (p place) String() string {
	if p.File == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d", p.File, p.Line)
}

// causes groups what went wrong: cells whose story leads to one line of one file have one cause, and so have cells of one reason that
// end with the same sentence. The gravest status comes first.
func (r *Report) causes() []cause {
	var all []cause
	at := map[string]int{}
	for _, l := range looks() {
		for i := range r.Results {
			result := &r.Results[i]
			if result.Status != l.Status || !broken(l.Status) || l.Status == matrix.Interrupted {
				continue
			}
			for _, f := range findings(result) {
				key := string(result.Reason) + "\n" + f.Place.String()
				if f.Place.File == "" {
					key += "\n" + f.Text
				}
				j, known := at[key]
				if !known {
					j = len(all)
					at[key] = j
					all = append(all, cause{Reason: result.Reason, Text: f.Text, Place: f.Place, Story: f.Story})
				}
				if !slices.Contains(all[j].Cells, result) {
					all[j].Cells = append(all[j].Cells, result)
				}
			}
		}
	}
	return all
}

// finding is one thing that is wrong with a cell.
type finding struct {
	Text  string
	Place place
	Story []string // lines of the details that are about it
}

// findings takes a story apart. A scheduling story has a line per workload, followed by indented lines that explain it: each is a
// finding. Every other story is one finding, whose consequences the details list.
func findings(result *matrix.Result) []finding {
	find := places(result.Recipes)
	if result.Reason == reason.SchedulingFailed {
		if all := byWorkload(result.Details, find); len(all) > 0 {
			return all
		}
	}
	return []finding{{Text: oneLine(result.Cause), Place: find(append([]string{result.Cause}, result.Details...)), Story: result.Details}}
}

func byWorkload(details []string, find func([]string) place) []finding {
	var all []finding
	for i := 0; i < len(details); {
		head, start := details[i], i
		i++
		first := i
		for i < len(details) && strings.HasPrefix(details[i], " ") {
			i++
		}
		same := slices.ContainsFunc(details[first:i], func(s string) bool { return strings.HasPrefix(s, "  for the same reasons as ") })
		if i > first && !same && !strings.HasPrefix(head, " ") {
			all = append(all, finding{Text: oneLine(head), Place: find(details[first:i]), Story: details[start:i]})
		}
	}
	return all
}

// places finds file:line of a recipes directory in lines of text. A line that says who set a value comes before one that only says
// where something is declared.
func places(recipes string) func([]string) place {
	dir := strings.ToValidUTF8(filepath.ToSlash(filepath.Clean(recipes)), "\uFFFD") // a pattern must be valid, a file's name need not be
	pattern := regexp.MustCompile(`(?:^|[^\w/.-])(` + regexp.QuoteMeta(dir) + `/[^:\n]+):(\d+)`)
	return func(lines []string) place {
		var first place
		for _, text := range lines {
			m := pattern.FindStringSubmatch(text)
			if m == nil {
				continue
			}
			line, err := strconv.Atoi(m[2])
			if err != nil {
				continue // a number that no file has lines for
			}
			p := place{m[1], line}
			if strings.Contains(text, "set in "+p.File) {
				return p
			}
			if first.File == "" {
				first = p
			}
		}
		return first
	}
}

// oneLine is the first line of a text.
func oneLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return strings.TrimSpace(line)
}

// cellNames lists cells, at most n of them by name.
func cellNames(cells []*matrix.Result, n int) string {
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
