package result

import (
	"errors"
	"fmt"
	"testing"
)

// fileError is an error that knows its place, as package recipe has them.
type fileError struct {
	file string
	line int
}

func (e *fileError) Error() string           { return "malformed" }
func (e *fileError) Position() (string, int) { return e.file, e.line }

func TestPlaceOf(t *testing.T) {
	known := &fileError{"a.yaml", 3}
	whole := &fileError{"b.yaml", 0}
	for name, tc := range map[string]struct {
		err  error
		want Place
	}{
		"no error":              {nil, Place{}},
		"no place":              {errors.New("a.yaml:3: only said"), Place{}},
		"itself":                {known, Place{File: "a.yaml", Line: 3}},
		"wrapped":               {fmt.Errorf("read: %w", known), Place{File: "a.yaml", Line: 3}},
		"one of several":        {fmt.Errorf("all: %w", errors.Join(errors.New("x"), known, &fileError{"c.yaml", 1})), Place{File: "a.yaml", Line: 3}},
		"a file without a line": {whole, Place{}},
		"the next one knows":    {fmt.Errorf("all: %w", errors.Join(whole, known)), Place{File: "a.yaml", Line: 3}},
		"given":                 {At(Place{File: "d.yaml", Line: 4}, errors.New("x")), Place{File: "d.yaml", Line: 4}},
	} {
		if got := PlaceOf(tc.err); got != tc.want {
			t.Errorf("%s: got %+v, want %+v", name, got, tc.want)
		}
	}
	if err := At(Place{File: "d.yaml", Line: 4}, known); err.Error() != known.Error() || !errors.Is(err, known) {
		t.Errorf("a place changes an error: %v", err)
	}
}
