package testkit

import (
	"slices"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/result"
)

// OutlineOf is a finding without its messages: object, others, component, place.
func OutlineOf(f *result.Finding) string {
	parts := []string{"-"}
	if f.Object != nil {
		parts[0] = f.Object.String()
	}
	for _, o := range f.Others {
		parts = append(parts, "+ "+o.String())
	}
	if f.Component != "" {
		parts = append(parts, "("+f.Component+")")
	}
	if f.Place.File != "" {
		parts = append(parts, f.Place.String())
	}
	return strings.Join(parts, " ")
}

// WantOutline fails unless the verdict of an error has one finding of this outline, of which cause
// and details are made.
func WantOutline(t *testing.T, what string, err error, want string) {
	t.Helper()
	v := result.VerdictOf(err)
	if len(v.Findings) != 1 || OutlineOf(&v.Findings[0]) != want {
		t.Errorf("%s: got %+v, want %q", what, v.Findings, want)
		return
	}
	if v.Cause != v.Findings[0].Cause || !slices.Equal(v.Details, v.Findings[0].Story) {
		t.Errorf("%s: cause and details say something else than the finding: %+v", what, v)
	}
}
