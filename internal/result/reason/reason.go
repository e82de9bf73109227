// Package reason names why a run or a cell ended as it did, and knows what each name means: its
// exit code, its class, its help text and the files to open next. All of that is one table
// (table.go), so that a new reason is a constant and a row there.
//
// Other packages attach a name to an error with New or Wrap; they never choose exit codes. The
// package is a leaf: it imports no other package of this module, and knows nothing of cells,
// clusters and reports.
package reason

import (
	"errors"
	"fmt"
)

// Reason is the name of a cause. It is what results files carry, and what `matrix explain` takes.
type Reason string

// Error is an error with a name.
type Error struct {
	Reason Reason
	// Component is the process or part that is to blame, where there is one, e.g.
	// "argocd-application-controller".
	Component string
	Err       error
}

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap lets errors.Is and errors.As see the cause.
func (e *Error) Unwrap() error { return e.Err }

// New makes a named error from a format; %w works.
func New(r Reason, format string, args ...any) error {
	return &Error{Reason: r, Err: fmt.Errorf(format, args...)}
}

// Wrap names err, unless something below has named it already: the first name is the nearest to the
// cause.
func Wrap(r Reason, err error) error {
	if err == nil {
		return nil
	}
	var named *Error
	if errors.As(err, &named) {
		return err
	}
	return &Error{Reason: r, Err: err}
}

// Of is the name of err: Internal if nothing named it, "" for nil.
func Of(err error) Reason {
	if err == nil {
		return ""
	}
	var named *Error
	if errors.As(err, &named) {
		return named.Reason
	}
	return Internal
}
