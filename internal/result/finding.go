package result

import (
	"errors"

	"github.com/nvidia/aicr-action/internal/result/reason"
)

// Finding is one failure of a cell. Reports group and place findings by these fields. The texts are
// for people, and no program parses them.
type Finding struct {
	// Check is the ID of the check that found it, e.g. MX118; empty for what no check with an ID found. What
	// compares findings of two runs compares Check, Object and Path, and no text.
	Check string `json:"check,omitempty"`
	// Severity is that of a finding with an ID.
	Severity Severity `json:"severity,omitempty"`
	// Reason is that with which a finding with an ID fails a cell; empty for a warning or a note.
	Reason reason.Reason `json:"reason,omitempty"`
	// Path is the field of Object, as kubectl explain writes it; empty if the finding is about all of it.
	Path string `json:"path,omitempty"`
	// Arguments are what Cause was made with, in the order of the check's message.
	Arguments []string `json:"arguments,omitempty"`
	// Ignored is the reason for which the user has it ignored; empty otherwise.
	Ignored string `json:"ignored,omitempty"`
	// Cause is one line.
	Cause string `json:"cause"`
	// Object is the failed object; nil if the failure is no object's. A release that Helm or the
	// harness delivers without an object has the kind "Helm release" or "Release".
	Object *Ref `json:"object,omitempty"`
	// Others are further objects that failed with it. The cause counts them, and the story lists
	// them.
	Others []Ref `json:"others,omitempty"`
	// Component of the recipe to which Object belongs; empty if unknown.
	Component string `json:"component,omitempty"`
	// Place is the line that decides: the one that sets a value, or else the one that declares the
	// component; zero if unknown.
	Place Place `json:"place,omitzero"`
	// Pods are namespace/name of the pods that it is about.
	Pods []string `json:"pods,omitempty"`
	// SameAs is the object of an earlier finding with the same root cause, whose story applies to
	// this one too; nil for a root cause.
	SameAs *Ref `json:"sameAs,omitempty"`
	// Story is the lines that a person reads next. An element may have line breaks where it quotes
	// a controller.
	Story []string `json:"story,omitempty"`
}

// Severity is how much a finding weighs. The words are those of SARIF's levels.
type Severity string

// The severities. An error makes a cell fail.
const (
	SeverityError   Severity = "error"
	SeverityWarning Severity = "warning"
	SeverityNote    Severity = "note"
)

// positioned is an error that knows the line it is about. An error implements it without this
// package: see recipe.FileError.
type positioned interface {
	error
	// Position is the file, as a person can open it, and the line in it, from 1; 0 if only the file
	// is known.
	Position() (file string, line int)
}

// PlaceOf is the place of the first error in err's tree that knows a line; the zero Place if none
// does.
func PlaceOf(err error) Place {
	if err == nil {
		return Place{}
	}
	var at positioned
	if errors.As(err, &at) {
		if file, line := at.Position(); file != "" && line > 0 {
			return Place{File: file, Line: line}
		}
	}
	// The first one knows no line: one of those that it is joined with, or that it wraps, may.
	switch x := any(err).(type) {
	case interface{ Unwrap() error }:
		return PlaceOf(x.Unwrap())
	case interface{ Unwrap() []error }:
		for _, e := range x.Unwrap() {
			if p := PlaceOf(e); p != (Place{}) {
				return p
			}
		}
	}
	return Place{}
}

// At gives an error its place. The text stays what it is.
func At(p Place, err error) error { return &placedError{p, err} }

type placedError struct {
	place Place
	err   error
}

func (e *placedError) Error() string                     { return e.err.Error() }
func (e *placedError) Unwrap() error                     { return e.err }
func (e *placedError) Position() (file string, line int) { return e.place.File, e.place.Line }
