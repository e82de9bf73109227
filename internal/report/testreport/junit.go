package testreport

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/nvidia/aicr-action/internal/util/mdtext"
)

// JUnit is a report in JUnit XML.
type JUnit struct {
	XMLName  xml.Name `xml:"testsuites"`
	Name     string   `xml:"name,attr"`
	Tests    int      `xml:"tests,attr"`
	Failures int      `xml:"failures,attr"`
	Errors   int      `xml:"errors,attr"`
	Skipped  int      `xml:"skipped,attr"`
	Time     string   `xml:"time,attr"`
	Suites   []Suite  `xml:"testsuite"`
}

// Suite is a suite of it. File is empty if the suite is of no file.
type Suite struct {
	Name       string      `xml:"name,attr"`
	File       string      `xml:"file,attr,omitempty"`
	Tests      int         `xml:"tests,attr"`
	Failures   int         `xml:"failures,attr"`
	Errors     int         `xml:"errors,attr"`
	Skipped    int         `xml:"skipped,attr"`
	Time       string      `xml:"time,attr"`
	Timestamp  string      `xml:"timestamp,attr,omitempty"`
	Properties *Properties `xml:"properties"`
	Cases      []Case      `xml:"testcase"`
}

// Case is one test. At most one of Failure, Error and Skipped is set.
type Case struct {
	Name       string      `xml:"name,attr"`
	Class      string      `xml:"classname,attr"`
	File       string      `xml:"file,attr,omitempty"`
	Line       int         `xml:"line,attr,omitempty"`
	Time       string      `xml:"time,attr"`
	Properties *Properties `xml:"properties"`
	Failure    *Problem    `xml:"failure"`
	Error      *Problem    `xml:"error"`
	Skipped    *Problem    `xml:"skipped"`
	Out        string      `xml:"system-out,omitempty"`
}

// Properties are those of a suite or a test.
type Properties struct {
	List []Property `xml:"property"`
}

// Property is a name with a value.
type Property struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

// PropertiesOf are pairs of name and value; those without a value are left out.
func PropertiesOf(pairs ...[2]string) *Properties {
	p := &Properties{}
	for _, one := range pairs {
		if one[1] != "" {
			p.List = append(p.List, Property{Name: one[0], Value: one[1]})
		}
	}
	return p
}

// Problem is why a test did not pass.
type Problem struct {
	Type    string `xml:"type,attr,omitempty"`
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// Add adds a suite, which is complete, with its counts.
func (j *JUnit) Add(s Suite) {
	j.Tests, j.Failures, j.Errors, j.Skipped = j.Tests+s.Tests, j.Failures+s.Failures, j.Errors+s.Errors, j.Skipped+s.Skipped
	j.Suites = append(j.Suites, s)
}

// Add adds a test, and counts it.
func (s *Suite) Add(c Case) {
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

// Write writes the report. What XML cannot have becomes U+FFFD, and what would turn a text around is
// spelled.
func (j *JUnit) Write(w io.Writer) error {
	var b strings.Builder
	enc := xml.NewEncoder(&b)
	enc.Indent("", "  ")
	if err := enc.Encode(j); err != nil {
		return err
	}
	_, err := io.WriteString(w, xml.Header+mdtext.Visible(b.String())+"\n")
	return err
}

// Seconds is a time as JUnit has it.
func Seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }

// Timestamp is the start of a suite, in UTC; empty for the zero time.
func Timestamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05")
}
