package foreign

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/recipe"
)

// Place says where a person finds a file of a laid-out bundle.
type Place struct {
	// File is the path of the file that it was made from.
	File string
	// Lines gives, for lines of the bundle's file, those of File; nil if they are the same.
	Lines map[int]int
	// Elsewhere gives, for lines of the bundle's file that are from yet another file, e.g. that of a
	// patch, the place there.
	Elsewhere map[int]recipe.Origin
}

// origin is the place of a line. One that has no number of its own, e.g. within a block of text,
// counts from the last that has.
func (p Place) origin(line int) recipe.Origin {
	o := recipe.Origin{File: filepath.FromSlash(p.File), Line: line}
	if p.Lines == nil || line == 0 {
		return o
	}
	o.Line = 0
	for at, back := line, 0; at > 0; at, back = at-1, back+1 {
		if there, ok := p.Elsewhere[at]; ok {
			return recipe.Origin{File: filepath.FromSlash(there.File), Line: there.Line + back}
		}
		if first, ok := p.Lines[at]; ok {
			o.Line = first + back
			break
		}
	}
	return o
}

// Laid is a bundle that this program laid out for a lane, from files that are in no bundle's form
// (package app).
type Laid struct {
	Dir    string           // holds the bundle; it is read once
	Called string           // the name of what it was made from, for people
	Places map[string]Place // by path in Dir
	// Overrides are what was changed or added. NotVerified is what was left out.
	Overrides, NotVerified []string
}

// OpenLaid is Open for a laid-out bundle: messages name the files that it was made from, no workload
// is expected to tolerate a taint of simulated nodes, and AICR's additions are not looked for.
func OpenLaid(ctx context.Context, l Laid, d bundle.Deployer) (*Bundle, error) {
	t, err := readTree(l.Dir, l.Called)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", l.Called, err)
	}
	t.places = l.Places
	b := &Bundle{tree: t, deployer: d, laid: true, overrides: l.Overrides}
	if err := b.readForm(ctx); err != nil {
		return nil, err
	}
	b.unknown = append(b.unknown, l.NotVerified...)
	return b, nil
}
