package compare

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/rendering"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// Upgraded compares the end of an upgrade with the first installation of the same recipe by the same
// deployer: objects and fields must be the same. A cell that differs becomes a failure
// (UPGRADE_DIVERGED), with the cause of each difference where it is known.
func Upgraded(ctx context.Context, first, upgraded Lane, benign []benignRule, accepted ...Accepted) {
	words := terms{
		called: "a first installation", reference: "first installation", now: "after the upgrade", allowed: "differs from a first installation (allowed): ",
		same: "ended as a first installation", different: "not as after a first installation: ",
		hook: "a hook, which this delivery did not run: Helm runs those of upgrades only, and Argo CD none if nothing else differs; it stays as the old recipe's run has left it",
		left: "it stays behind: the old recipe made it, and the upgrade did not remove it",
		kept: "still the value of before: the upgrade did not take the new one over",
		made: "the upgrade made it, and no first installation does: its template asks for what is in the cluster (.Capabilities, lookup), which comes later at a first installation, or for .Release.IsUpgrade; let its component come after what it asks for (dependencyRefs)",
		crds: "Helm does not update the definitions in a chart's crds/, so that it is still the old chart's",
	}
	switch upgraded.Sequence {
	case result.SequenceFailed:
		words.now = "after a failed delivery of what ran before"
	case result.SequenceRemoved:
		words.now, words.hook = "after the removal of what ran before", "a hook that the removal left, and that the installation did not run again"
		words.left = "it stays behind: the removal has left it, and no first installation has it"
		words.kept = "still the value of before: the removal has left the object, and the installation did not take the new value over"
		words.made = "no first installation makes it: its template asks for what is in the cluster (.Capabilities, lookup), and the removal has left something"
		words.crds = "Helm neither removes nor updates the definitions in a chart's crds/, so that it is still the old chart's"
	}
	notes, err := ends(ctx, first, upgraded, append(slices.Clip(benign), rulesOf(accepted)...), words)
	upgraded.Notes = append(upgraded.Notes, notes...)
	if err != nil {
		upgraded.fail(err)
	}
}

// RolledBack compares the objects after a rollback with those before the upgrade, in the same
// cluster. Reason: UPGRADE_DIVERGED.
func RolledBack(ctx context.Context, before, now Lane, benign []benignRule) (notes []string, err error) {
	return ends(ctx, before, now, benign, terms{
		called: "what ran before the upgrade", reference: "before the upgrade", now: "after the rollback", allowed: "the rollback leaves a difference (allowed): ",
		same: "the rollback ended as before the upgrade", different: "the rollback does not bring back what ran before the upgrade: ",
		hook: "a hook, which the rollback did not run; it stays as the upgrade has left it",
		left: "it stays behind: the upgrade made it, and the rollback did not remove it",
		kept: "still the upgrade's value: the rollback did not take the old one over",
		made: "the rollback made it: its template asks for what is in the cluster (.Capabilities, lookup) or for .Release.IsUpgrade",
		crds: "Helm does not touch the definitions in a chart's crds/, so that it stays the upgrade's", newer: true,
	})
}

// terms are the words for one comparison of two ends.
type terms struct {
	called, reference, now, allowed, same, different, hook, left, kept, made, crds string
	// newer: a definition in crds/ that is kept is newer than its chart, and has what that needs.
	newer bool
}

// ends compares two ends of the same bundle. now.Live.Before is what ran before the last delivery.
func ends(ctx context.Context, reference, now Lane, benign []benignRule, t terms) (said []string, err error) {
	c := &comparison{reference: reference, benign: benign, called: t.called}
	found, err := c.with(ctx, now)
	if err != nil {
		return nil, reason.New(reason.Internal, "compare %s, %s and %s: %w", now.Cell, t.now, t.reference, err)
	}
	var red []objectDifference
	var causes []string
	notes, rendered := map[string]int{}, &templates{reference: reference.Live, live: now.Live}
	for _, d := range found {
		why, harmless := cause(ctx, d, now, t, rendered)
		if harmless {
			if notes[why]++; notes[why] == 1 {
				said = append(said, t.allowed+d.object.String()+" "+d.path+": "+why)
			}
			continue
		}
		red, causes = append(red, d), append(causes, why)
	}
	if len(red) > 0 {
		return said, &reason.Error{Reason: reason.UpgradeDiverged, Err: diverged(now, red, causes, t)}
	}
	return append(said, fmt.Sprintf("%s: %d objects compared", t.same, len(keysOf(reference.Live, now.Live)))), nil
}

