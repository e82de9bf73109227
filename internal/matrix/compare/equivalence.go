// Package compare compares the objects that one lane delivered with those of another. It knows how
// to capture objects, which parts of them are not the chart's, and which differences are known to
// be harmless. It must not wait, read a cluster twice, or know how a lane delivers.
package compare

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// Lane is a cell that passed, with its captured objects.
type Lane struct {
	*result.Result
	Live *Captured
	// Bench has what the user ignores.
	Bench *judge.Bench
}

// Lanes compares the cells of one recipe that passed with each other: the objects must be the same,
// whatever the deployer. The reference is the helm lane's cell, which has the least between the
// chart and the cluster, or else the first one. A cell that differs becomes a failure
// (LANE_DIVERGENCE) with the places and both values. A single cell is not compared. rerun returns
// the command that runs several lanes of a recipe again.
func Lanes(ctx context.Context, cells []Lane, benign []benignRule, rerun func(result.Cell) string) {
	if len(cells) < 2 {
		return
	}
	reference := cells[0]
	for _, r := range cells {
		if r.Deployer == bundle.Helm {
			reference = r
		}
	}
	comparison := &comparison{reference: reference, benign: benign, called: "the " + reference.Deployer + " lane"}
	for _, r := range cells {
		if r == reference {
			continue
		}
		r.ComparedWith = reference.Deployer
		differences, err := comparison.with(ctx, r)
		found := divergence(reference.Deployer, r.Deployer, differences)
		r.ComparedObjects = len(keysOf(reference.Live, r.Live))
		if err != nil {
			r.Verdict = result.VerdictOf(reason.New(reason.Internal, "compare %s with %s: %w", r.Cell, reference.Cell, err))
		}
		if found != nil && r.fail(&reason.Error{Reason: reason.LaneDivergence, Err: found}) {
			// The cell alone would pass: only the comparison failed.
			r.Rerun = rerun(result.Cell{Recipe: r.Recipe, Deployer: reference.Deployer + "," + r.Deployer})
		}
	}
}

// comparison is of one recipe's cells with the reference.
type comparison struct {
	reference Lane
	// called is what notes call the reference.
	called string
	benign []benignRule
	// generated is set when the first difference is seen.
	generated map[string]map[string]bool
	rendered  bool
}

// objectDifference is a difference with its object.
type objectDifference struct {
	object lane.Object
	owners []string // the releases that contain the object with different content
	difference
}

// with compares one cell with the reference. It returns the differences that are not known, and adds
// a note for each of the others to the result.
func (c *comparison) with(ctx context.Context, r Lane) ([]objectDifference, error) {
	var found []objectDifference
	notes := map[string][]string{}
	sides, err := c.named(ctx, r)
	if err != nil {
		return nil, err
	}
	for _, key := range keysOf(sides.reference, sides.other) {
		object, diffs, err := compareObject(sides.reference, sides.other, key)
		if err != nil {
			return nil, err
		}
		owners := sides.other.objects[key].owners
		for _, d := range diffs {
			at := object.String() + " " + d.path
			isGenerated, err := c.isGenerated(ctx, sides.ownKey(key), d.path)
			if err != nil {
				return nil, err
			}
			if isGenerated {
				const why = "the chart generates a new value each time that it is rendered"
				notes[why] = append(notes[why], at)
				continue
			}
			decided := sides.decide(key, d)
			i := slices.IndexFunc(c.benign, func(b benignRule) bool {
				return b.matches(object.String(), d, decided, r.Deployer, c.reference.Deployer)
			})
			if i >= 0 {
				r.DeclaredDifferences++
				if c.benign[i].used != nil {
					c.benign[i].used()
				}
				why := c.benign[i].reason + " (" + c.benign[i].link + ")"
				notes[why] = append(notes[why], at)
				continue
			}
			found = append(found, objectDifference{object, owners, d})
		}
	}
	for _, why := range slices.Sorted(maps.Keys(notes)) {
		note := "differs from " + c.called + " (allowed): " + notes[why][0]
		if n := len(notes[why]) - 1; n > 0 {
			note += fmt.Sprintf(" and %d more", n)
		}
		r.Notes = append(r.Notes, note+": "+why)
	}
	return found, nil
}

