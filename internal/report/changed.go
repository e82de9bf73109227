package report

// changed.go says in words what an upgrade did to a cluster, for every report: the terminal,
// Markdown and the page. It decides nothing.

import (
	"fmt"
	"strings"

	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// How much of a component's change a report names; the results file has everything.
const (
	mostObjects   = 25 // of each kind of change
	mostFields    = 6  // of an object
	mostWorkloads = 4  // of an image
)

// eachNode is what a rendering knows of a DaemonSet's pods.
const eachNode = ", a pod on each of its nodes"

// upgradeSection is the change of one component in words.
type upgradeSection struct {
	Title string
	Lines []string
	// name is the component with its versions, and counts are what changes: the two parts of Title.
	name   string
	counts []string
}

// upgradeSummary counts what changes, the gravest first: "2 objects are replaced, 3 workloads roll (7 pods)".
func upgradeSummary(c *result.Change) string {
	if c.Empty() {
		return fmt.Sprintf("no difference in %s", lists.Count(c.Objects, "object"))
	}
	return strings.Join(counts(c.Totals(), c.Rendered), ", ")
}

func counts(t result.Totals, rendered bool) []string {
	var parts []string
	add := func(n int, one, many string) {
		switch {
		case n == 1:
			parts = append(parts, "1 "+one)
		case n > 1:
			parts = append(parts, fmt.Sprintf("%d %s", n, many))
		}
	}
	add(t.Replaced, "object is replaced", "objects are replaced")
	add(t.Removed, "is removed", "are removed")
	add(t.LeftBehind, "is left behind", "are left behind")
	if t.Rolls > 0 {
		add(t.Rolls, "workload rolls", "workloads roll")
		if !rendered || t.Pods > 0 {
			parts[len(parts)-1] += " (" + lists.Count(t.Pods, "pod") + ")"
		}
	}
	add(t.CRDs, "CRD changes", "CRDs change")
	add(t.Images, "image changes", "images change")
	add(t.Added, "object is added", "objects are added")
	add(t.Changed, "object is changed", "objects are changed")
	add(t.Budgets, "PodDisruptionBudget lets none of its pods be evicted", "PodDisruptionBudgets let none of their pods be evicted")
	if len(parts) == 0 {
		return []string{"only the version changes"}
	}
	return parts
}

// upgradeAbout says where a change was read, and what it cannot show.
func upgradeAbout(c *result.Change) string {
	from := "the recipe before"
	if c.From != "" {
		from = c.From
	}
	if c.Rendered {
		return "Compared with " + from + ", by rendering both: nothing was deployed, so replaced objects and what operators do are not known."
	}
	return "Compared with " + from + ", by the objects in the cluster before and after the upgrade. It is no part of the verdict."
}

// upgradeSections are the components that change, the one with the largest effect first.
func upgradeSections(c *result.Change) []upgradeSection {
	if c == nil {
		return nil
	}
	var all []upgradeSection
	for i := range c.Components {
		one := &c.Components[i]
		lines := linesOf(one)
		if len(lines) == 0 && one.FromVersion == one.ToVersion {
			continue
		}
		what := counts(one.Totals(), c.Rendered)
		if len(one.RanAgain) > 0 && one.FromVersion == one.ToVersion && one.Totals() == (result.Totals{}) {
			what = []string{"hooks run again"}
		}
		all = append(all, upgradeSection{Title: upgradeTitle(one) + ": " + strings.Join(what, ", "), Lines: lines, name: upgradeTitle(one), counts: what})
	}
	return all
}

// upgradeTitle is the component with its versions: "cert-manager v1.16.2 → v1.17.0".
func upgradeTitle(c *result.ComponentChange) string {
	switch {
	case c.FromVersion == c.ToVersion:
		return strings.TrimSpace(c.Component + " " + c.ToVersion)
	case c.FromVersion == "":
		return c.Component + " " + c.ToVersion + " (new)"
	case c.ToVersion == "":
		return c.Component + " " + c.FromVersion + " (removed)"
	}
	title := c.Component + " " + c.FromVersion + " → " + c.ToVersion
	if c.Downgrade {
		title += " (a downgrade)"
	}
	return title
}

func linesOf(c *result.ComponentChange) []string {
	var all []string
	all = append(all, atMost(c.Replaced, "replaced (deleted and created again): %s")...)
	all = append(all, atMost(c.Removed, "removed: %s")...)
	all = append(all, atMost(c.LeftBehind, "left behind (no longer in the recipe, still in the cluster): %s")...)
	for i := range c.Rolls {
		if i == mostObjects {
			all = append(all, fmt.Sprintf("and %s", lists.Count(len(c.Rolls)-i, "more workload")))
			break
		}
		all = append(all, rollLine(&c.Rolls[i]))
	}
	for i := range c.Budgets {
		b := &c.Budgets[i]
		all = append(all, fmt.Sprintf("%s (%s) lets no pod of %s be evicted: a rolling update does not wait for it, the drain of a node does", b.Ref, b.Why, names(b.Workloads)))
	}
	for i := range c.CRDs {
		all = append(all, crdLine(&c.CRDs[i]))
	}
	for _, image := range c.Images {
		all = append(all, imageLine(image))
	}
	all = append(all, atMost(c.Added, "added: %s")...)
	for i := range c.Changed {
		if i == mostObjects {
			all = append(all, fmt.Sprintf("and %s", lists.Count(len(c.Changed)-i, "more changed object")))
			break
		}
		all = append(all, objectLine(&c.Changed[i]))
	}
	if c.Relabelled > 0 {
		all = append(all, lists.Count(c.Relabelled, "object")+" with other version labels or descriptions only")
	}
	if len(c.RanAgain) > 0 {
		all = append(all, "created again as at each delivery (hooks and Jobs): "+names(c.RanAgain))
	}
	return all
}

func atMost(refs []result.Ref, format string) []string {
	var all []string
	for i, ref := range refs {
		if i == mostObjects {
			return append(all, fmt.Sprintf(format, fmt.Sprintf("%d more", len(refs)-i)))
		}
		all = append(all, fmt.Sprintf(format, ref))
	}
	return all
}

func names(refs []result.Ref) string {
	var all []string
	for _, ref := range refs {
		all = append(all, ref.String())
	}
	return strings.Join(lists.AtMost(all, mostWorkloads), ", ")
}

func rollLine(r *result.Roll) string {
	text := "rolls: " + r.String()
	if !r.EachNode {
		text += ", "
	}
	switch {
	case r.EachNode:
		text += eachNode
	case r.Nodes > 0:
		text += lists.Count(r.Pods, "pod") + " on " + lists.Count(r.Nodes, "node")
	case r.Pods == 0:
		text += "no pod was replaced"
	default:
		text += lists.Count(r.Pods, "pod")
	}
	if len(r.Fields) == 0 {
		return text + "; its pod template is the same"
	}
	return text + "; by " + strings.Join(lists.AtMost(r.Fields, mostFields), ", ")
}

func imageLine(i result.ImageChange) string {
	switch {
	case i.From == "":
		return "new image: " + i.To + " (" + names(i.Workloads) + ")"
	case i.To == "":
		return "image no longer used: " + i.From + " (" + names(i.Workloads) + ")"
	}
	return "image: " + i.From + " → " + i.To + " (" + names(i.Workloads) + ")"
}

func crdLine(d *result.CRDChange) string {
	var parts []string
	add := func(what string, list []string) {
		if len(list) > 0 {
			parts = append(parts, what+" "+strings.Join(list, ", "))
		}
	}
	add("without version", d.RemovedVersions)
	if len(d.Dropped) > 0 {
		parts = append(parts, "objects may still be stored as "+strings.Join(d.Dropped, ", "))
	}
	add("with new version", d.AddedVersions)
	if d.StoredBefore != d.StoredAfter {
		parts = append(parts, "stored as "+d.StoredAfter+", was "+d.StoredBefore)
	}
	add("without", d.RemovedFields)
	add("with", d.AddedFields)
	if d.More > 0 {
		parts = append(parts, lists.Count(d.More, "more field"))
	}
	if d.Rules {
		parts = append(parts, "other validation, defaults or settings")
	}
	return "CRD " + d.Name + ": " + strings.Join(parts, "; ")
}

func objectLine(o *result.ObjectChange) string {
	var parts []string
	fields := o.Fields[:min(len(o.Fields), mostFields)]
	for _, f := range fields {
		parts = append(parts, f.Path+": "+f.From+" → "+f.To)
	}
	if more := o.More + len(o.Fields) - len(fields); more > 0 {
		parts = append(parts, lists.Count(more, "more field"))
	}
	return "changed: " + o.String() + ": " + strings.Join(parts, "; ")
}
