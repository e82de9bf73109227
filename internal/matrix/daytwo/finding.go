package daytwo

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/compare"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
)

// mostChanges is how many changes a verdict lists.
const mostChanges = 20

// compare describes what changed, for people; nil if nothing did.
func (r *SecondDelivery) compare(ctx context.Context, before, after state) (*result.Failure, error) {
	changes, err := before.objects.ChangedTo(after.objects)
	if err != nil {
		return nil, err
	}
	jobs := expiringJobs(r.Env.Bundle) // which may be gone at any time, and are created again then
	changes = slices.DeleteFunc(changes, func(c compare.Change) bool { return jobs[c.Object.Ref()] })
	rolls := rolled(before.pods, after.pods)
	for _, c := range changes { // which may not have started yet
		if _, known := rolls[c.Object.Ref()]; !known && strings.HasPrefix(c.Path, "spec.template") && compare.Rolls(c.Object.GVK.Kind) {
			rolls[c.Object.Ref()] = 0
		}
	}
	if len(changes)+len(rolls) == 0 {
		return nil, nil
	}
	// What a roll follows from comes first.
	slices.SortStableFunc(changes, func(a, b compare.Change) int { return follows(rolls, a) - follows(rolls, b) })
	f := r.finding(changes, rolls)
	if len(changes) == 0 {
		return result.NewFailure(f), nil
	}
	generated, err := before.objects.Generated(ctx)
	if err != nil {
		f.Story = append(f.Story, "the charts could not be rendered again, to see which values they generate: "+err.Error())
	}
	f.Story = append(f.Story, r.staying(changes, generated)...)
	f.Story = append(f.Story, causes(r.Env.Bundle, changes, generated)...)
	return result.NewFailure(f), nil
}

func follows(rolls map[result.Ref]int, c compare.Change) int {
	if _, ok := rolls[c.Object.Ref()]; ok {
		return 1
	}
	return 0
}

// finding names the objects, the places, and the workloads that roll.
func (r *SecondDelivery) finding(changes []compare.Change, rolls map[result.Ref]int) result.Finding {
	f := result.Finding{Check: secondChanges.ID}
	add := func(ref result.Ref) {
		if f.Object == nil {
			f.Object = &ref
		} else if *f.Object != ref && !slices.Contains(f.Others, ref) {
			f.Others = append(f.Others, ref)
		}
	}
	for i, c := range changes {
		if add(c.Object.Ref()); i == mostChanges {
			f.Story = append(f.Story, fmt.Sprintf("and %d more", len(changes)-i))
		}
		if i < mostChanges {
			f.Story = append(f.Story, c.Object.String()+"  "+c.Text)
		}
	}
	var names []string
	for _, owner := range inOrder(rolls) {
		add(owner)
		names = append(names, owner.String())
		switch n := rolls[owner]; n {
		case 0:
			f.Story = append(f.Story, owner.String()+"  rolls: its pod template changed")
		default:
			f.Story = append(f.Story, fmt.Sprintf("%s  rolls: %d of its pods were replaced", owner, n))
		}
	}
	switch {
	case len(changes) == 0:
		f.Cause = "delivered again without a change, " + names[0] + " rolls"
		names = names[1:]
	default:
		f.Cause = "delivered again without a change, " + changes[0].Object.String() + " differs: " + changes[0].Text
		if n := len(changes) - 1; n > 0 {
			f.Cause += fmt.Sprintf(" (and %d more)", n)
		}
	}
	if len(names) > 0 {
		f.Cause += "; " + names[0] + " rolls"
		if n := len(names) - 1; n > 0 {
			f.Cause += fmt.Sprintf(" (and %d more)", n)
		}
	}
	return f
}

// staying names the hooks that have a generated value and did not change, of releases with an
// ordinary object that did: the two no longer fit each other.
func (r *SecondDelivery) staying(changes []compare.Change, generated map[string]map[string]bool) []string {
	changed, releases := map[string]bool{}, map[string]bool{}
	for _, c := range changes {
		changed[c.Object.Key()] = true
		if len(generated[c.Object.Key()]) > 0 {
			releases[releaseOf(r.Env.Bundle, c.Object)] = true
		}
	}
	var lines []string
	for _, o := range r.Env.Bundle.Expectation.Objects {
		of := lane.Object{GVK: o.Object.GroupVersionKind(), Namespace: o.Object.GetNamespace(), Name: o.Object.GetName()}
		if o.Hook && releases[o.Release] && len(generated[of.Key()]) > 0 && !changed[of.Key()] {
			lines = append(lines, of.String()+"  did not change: it is a hook, which this deployer does not run again. If it has the same value, the two no longer fit each other")
		}
	}
	return lines
}

// releaseOf returns the release whose chart renders the object.
func releaseOf(b *bundle.Bundle, object lane.Object) string {
	if o := driftRendered(b, object); o != nil {
		return o.Release
	}
	return object.Release
}

// driftRendered returns the object as its chart renders it; nil if none does.
func driftRendered(b *bundle.Bundle, object lane.Object) *bundle.Object {
	for i, o := range b.Expectation.Objects {
		if (lane.Object{GVK: o.Object.GroupVersionKind(), Namespace: o.Object.GetNamespace(), Name: o.Object.GetName()}).Key() == object.Key() {
			return &b.Expectation.Objects[i]
		}
	}
	return nil
}
