package compare

import (
	"fmt"
	"maps"
	"slices"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// Fought returns an error for objects that two components own with different content, in a lane of
// Argo CD: it applies each in turn, without end, so that what is live at a moment says nothing.
// Helm and Flux settle on one. Reason: LANE_DIVERGENCE.
func (c *Captured) Fought(deployer string) error {
	if !bundle.ByArgoCD(deployer) {
		return nil
	}
	f := result.Finding{Check: ownedTwice.ID}
	for _, key := range slices.Sorted(maps.Keys(c.objects)) {
		o := c.objects[key]
		if len(o.owners) < 2 {
			continue
		}
		ref := o.ref.Ref()
		line := o.ref.String() + ": " + ownedBy(o.owners)
		if f.Object == nil {
			f.Object, f.Component = &ref, componentOf(c.Releases, o.owners[0])
			f.Cause = line + ", and Argo CD applies each in turn: it never settles"
		} else {
			f.Others = append(f.Others, ref)
		}
		if len(f.Story) < mostDifferences {
			f.Story = append(f.Story, line)
		}
	}
	if f.Object == nil {
		return nil
	}
	if n := len(f.Others); n > 0 {
		f.Cause += fmt.Sprintf(" (and %d more)", n)
	}
	f.Story = append(f.Story, "Helm keeps the first one's, and Flux the last one's, so that lanes differ. Let only one component own it.")
	return &reason.Error{Reason: reason.LaneDivergence, Err: result.NewFailure(f)}
}
