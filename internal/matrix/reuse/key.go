// Package reuse stores the verdicts of cells that passed, by a digest of all of their inputs, so
// that a cell that would do exactly the same again need not run. It knows files and digests. It
// must not know what a recipe or a cluster is, or which inputs a cell has.
package reuse

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// keyFormat is part of every key. Raise it when a key of today would stand for other inputs.
const keyFormat = "1"

// Inputs are what a cell's verdict depends on: the name of each for people, and its digest.
type Inputs map[string]string

// Add adds an input of any type that JSON can encode; the keys of maps are sorted. Two inputs of
// one name are the caller's mistake.
func (in Inputs) Add(name string, value any) error {
	raw, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("digest of input %q: %w", name, err)
	}
	if _, ok := in[name]; ok {
		return fmt.Errorf("input %q is there twice", name)
	}
	in[name] = Digest(raw)
	return nil
}

// Digest returns the SHA-256 of some bytes, in hexadecimal digits.
func Digest(raw []byte) string {
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// Key returns the digest of all inputs, 64 hexadecimal digits.
func (in Inputs) Key() string {
	h := sha256.New()
	_, _ = fmt.Fprintln(h, keyFormat) // a hash never fails
	for _, name := range in.names() {
		_, _ = fmt.Fprintf(h, "%q %s\n", name, in[name])
	}
	return hex.EncodeToString(h.Sum(nil))
}

func (in Inputs) names() []string { return slices.Sorted(maps.Keys(in)) }

// Changed returns the inputs that differ from earlier ones, sorted by name: "NAME", "NAME (new)" or
// "NAME (gone)".
func (in Inputs) Changed(before Inputs) []string {
	var changed []string
	for _, name := range in.names() {
		old, ok := before[name]
		switch {
		case !ok:
			changed = append(changed, name+" (new)")
		case old != in[name]:
			changed = append(changed, name)
		}
	}
	for _, name := range before.names() {
		if _, ok := in[name]; !ok {
			changed = append(changed, name+" (gone)")
		}
	}
	slices.Sort(changed)
	return changed
}
