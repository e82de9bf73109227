package judge

import (
	"fmt"
	"slices"

	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/problem"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// Report is what checks found.
type Report struct {
	// Faults make the recipe fail. Warnings may be intended. Notes say what was not verified, and
	// why.
	Faults          []Fault
	Warnings, Notes []string
	// Ignored are the findings that the user ignores, a line each, with the reason.
	Ignored []string
	// Findings are all that checks with an ID found, those that were ignored among them.
	Findings []result.Finding
}

// Fault is a finding that makes the recipe fail.
type Fault struct {
	Reason  reason.Reason
	Finding result.Finding
}

// Into adds all but the faults to a result.
func (r *Report) Into(to *result.Result) {
	to.Warnings = append(to.Warnings, r.Warnings...)
	to.NotVerified = append(to.NotVerified, r.Notes...)
	to.Ignored = append(to.Ignored, r.Ignored...)
	to.Judged = append(to.Judged, r.Findings...)
}

// Err returns the faults as a cell's failure; nil without faults. Its reason is the first fault's.
func (r *Report) Err() error {
	if len(r.Faults) == 0 {
		return nil
	}
	f := &result.Failure{}
	for i := range r.Faults {
		f.Findings = append(f.Findings, r.Faults[i].Finding)
	}
	return &reason.Error{Reason: r.Faults[0].Reason, Err: f}
}

// docket collects what checks find of one delivery, and makes findings of it: one for a cause, whatever the
// number of objects that it concerns.
type docket struct {
	index *facts.Index

	faults   []*docketed
	warnings []string
	notes    []string
	ignored  []string
	findings []result.Finding
	// merged are the findings by their cause.
	merged map[string]*result.Finding
	later  []*later
}

type docketed struct {
	reason  reason.Reason
	finding *result.Finding
}

// later is an object that is created at run time, with those that need it.
type later struct {
	what, how, one, many string
	users                []string
}

// newDocket returns an empty one.
func newDocket(x *facts.Index) *docket {
	return &docket{index: x, merged: map[string]*result.Finding{}}
}

// Add adds a problem: as a fault, a warning or a note. One whose missing object something makes at run time is a
// note.
func (d *docket) Add(p problem.Problem) {
	if m := p.Missing; m.Name != "" {
		if made := d.index.MadeAtRunTime(m.Kind, m.Namespace, m.Name, p.From); made != nil {
			d.note(fmt.Sprintf("%s, which %s (%s) names, is made at run time by %s", m, p.From, p.Component, made.By))
			return
		}
	}
	switch {
	case p.Unverified != nil:
		d.unverified(p.Unverified.What, p.Unverified.How, p.From, p.Unverified.One, p.Unverified.Many)
	case p.Ignored != "":
		d.ignore(&p)
	case p.Reason != "":
		d.fault(&p)
	case p.Note:
		d.note(d.line(&p))
		d.keep(&p, result.SeverityNote)
	default:
		d.warnings = append(d.warnings, d.line(&p))
		d.keep(&p, result.SeverityWarning)
	}
}

// keep keeps what a check with an ID found besides faults.
func (d *docket) keep(p *problem.Problem, severity result.Severity) {
	if p.Check != "" {
		d.findings = append(d.findings, d.finding(p, severity))
	}
}

// ignore keeps what the user has ignored.
func (d *docket) ignore(p *problem.Problem) {
	severity := result.SeverityWarning
	if p.Reason != "" {
		severity = result.SeverityError
	} else if p.Note {
		severity = result.SeverityNote
	}
	f := d.finding(p, severity)
	f.Ignored = p.Ignored
	d.findings = append(d.findings, f)
	d.ignored = append(d.ignored, ignoredLine(&f))
}

// subject is the object, with its component if it has one.
func subject(p *problem.Problem) string {
	if p.Component == "" {
		return p.From.String()
	}
	return fmt.Sprintf("%s (%s)", p.From, p.Component)
}

// line is a problem in one line.
func (d *docket) line(p *problem.Problem) string {
	_, where := d.index.Place(p)
	text := fmt.Sprintf("%s: %s; %s (%s)", subject(p), p.Text, p.Then, where)
	if p.Check != "" {
		text += " " + tag(p.Check)
	}
	return text
}

// tag is an ID as it stands behind a finding.
func tag(id string) string { return "[" + id + "]" }

// finding is a problem as data.
func (d *docket) finding(p *problem.Problem, severity result.Severity) result.Finding {
	place, where := d.index.Place(p)
	cause := subject(p) + ": " + p.Text
	if severity == result.SeverityError {
		cause = p.Lead + cause
	}
	f := result.Finding{Cause: cause, Object: &p.From, Component: p.Component, Place: place}
	if p.Check != "" {
		f.Cause += " " + tag(p.Check)
		f.Check, f.Severity, f.Reason, f.Path, f.Arguments = p.Check, severity, p.Reason, p.Path, p.Arguments
	}
	f.Story = append(f.Story, f.Cause)
	for _, line := range slices.Concat([]string{p.Then}, p.More, []string{where}) {
		f.Story = append(f.Story, "  "+line)
	}
	return f
}

func (d *docket) fault(p *problem.Problem) {
	if f := d.merged[p.Cause]; f != nil && p.Cause != "" {
		if *f.Object != p.From && !slices.Contains(f.Others, p.From) {
			f.Others = append(f.Others, p.From)
			f.Story = append(f.Story, "so does "+p.From.String())
		}
		return
	}
	f := d.finding(p, result.SeverityError)
	d.merged[p.Cause] = &f
	d.faults = append(d.faults, &docketed{p.Reason, &f})
}

// note adds a line on what was not verified, once.
func (d *docket) note(line string) {
	if !slices.Contains(d.notes, line) {
		d.notes = append(d.notes, line)
	}
}

// unverified notes that an object which exists only if operators and Jobs do their work could not
// be checked.
func (d *docket) unverified(what, how string, user result.Ref, one, many string) {
	i := slices.IndexFunc(d.later, func(l *later) bool { return l.what == what && l.how == how && l.one == one })
	if i < 0 {
		i = len(d.later)
		d.later = append(d.later, &later{what: what, how: how, one: one, many: many})
	}
	if l := d.later[i]; !slices.Contains(l.users, user.String()) {
		l.users = append(l.users, user.String())
	}
}

func (l *later) String() string {
	if len(l.users) == 1 {
		return fmt.Sprintf("%s %s; without it %s %s", l.what, l.how, l.users[0], l.one)
	}
	return fmt.Sprintf("%s %s; without it %s and %d more %s", l.what, l.how, l.users[0], len(l.users)-1, l.many)
}

// Report is all that was added.
func (d *docket) Report() Report {
	r := Report{Warnings: d.warnings, Notes: slices.Clone(d.notes), Ignored: d.ignored, Findings: d.findings}
	for _, l := range d.later {
		r.Notes = append(r.Notes, l.String())
	}
	for _, f := range d.faults {
		r.Faults = append(r.Faults, Fault{f.reason, *f.finding})
		if f.finding.Check != "" {
			r.Findings = append(r.Findings, *f.finding)
		}
	}
	return r
}