// cause says why an object is not as in the reference, "" if that is unknown. harmless means that it
// is no fault.
func cause(ctx context.Context, d objectDifference, now Lane, t terms, rendered *templates) (why string, harmless bool) {
	key := d.object.Key()
	live := now.Live.objects[key]
	kept := keptFrom(now.Live, key, d)
	switch {
	case isDefinition(d) && strings.Contains(live.template, "crds/") && kept:
		return t.crds, t.newer || strings.HasSuffix(d.path, ".description") || strings.HasPrefix(d.path, "metadata.")
	case live.hook && kept && lasts(d.object):
		return "it is a hook, which this delivery did not run: Helm runs those of upgrades only, and Argo CD syncs nothing if only hooks differ; make it an ordinary object", false
	case live.hook && kept && now.Live.Before.objects[key].hook:
		return t.hook + notFetched(d.object, now), true
	case d.b == nil && d.path == "" && rendered.ranAndWent(key, d):
		return "a hook that was an ordinary object before: Helm ran it, and then removed what the release has no more, which is the same Job", true
	case d.a == nil && d.path == "" && now.Live.keeps(key):
		return "it was rendered to be kept (helm.sh/resource-policy: keep, or Prune=false), and no release has it any more", true
	case d.a == nil && d.path == "" && live.leaving: // what it waits for was judged before
		return "it is being deleted still", true
	case d.a == nil && d.path == "" && !made(now.Live.Before, key):
		return t.made, d.object.GVK.Kind == "Job" // which has done its work
	case d.a == nil && d.path == "":
		return t.left, false
	case kept && d.object.GVK.Kind == "Service" && d.path == "spec.clusterIP":
		return "the API server keeps the None of a Service that gives no clusterIP any more; delete the Service before the upgrade, or give it another name", false
	case kept && !live.hook && now.Live.Before.objects[key].hook && bundle.ByArgoCD(now.Deployer):
		return "it was a hook before: Argo CD takes what has a hook's annotation in the cluster for a hook, which is never OutOfSync, and syncs nothing if nothing else differs; sync the Application by hand (argocd app sync), or take the annotation off the object before the upgrade", false
	case kept:
		fetched := notFetched(d.object, now)
		if why := rendered.merged(ctx, key, d); why != "" && fetched == "" && !bundle.ByArgoCD(now.Deployer) {
			return why, false
		}
		if why := rendered.stays(ctx, key, d); why != "" && fetched == "" {
			if d.b == nil && now.Live.definedInCRDs(d.object.GVK.Group, d.object.GVK.Kind) {
				why = "its definition is in the chart's crds/ and fills in a value there that the one in the cluster does not: Helm does not update it"
			}
			return why, false
		}
		return t.kept + fetched, false
	}
	if why := rendered.twice(ctx, key, d); why != "" {
		return why, false
	}
	return rendered.merged(ctx, key, d), false
}

// definedInCRDs reports whether a chart's crds/ has the definition of a kind.
func (c *Captured) definedInCRDs(group, kind string) bool {
	for _, o := range c.objects {
		var definition struct {
			Kind string
			Spec struct {
				Group string
				Names struct{ Kind string }
			}
		}
		if strings.Contains(o.template, "crds/") && json.Unmarshal(o.json, &definition) == nil && definition.Kind == "CustomResourceDefinition" && definition.Spec.Group == group && definition.Spec.Names.Kind == kind {
			return true
		}
	}
	return false
}

// made reports whether what ran before had an object.
func made(before *Captured, key string) bool {
	if before == nil {
		return true
	}
	_, had := before.objects[key]
	return had
}

