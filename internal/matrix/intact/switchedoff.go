package intact

import (
	"context"
	"fmt"
	"strings"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// SwitchedOff tries objects of components that are not delivered to simulated nodes, and are to a user's. What the API
// server refuses or drops of them is a failure all the same. It returns what could not be tried. Reasons: DEPLOY_FAILED,
// CLUSTER_FAILED.
func SwitchedOff(ctx context.Context, clients *infra.Clients, objects []bundle.Object) (notVerified []string, err error) {
	if len(objects) == 0 {
		return nil, nil
	}
	answers, err := Ask(ctx, clients, objects, nil)
	if err != nil {
		return nil, reason.Wrap(reason.ClusterFailed, err)
	}
	var found []result.Finding
	var untried []string
	for i, a := range answers.of {
		o := &objects[i]
		ref := o.Ref()
		var gone []loss
		for _, loss := range a.lost {
			if loss.Missing() && !zero(loss.Rendered) {
				gone = append(gone, loss)
			}
		}
		f := result.Finding{Object: &ref, Component: o.Component}
		switch {
		case a.refused != nil:
			f.Check, f.Cause = refusedByServer.ID, fmt.Sprintf("%s (%s): the API server refuses it: %v", ref, o.Component, a.refused)
			f.Place = placeIn(o, nil)
		case len(gone) > 0:
			f.Check, f.Path = fieldDropped.ID, gone[0].Path
			f.Cause = fmt.Sprintf("%s (%s): the API server drops field %q", ref, o.Component, gone[0].Path)
			if n := len(gone) - 1; n > 0 {
				f.Cause += fmt.Sprintf(" (and %d more)", n)
			}
			f.Story = append(f.Story, f.Cause)
			for _, loss := range gone[:min(len(gone), mostLines)] {
				f.Story = append(f.Story, "  "+loss.Path+": "+(&object{of: *o}).show(loss.Rendered)+" was rendered, and its kind has no such field")
			}
			f.Place = placeIn(o, gone[0].keys)
		case !a.known && !a.asked:
			untried = append(untried, ref.String())
			continue
		default:
			continue
		}
		if f.Place.File != "" {
			f.Story = append(f.Story, fmt.Sprintf("  set in %s:%d", f.Place.File, f.Place.Line))
		}
		f.Story = append(f.Story, "  Component "+o.Component+" is switched off on simulated nodes, as in AICR's KWOK tests, and installed on real ones")
		found = append(found, f)
	}
	if len(untried) > 0 {
		notVerified = append(notVerified, "bundle: these objects of components that are switched off could not be tried, since the cluster lacks their kind or namespace: "+strings.Join(untried, ", "))
	}
	if len(found) == 0 {
		return notVerified, nil
	}
	return notVerified, &reason.Error{Reason: reason.DeployFailed, Err: &result.Failure{Findings: found}}
}

// placeIn is the line of the recipe's manifest that has a field of the object.
func placeIn(o *bundle.Object, keys []any) result.Place {
	var path []string
	for _, k := range keys {
		name, ok := k.(string)
		if !ok {
			break
		}
		path = append(path, name)
	}
	at, _ := o.Origin(path...)
	return result.Place{File: at.File, Line: at.Line}
}
