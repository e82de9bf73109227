package document

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Origin says where a value was set.
type Origin struct {
	File string // as a person can open it: the recipes directory as given, then the path in it
	Line int    // 1-based; 0 if unknown
	// Written is a number as the file has it, where the value is printed otherwise, e.g. 1.10 for 1.1; empty
	// for anything else.
	Written string
	// Listed are such numbers in a list, in the order of the file; nil if there are none. A pointer, so that
	// two places can be compared.
	Listed *[]Number
}

// Number is one that is printed otherwise than its file has it, in a list.
type Number struct {
	Path    []any // from the list: an index (int) or a key (string) a step
	Line    int   // 1-based
	Written string
}

// Value is what the list has now at the number's place; false if it has none.
func (n Number) Value(list any) (any, bool) {
	for _, step := range n.Path {
		switch step := step.(type) {
		case int:
			l, _ := list.([]any)
			if step >= len(l) {
				return nil, false
			}
			list = l[step]
		case string:
			m, _ := list.(map[string]any)
			if list = m[step]; list == nil {
				return nil, false
			}
		}
	}
	return list, true
}

// String is the path as it is put behind the list's own: [0].tag.
func (n Number) String() string {
	var b strings.Builder
	for _, step := range n.Path {
		if i, ok := step.(int); ok {
			fmt.Fprintf(&b, "[%d]", i)
		} else {
			fmt.Fprintf(&b, ".%s", step)
		}
	}
	return b.String()
}

// String gives file:line, the form that editors and GitHub annotations understand.
func (o Origin) String() string {
	if o.Line == 0 {
		return o.File
	}
	return fmt.Sprintf("%s:%d", o.File, o.Line)
}

// FileError is a problem at a place in a recipes directory.
type FileError struct {
	File string // as a person can open it: the recipes directory as given, then the path in it
	Line int    // 1-based; 0 if the problem is with the file as a whole
	Err  error
}

// Error starts with file:line, which editors and CI annotations understand.
func (e *FileError) Error() string {
	return fmt.Sprintf("%s: %v", Origin{File: e.File, Line: e.Line}, e.Err)
}

// Unwrap gives the problem without its place.
func (e *FileError) Unwrap() error { return e.Err }

// Position is where the problem is, for programs.
func (e *FileError) Position() (file string, line int) { return e.File, e.Line }

// ErrorAt makes a FileError; the rest is as for fmt.Errorf.
func ErrorAt(at Origin, format string, args ...any) *FileError {
	return &FileError{File: at.File, Line: at.Line, Err: fmt.Errorf(format, args...)}
}

// Problems collects what is wrong, so that a person can fix everything in one go.
type Problems struct {
	Found []*FileError
}

// Add adds a problem; the rest is as for fmt.Errorf.
func (p *Problems) Add(at Origin, format string, args ...any) {
	p.Found = append(p.Found, ErrorAt(at, format, args...))
}

// AddAll adds problems.
func (p *Problems) AddAll(found []*FileError) { p.Found = append(p.Found, found...) }

// Err joins the problems in the order of files and lines. It reports a problem once if two checks
// found it, and once with a count and three of the places if many files have it.
func (p *Problems) Err() error {
	slices.SortStableFunc(p.Found, func(a, b *FileError) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), strings.Compare(a.Error(), b.Error()))
	})
	p.Found = slices.CompactFunc(p.Found, func(a, b *FileError) bool { return a.Error() == b.Error() })
	const few = 3
	places := map[string][]Origin{}
	for _, e := range p.Found {
		places[e.Err.Error()] = append(places[e.Err.Error()], Origin{File: e.File, Line: e.Line})
	}
	var joined []error
	for _, e := range p.Found {
		all := places[e.Err.Error()]
		switch {
		case len(all) <= few:
			joined = append(joined, e)
		case all[0] == (Origin{File: e.File, Line: e.Line}):
			joined = append(joined, &FileError{e.File, e.Line, fmt.Errorf("%w (%d places: %s)", e.Err, len(all), listPlaces(all))})
		}
	}
	return errors.Join(joined...)
}

// listPlaces names up to three places, and says how many more there are.
func listPlaces(places []Origin) string {
	const most = 3
	slices.SortFunc(places, func(a, b Origin) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	var names []string
	for _, at := range places[:min(most, len(places))] {
		names = append(names, at.String())
	}
	list := strings.Join(names, ", ")
	if more := len(places) - most; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return list
}
