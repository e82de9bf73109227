package matrix

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/reason"
)

// CompareLanes compares the cells of each recipe that passed with each other: whatever the deployer, the objects must be the same. The
// cells are compared with the helm lane's, which has the least between the chart and the cluster, or with the first that passed in the
// order of the results. A cell that differs becomes a failure (LANE_DIVERGENCE) with the places and both values. A recipe of which one
// cell passed is left alone: nothing is claimed of it. rerun makes the command that runs several lanes of a recipe again.
func CompareLanes(ctx context.Context, results []Result, rerun func(Cell) string) {
	var recipes []string
	cells := map[string][]*Result{}
	for i := range results {
		r := &results[i]
		if r.Status != Passed || r.live == nil {
			continue
		}
		if cells[r.Recipe] == nil {
			recipes = append(recipes, r.Recipe)
		}
		cells[r.Recipe] = append(cells[r.Recipe], r)
	}
	for _, name := range recipes {
		compareRecipe(ctx, cells[name], benignRules(), rerun)
		for _, r := range cells[name] {
			r.live = nil // a lane's objects take a few megabytes
		}
	}
}

func compareRecipe(ctx context.Context, cells []*Result, benign []benignRule, rerun func(Cell) string) {
	if len(cells) < 2 {
		return
	}
	reference := cells[0]
	for _, r := range cells {
		if r.Deployer == bundle.Helm {
			reference = r
		}
	}
	comparison := &comparison{reference: reference, benign: benign}
	for _, r := range cells {
		if r == reference {
			continue
		}
		r.ComparedWith = reference.Deployer
		found, err := comparison.with(ctx, r)
		r.ComparedObjects = len(keysOf(reference.live, r.live))
		if err != nil {
			r.Verdict = verdictOf(reason.New(reason.Internal, "compare %s with %s: %w", r.Cell, reference.Cell, err))
		}
		if found != nil {
			r.Verdict = verdictOf(&reason.Error{Reason: reason.LaneDivergence, Err: found})
			// The cell alone would pass: it is the comparison that failed.
			r.Rerun = rerun(Cell{Recipe: r.Recipe, Deployer: reference.Deployer + "," + r.Deployer})
		}
		if r.Status != Passed {
			r.restate()
		}
	}
}

// comparison is of one recipe's cells with the reference.
type comparison struct {
	reference *Result
	benign    []benignRule
	// generated is filled in when the first difference is seen.
	generated map[string]map[string]bool
	rendered  bool
}

// objectDifference is a difference with its object.
type objectDifference struct {
	object string
	difference
}

// with compares one cell with the reference: nil if there is no difference but known ones, of which the result gets a note each.
func (c *comparison) with(ctx context.Context, r *Result) (*finding, error) {
	var found []objectDifference
	notes := map[string][]string{}
	for _, key := range keysOf(c.reference.live, r.live) {
		object, diffs, err := compareObject(c.reference.live, r.live, key)
		if err != nil {
			return nil, err
		}
		for _, d := range diffs {
			at := object + " " + d.path
			isGenerated, err := c.isGenerated(ctx, key, d.path)
			if err != nil {
				return nil, err
			}
			if isGenerated {
				const why = "the chart generates a new value each time that it is rendered"
				notes[why] = append(notes[why], at)
				continue
			}
			i := slices.IndexFunc(c.benign, func(b benignRule) bool { return b.matches(object, d.path, r.Deployer, c.reference.Deployer) })
			if i >= 0 {
				why := c.benign[i].reason + " (" + c.benign[i].link + ")"
				notes[why] = append(notes[why], at)
				continue
			}
			found = append(found, objectDifference{object, d})
		}
	}
	for _, why := range slices.Sorted(maps.Keys(notes)) {
		note := "differs from the " + c.reference.Deployer + " lane (allowed): " + notes[why][0]
		if n := len(notes[why]) - 1; n > 0 {
			note += fmt.Sprintf(" and %d more", n)
		}
		r.Notes = append(r.Notes, note+": "+why)
	}
	return divergence(c.reference.Deployer, r.Deployer, found), nil
}

// isGenerated: the value comes out different at every rendering. The charts are rendered twice more, once for a recipe, and only if
// there is a difference to explain.
func (c *comparison) isGenerated(ctx context.Context, key, path string) (bool, error) {
	if !c.rendered {
		found, err := c.reference.live.generated(ctx)
		if err != nil {
			return false, err
		}
		c.generated, c.rendered = found, true
	}
	for at := range c.generated[key] {
		rest, ok := strings.CutPrefix(path, at)
		if ok && (rest == "" || strings.ContainsAny(rest[:1], ".[ ")) {
			return true, nil
		}
	}
	return false, nil
}

// keysOf lists the objects of both, sorted.
func keysOf(a, b *captured) []string {
	keys := map[string]bool{}
	for k := range a.objects {
		keys[k] = true
	}
	for k := range b.objects {
		keys[k] = true
	}
	return slices.Sorted(maps.Keys(keys))
}

// compareObject compares one object of two lanes. One that its hook policy may have deleted is compared where both have it.
func compareObject(a, b *captured, key string) (string, []difference, error) {
	x, inA := a.objects[key]
	y, inB := b.objects[key]
	switch {
	case !inA && y.mayBeGone, !inB && x.mayBeGone:
		return "", nil, nil
	case !inA:
		return y.ref.String(), []difference{{"", nil, exists{}}}, nil
	case !inB:
		return x.ref.String(), []difference{{"", exists{}, nil}}, nil
	case bytes.Equal(x.json, y.json):
		return "", nil, nil
	}
	var m, n map[string]any
	for _, o := range []struct {
		from []byte
		to   *map[string]any
	}{{x.json, &m}, {y.json, &n}} {
		if err := json.Unmarshal(o.from, o.to); err != nil {
			return "", nil, fmt.Errorf("read %s: %w", x.ref, err)
		}
	}
	return x.ref.String(), differences(m, n), nil
}

// exists stands for a whole object.
type exists struct{}

// mostDifferences is how many lines of differences a verdict has; each is a place and a value per lane.
const mostDifferences = 20

// divergence tells differences for a person: the first is the cause, and then all, up to a bound.
func divergence(reference, lane string, found []objectDifference) *finding {
	if len(found) == 0 {
		return nil
	}
	line := func(d objectDifference) string {
		place := d.object
		if d.path != "" {
			place += "  " + d.path
		}
		a, b := d.texts()
		return fmt.Sprintf("%s  %s: %s; %s: %s", place, reference, a, lane, b)
	}
	f := &finding{cause: "differs from the " + reference + " lane: " + line(found[0])}
	if n := len(found) - 1; n > 0 {
		f.cause += fmt.Sprintf(" (and %d more)", n)
	}
	for i, d := range found {
		if i == mostDifferences {
			f.details = append(f.details, fmt.Sprintf("and %d more", len(found)-i))
			break
		}
		f.details = append(f.details, line(d))
	}
	return f
}