// isGenerated reports whether the value differs in every rendering. For that, the charts are
// rendered twice more, once per recipe, and only if there is a difference to explain.
func (c *comparison) isGenerated(ctx context.Context, key, path string) (bool, error) {
	if !c.rendered {
		found, err := c.reference.Live.Generated(ctx)
		if err != nil {
			return false, err
		}
		c.generated, c.rendered = found, true
	}
	if kind, name := keyParts(key); path == "" { // the whole object
		steady, ok := c.generated[kind]
		return ok && !steady[name], nil
	}
	for at := range c.generated[key] {
		rest, ok := strings.CutPrefix(path, at)
		if ok && (rest == "" || strings.ContainsAny(rest[:1], ".[ ")) {
			return true, nil
		}
	}
	return false, nil
}

// keysOf returns the keys of both sides' objects, sorted.
func keysOf(a, b *Captured) []string {
	keys := map[string]bool{}
	for k := range a.objects {
		keys[k] = true
	}
	for k := range b.objects {
		keys[k] = true
	}
	return slices.Sorted(maps.Keys(keys))
}

// compareObject compares one object of two lanes. One that its hook policy may have deleted is
// compared only if both have it.
func compareObject(a, b *Captured, key string) (lane.Object, []difference, error) {
	x, inA := a.objects[key]
	y, inB := b.objects[key]
	switch {
	case !inA && y.mayBeGone, !inB && x.mayBeGone:
		return x.ref, nil, nil
	case !inA:
		return y.ref, []difference{{"", nil, exists{}}}, nil
	case !inB:
		return x.ref, []difference{{"", exists{}, nil}}, nil
	case bytes.Equal(x.json, y.json):
		return x.ref, nil, nil
	}
	var m, n map[string]any
	for _, o := range []struct {
		from []byte
		to   *map[string]any
	}{{x.json, &m}, {y.json, &n}} {
		if err := json.Unmarshal(o.from, o.to); err != nil {
			return x.ref, nil, fmt.Errorf("read %s: %w", x.ref, err)
		}
	}
	return x.ref, differences(m, n), nil
}

// exists stands for a whole object.
type exists struct{}

// mostDifferences is how many differences a verdict lists; each has a place and a value per lane.
const mostDifferences = 20

// divergence describes differences for people: the first is the cause, then come all, up to a
// bound.
func divergence(reference, lane string, found []objectDifference) *result.Failure {
	if len(found) == 0 {
		return nil
	}
	values := func(d objectDifference) string {
		a, b := d.texts()
		return strings.TrimSpace(fmt.Sprintf("%s  %s: %s; %s: %s", d.path, reference, a, lane, b))
	}
	line := func(d objectDifference) string {
		return d.object.String() + "  " + values(d)
	}
	first, d := found[0].object.Ref(), found[0]
	f := result.Finding{Check: lanesDiffer.ID, Object: &first}
	switch {
	case d.owners == nil:
		f.Cause = "differs from the " + reference + " lane: " + line(d)
	default:
		f.Cause = fmt.Sprintf("%s: %s; it differs from the %s lane: %s", d.object, ownedBy(d.owners), reference, values(d))
	}
	if n := len(found) - 1; n > 0 {
		f.Cause += fmt.Sprintf(" (and %d more)", n)
	}
	for i, d := range found {
		if i == mostDifferences {
			f.Story = append(f.Story, fmt.Sprintf("and %d more", len(found)-i))
			break
		}
		f.Story = append(f.Story, line(d))
		if last := i == len(found)-1 || found[i+1].object != d.object; last && d.owners != nil {
			f.Story = append(f.Story, ownedBy(d.owners)+". Helm keeps the first one's, and Flux the last one's. Let only one of them own it.")
		}
		if ref := d.object.Ref(); ref != first && !slices.Contains(f.Others, ref) {
			f.Others = append(f.Others, ref)
		}
	}
	return result.NewFailure(f)
}

func ownedBy(owners []string) string {
	return strings.Join(owners, " and ") + " own it with different content"
}
