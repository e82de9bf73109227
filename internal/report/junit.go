package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/nvidia/aicr-action/internal/result"
)

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Skipped  int          `xml:"skipped,attr"`
	Time     string       `xml:"time,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name      string      `xml:"name,attr"`
	Tests     int         `xml:"tests,attr"`
	Failures  int         `xml:"failures,attr"`
	Errors    int         `xml:"errors,attr"`
	Skipped   int         `xml:"skipped,attr"`
	Time      string      `xml:"time,attr"`
	Timestamp string      `xml:"timestamp,attr,omitempty"`
	Cases     []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name       string           `xml:"name,attr"`
	Class      string           `xml:"classname,attr"`
	File       string           `xml:"file,attr,omitempty"`
	Line       int              `xml:"line,attr,omitempty"`
	Time       string           `xml:"time,attr"`
	Properties *junitProperties `xml:"properties"`
	Failure    *junitProblem    `xml:"failure"`
	Error      *junitProblem    `xml:"error"`
	Skipped    *junitProblem    `xml:"skipped"`
	Out        string           `xml:"system-out,omitempty"`
}

type junitProperties struct {
	List []junitProperty `xml:"property"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitProblem struct {
	Type    string `xml:"type,attr,omitempty"`
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// WriteJUnit writes JUnit XML: a suite per recipe, a test per cell. A failure is the recipe's; an error is the machine's, an interrupt's,
// or a cell that never ran, which must not look like one that was skipped on purpose.
func (r *Report) WriteJUnit(w io.Writer) error {
	all := junitSuites{Name: "kwok"}
	recipes, deployers, cells := r.axes()
	var total time.Duration
	for _, recipe := range recipes {
		s := junitSuite{Name: "kwok/" + recipe}
		var took time.Duration
		var first time.Time
		for _, d := range deployers {
			result := cells[result.Cell{Recipe: recipe, Deployer: d}]
			if result == nil {
				continue
			}
			s.add(r.junitCase(result))
			took += result.Duration
			if !result.Started.IsZero() && (first.IsZero() || result.Started.Before(first)) {
				first = result.Started
			}
		}
		s.Time = junitTime(took)
		if !first.IsZero() {
			s.Timestamp = first.UTC().Format("2006-01-02T15:04:05")
		}
		total += took
		all.Tests, all.Failures, all.Errors, all.Skipped = all.Tests+s.Tests, all.Failures+s.Failures, all.Errors+s.Errors, all.Skipped+s.Skipped
		all.Suites = append(all.Suites, s)
	}
	if len(r.Unread) > 0 {
		s := junitSuite{Name: "kwok/merge", Time: junitTime(0)}
		for _, u := range r.Unread {
			s.add(junitCase{Name: "kwok/merge", Class: "kwok.merge", Time: junitTime(0), Error: &junitProblem{Message: u}})
		}
		all.Tests, all.Errors = all.Tests+s.Tests, all.Errors+s.Errors
		all.Suites = append(all.Suites, s)
	}
	all.Time = junitTime(total)
	return all.write(w)
}

func (all *junitSuites) write(w io.Writer) error {
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (s *junitSuite) add(c junitCase) {
	s.Tests++
	switch {
	case c.Failure != nil:
		s.Failures++
	case c.Error != nil:
		s.Errors++
	case c.Skipped != nil:
		s.Skipped++
	}
	s.Cases = append(s.Cases, c)
}

func (r *Report) junitCase(result *result.Result) junitCase {
	c := junitCase{Name: "kwok/" + result.Cell.String(), Class: "kwok." + result.Recipe, Time: junitTime(result.Duration), Properties: &junitProperties{}}
	place := placeOf(result)
	c.File, c.Line = place.File, place.Line
	upload := upload(result)
	for _, p := range []junitProperty{
		{"status", string(result.Status)}, {"known", string(result.Known)}, {"run", webURL(upload.URL)}, {"artifact", upload.Artifact}, {"download", upload.Command()}, {"charts", result.Charts}, {"recipes", result.Recipes}, {"data", result.Data}, {"cluster", result.Cluster},
		{"rerun", result.Rerun}, {"artifacts", result.Artifacts},
	} {
		if p.Value != "" {
			c.Properties.List = append(c.Properties.List, p)
		}
	}
	var out []string
	for _, p := range result.Phases {
		out = append(out, fmt.Sprintf("%-12s %s", p.Name, seconds(p.Duration)))
	}
	c.Out = strings.Join(append(out, remarkLines(result)...), "\n")
	next := []string{"rerun: " + result.Rerun}
	if command := upload.Command(); command != "" {
		next = append(next, "debug artifacts: "+command)
	}
	problem := &junitProblem{Type: string(result.Reason), Message: result.Cause, Text: strings.Join(append(slices.Clone(result.Details), next...), "\n")}
	switch ctrfStatus(result.Status) {
	case "passed":
	case "failed":
		c.Failure = problem
	case "skipped":
		c.Skipped = &junitProblem{Message: result.Cause}
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

func junitTime(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }
