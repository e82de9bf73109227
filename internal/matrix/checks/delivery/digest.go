package delivery

import (
	"strings"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

// withDigest calls a function for each object whose chart sees the digest that Flux adds to its version.
func withDigest(s *judge.Scope, each func(o *bundle.Object, r *bundle.Release, digest string)) {
	seen := map[string]*bundle.Release{}
	for i := range s.Expectation.Releases {
		if r := &s.Expectation.Releases[i]; r.SeenVersion != "" {
			seen[r.Name] = r
		}
	}
	for i := range s.Expectation.Objects {
		if o := &s.Expectation.Objects[i]; seen[o.Release] != nil {
			_, digest, _ := strings.Cut(seen[o.Release].SeenVersion, "+")
			each(o, seen[o.Release], digest)
		}
	}
}