// keeps reports whether what ran before asks its deployer never to remove an object.
func (c *Captured) keeps(key string) bool {
	if c.Before == nil {
		return false
	}
	var o unstructured.Unstructured
	if json.Unmarshal(c.Before.objects[key].json, &o.Object) != nil {
		return false
	}
	return Keeps(&o)
}

// Keeps reports whether an object asks its deployer never to remove it.
func Keeps(o *unstructured.Unstructured) bool {
	notes := o.GetAnnotations()
	return rendering.KeptAtUpgrade(notes) || rendering.HasSyncOption(notes, "Prune=false")
}

// notFetched is why Flux keeps what it has: the chart is another one of the same version. Of a bundle in Git
// that is true of the bundle's own charts too.
func notFetched(object lane.Object, now Lane) string {
	git := now.Deployer == bundle.FluxGit
	if now.Deployer != bundle.FluxOCI && !git || now.Live.Before == nil {
		return ""
	}
	release := func(all []bundle.Release) (r bundle.Release) {
		if i := slices.IndexFunc(all, func(r bundle.Release) bool { return r.Name == object.Release && (!r.Local || git) }); i >= 0 {
			r = all[i]
		}
		return r
	}
	is := release(now.Live.Releases)
	if is.ChartVersion == "" || is.ChartVersion != release(now.Live.Before.Releases).ChartVersion {
		return ""
	}
	edit := "give what has changed another version"
	if is.Local {
		edit = "its HelmRelease needs spec.chart.spec.reconcileStrategy: Revision, by which Flux takes each commit for a new chart"
	}
	return fmt.Sprintf(": the version of its chart did not change (%s), so that Flux neither fetches the chart again nor upgrades the release; %s", is.ChartVersion, edit)
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
	if d.object.GVK.Kind == "Secret" {
		restoreValues(a, b)
	}
	return !slices.ContainsFunc(differences(a, b), func(x difference) bool {
		return x.path == d.path || strings.HasPrefix(x.path, d.path) || strings.HasPrefix(d.path, x.path)
	})
}

// restoreValues gives a Secret the values of before where only before a template had them: what nothing
// renders now has no digest (madeInCluster).
func restoreValues(before, now map[string]any) {
	was, _ := before["data"].(map[string]any)
	is, _ := now["data"].(map[string]any)
	for key, v := range is {
		if old, ok := was[key]; ok && v == madeInCluster {
			is[key] = old
		}
	}
}

// diverged describes the differences for people: those of each chart's old definitions as one cause, after the others.
func diverged(upgraded Lane, found []objectDifference, causes []string, t terms) *result.Failure {
	charts, rest := oldDefinitions(upgraded, found, causes, t)
	failure := &result.Failure{}
	if len(rest) > 0 {
		failure.Findings = append(failure.Findings, differFinding(upgraded, found, causes, rest, t))
	}
	for _, chart := range slices.Sorted(maps.Keys(charts)) {
		failure.Findings = append(failure.Findings, definitionsFinding(upgraded, chart, charts[chart], t))
	}
	return failure
}

// differFinding describes some of the differences.
func differFinding(upgraded Lane, found []objectDifference, causes []string, some []int, t terms) result.Finding {
	line := func(i int) string {
		d := found[i]
		first, now := d.texts()
		text := strings.TrimSpace(fmt.Sprintf("%s  %s  %s: %s; %s: %s", d.object, d.path, t.reference, first, t.now, now))
		if causes[i] != "" {
			text += " (" + causes[i] + ")"
		}
		return text
	}
	at := found[some[0]].object
	first := at.Ref()
	f := result.Finding{Check: endsDiffer.ID, Object: &first, Component: componentOf(upgraded.Live.Releases, at.Release), Cause: t.different + line(some[0])}
	if n := len(some) - 1; n > 0 {
		f.Cause += fmt.Sprintf(" (and %d more)", n)
	}
	for n, i := range some {
		if n == mostDifferences {
			f.Story = append(f.Story, fmt.Sprintf("and %d more", len(some)-n))
			break
		}
		f.Story = append(f.Story, line(i))
		if ref := found[i].object.Ref(); ref != first && !slices.Contains(f.Others, ref) {
			f.Others = append(f.Others, ref)
		}
	}
	return f
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
