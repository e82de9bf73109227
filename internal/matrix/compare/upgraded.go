package compare

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// Upgraded compares the end of an upgrade with the first installation of the same recipe by the same
// deployer: objects and fields must be the same. A cell that differs becomes a failure
// (UPGRADE_DIVERGED), with the cause of each difference where it is known.
func Upgraded(ctx context.Context, first, upgraded Lane, benign []benignRule) {
	c := &comparison{reference: first, benign: benign, called: "a first installation"}
	found, err := c.with(ctx, upgraded)
	if err != nil {
		upgraded.Verdict = result.VerdictOf(reason.New(reason.Internal, "compare %s with its first installation: %w", upgraded.Cell, err))
		return
	}
	var red []objectDifference
	var causes []string
	notes := map[string]int{}
	for _, d := range found {
		if d.none() {
			continue // the same this time; which lane owns what is judged between lanes
		}
		why, harmless := cause(d, upgraded)
		if harmless {
			if notes[why]++; notes[why] == 1 {
				upgraded.Notes = append(upgraded.Notes, "differs from a first installation (allowed): "+d.object.String()+" "+d.path+": "+why)
			}
			continue
		}
		red, causes = append(red, d), append(causes, why)
	}
	if len(red) > 0 {
		upgraded.Verdict = result.VerdictOf(&reason.Error{Reason: reason.UpgradeDiverged, Err: diverged(upgraded, red, causes)})
		return
	}
	upgraded.Notes = append(upgraded.Notes, fmt.Sprintf("ended as a first installation: %d objects compared", len(keysOf(first.Live, upgraded.Live))))
}

// cause says why an upgraded object is not as after a first installation, "" if that is unknown.
// harmless means that it is no fault.
func cause(d objectDifference, upgraded Lane) (why string, harmless bool) {
	key := d.object.Key()
	live := upgraded.Live.objects[key]
	kept := keptFrom(upgraded.Live, key, d)
	switch {
	case isDefinition(d) && strings.Contains(live.template, "crds/") && kept:
		text := "Helm does not update the definitions in a chart's crds/, so that it is still the old chart's"
		return text, strings.HasSuffix(d.path, ".description") || strings.HasPrefix(d.path, "metadata.")
	case live.hook && kept:
		return "a hook that runs only at installation; it stays as the old recipe's run has left it", true
	case d.a == nil && d.path == "":
		return "it stays behind: the old recipe made it, and the upgrade did not remove it", false
	case kept:
		return "still the value of before: the upgrade did not take the new one over", false
	}
	return "", false
}

func isDefinition(d objectDifference) bool { return d.object.GVK.Kind == "CustomResourceDefinition" }

// keptFrom reports whether the upgraded object has at this place what it had before the upgrade.
func keptFrom(live *Captured, key string, d objectDifference) bool {
	if live.Before == nil {
		return false
	}
	before, had := live.Before.objects[key]
	now, has := live.objects[key]
	if !had || !has {
		return had == has
	}
	var a, b map[string]any
	if json.Unmarshal(before.json, &a) != nil || json.Unmarshal(now.json, &b) != nil {
		return false
	}
	return !slices.ContainsFunc(differences(a, b), func(x difference) bool {
		return x.path == d.path || strings.HasPrefix(x.path, d.path) || strings.HasPrefix(d.path, x.path)
	})
}

// diverged describes the differences for people.
func diverged(upgraded Lane, found []objectDifference, causes []string) *result.Failure {
	line := func(i int) string {
		d := found[i]
		first, now := d.texts()
		text := strings.TrimSpace(fmt.Sprintf("%s  %s  first installation: %s; after the upgrade: %s", d.object, d.path, first, now))
		if causes[i] != "" {
			text += " (" + causes[i] + ")"
		}
		return text
	}
	first := found[0].object.Ref()
	f := result.Finding{Object: &first, Component: componentOf(upgraded.Live.Releases, found[0].object.Release), Cause: "not as after a first installation: " + line(0)}
	if n := len(found) - 1; n > 0 {
		f.Cause += fmt.Sprintf(" (and %d more)", n)
	}
	for i, d := range found {
		if i == mostDifferences {
			f.Story = append(f.Story, fmt.Sprintf("and %d more", len(found)-i))
			break
		}
		f.Story = append(f.Story, line(i))
		if ref := d.object.Ref(); ref != first && !slices.Contains(f.Others, ref) {
			f.Others = append(f.Others, ref)
		}
	}
	return result.NewFailure(f)
}

// componentOf returns the component of a release; empty if there is none of that name.
func componentOf(releases []bundle.Release, name string) string {
	for _, r := range releases {
		if r.Name == name {
			return r.Component
		}
	}
	return ""
}
