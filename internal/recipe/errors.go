package recipe

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

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

// UnknownRecipeError says that no overlay has the name that was asked for.
type UnknownRecipeError struct {
	Name       string
	Known      []string // sorted
	Suggestion string   // the nearest known name; empty if none is near
}

// Error names the suggestion, or else everything there is.
func (e *UnknownRecipeError) Error() string {
	if len(e.Known) == 0 {
		return fmt.Sprintf("there is no recipe %q; the recipes directory has none", e.Name)
	}
	hint := ""
	if e.Suggestion != "" {
		hint = fmt.Sprintf("did you mean %q? ", e.Suggestion)
	}
	return fmt.Sprintf("there is no recipe %q; %sthe known ones are: %s", e.Name, hint, strings.Join(e.Known, ", "))
}

func errorAt(at Origin, format string, args ...any) *FileError {
	return &FileError{File: at.File, Line: at.Line, Err: fmt.Errorf(format, args...)}
}

// problems collects what is wrong, so that a person can fix everything in one go.
type problems struct {
	found []*FileError
}

func (p *problems) add(at Origin, format string, args ...any) {
	p.found = append(p.found, errorAt(at, format, args...))
}

func (p *problems) addAll(found []*FileError) { p.found = append(p.found, found...) }

// err joins the problems in the order of files and lines. A problem that was found on two ways is
// told once, and one that many files have too, with a count and three of the places.
func (p *problems) err() error {
	slices.SortStableFunc(p.found, func(a, b *FileError) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), strings.Compare(a.Error(), b.Error()))
	})
	p.found = slices.CompactFunc(p.found, func(a, b *FileError) bool { return a.Error() == b.Error() })
	const few = 3
	places := map[string][]Origin{}
	for _, e := range p.found {
		places[e.Err.Error()] = append(places[e.Err.Error()], Origin{e.File, e.Line})
	}
	var joined []error
	for _, e := range p.found {
		all := places[e.Err.Error()]
		switch {
		case len(all) <= few:
			joined = append(joined, e)
		case all[0] == Origin{e.File, e.Line}:
			joined = append(joined, &FileError{e.File, e.Line, fmt.Errorf("%w (%d places: %s)", e.Err, len(all), listPlaces(all))})
		}
	}
	return errors.Join(joined...)
}
