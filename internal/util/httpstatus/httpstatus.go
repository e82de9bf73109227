// Package httpstatus attaches an HTTP status to an error, for programs whose exit codes tell a
// missing document from a refused login.
package httpstatus

import (
	"errors"
	"net/http"
	"strconv"
	"time"
)

// statusError is an error with the HTTP status that it came from, or the one that says the same where no
// HTTP was spoken: 404 for a file that does not exist, 504 for an answer that did not come in time.
type statusError struct {
	Status int
	Err    error
}

func (e *statusError) Error() string { return e.Err.Error() }

// Unwrap lets errors.Is and errors.As see the cause.
func (e *statusError) Unwrap() error { return e.Err }

// With attaches a status; nil stays nil.
func With(status int, err error) error {
	if err == nil {
		return nil
	}
	return &statusError{Status: status, Err: err}
}

// Of is the status of err; 0 if it has none.
func Of(err error) int {
	var e *statusError
	if errors.As(err, &e) {
		return e.Status
	}
	return 0
}

// RetryAfter reads a header of that name: seconds, or a time; 0 for another text.
func RetryAfter(value string, now time.Time) time.Duration {
	if seconds, err := strconv.Atoi(value); err == nil {
		return time.Duration(min(max(0, seconds), 1<<20)) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}
