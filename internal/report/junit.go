package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/nvidia/aicr-action/internal/report/testreport"
	"github.com/nvidia/aicr-action/internal/result"
)

// WriteJUnit writes JUnit XML: a suite per recipe, a test per cell. A failure is the recipe's; an
// error is the machine's, an interrupt's, or a cell that never ran. Such a cell must differ from
// one that was skipped on purpose.
func (r *Report) WriteJUnit(w io.Writer) error {
	all := testreport.JUnit{Name: "kwok"}
	recipes, deployers, cells := r.axes()
	var total time.Duration
	for _, recipe := range recipes {
		s := testreport.Suite{Name: "kwok/" + recipe}
		var took time.Duration
		var first time.Time
		for _, d := range deployers {
			result := cells[result.Cell{Recipe: recipe, Deployer: d}]
			if result == nil {
				continue
			}
			s.Add(r.caseOf(result))
			took += result.Duration
			if !result.Started.IsZero() && (first.IsZero() || result.Started.Before(first)) {
				first = result.Started
			}
		}
		s.Time = testreport.Seconds(took)
		s.Timestamp = testreport.Timestamp(first)
		total += took
		all.Add(s)
	}
	if len(r.Unread) > 0 {
		s := testreport.Suite{Name: "kwok/merge", Time: testreport.Seconds(0)}
		for _, u := range r.Unread {
			s.Add(testreport.Case{Name: "kwok/merge", Class: "kwok.merge", Time: testreport.Seconds(0), Error: &testreport.Problem{Message: u}})
		}
		all.Add(s)
	}
	all.Time = testreport.Seconds(total)
	return all.Write(w)
}

func (r *Report) caseOf(result *result.Result) testreport.Case {
	c := testreport.Case{Name: "kwok/" + result.Cell.String(), Class: "kwok." + result.Recipe, Time: testreport.Seconds(result.Duration)}
	place := placeOf(result)
	c.File, c.Line = place.File, place.Line
	upload := upload(result)
	c.Properties = testreport.PropertiesOf([][2]string{
		{"status", string(result.Status)}, {"known", string(result.Known)}, {"run", webURL(upload.URL)}, {"artifact", upload.Artifact}, {"download", upload.Command()}, {"charts", result.Charts}, {"recipes", result.Recipes}, {"data", result.Data}, {"cluster", result.Cluster},
		{"rerun", result.Rerun}, {"artifacts", result.Artifacts},
	}...)
	var out []string
	for _, p := range result.Phases {
		out = append(out, fmt.Sprintf("%-12s %s", p.Name, p.Took()))
	}
	c.Out = strings.Join(append(out, r.remarkLines(result)...), "\n")
	next := []string{"rerun: " + result.Rerun}
	if command := upload.Command(); command != "" {
		next = append(next, "debug artifacts: "+command)
	}
	problem := &testreport.Problem{Type: string(result.Reason), Message: result.Cause, Text: strings.Join(append(slices.Clone(result.Details), next...), "\n")}
	switch ctrfStatus(result.Status) {
	case "passed":
	case "failed":
		c.Failure = problem
	case "skipped":
		c.Skipped = &testreport.Problem{Message: result.Cause}
	default:
		problem.Message = string(result.Status) + ": " + result.Cause
		c.Error = problem
	}
	return c
}

// upload is where the cell's debug artifacts are in CI; the zero value if they are not.
func upload(res *result.Result) *result.Upload {
	if res.Upload == nil {
		return &result.Upload{}
	}
	return res.Upload
}
