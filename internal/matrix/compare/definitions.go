package compare

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// oldDefinition is a definition in a chart's crds/ that an upgrade left as it was.
type oldDefinition struct {
	object  result.Ref
	release string
	file    string // in the chart, with its name
	differ  []difference
}

// oldDefinitions takes the differences that are of definitions which Helm left alone from others, in the order of
// their charts.
func oldDefinitions(upgraded Lane, found []objectDifference, causes []string, t terms) (charts map[string][]*oldDefinition, rest []int) {
	charts = map[string][]*oldDefinition{}
	for i, d := range found {
		file := upgraded.Live.objects[d.object.Key()].template
		chart, _, ok := strings.Cut(file, "/crds/")
		if !ok || causes[i] != t.crds || t.newer {
			rest = append(rest, i)
			continue
		}
		all := charts[chart]
		if n := len(all); n == 0 || all[n-1].object != d.object.Ref() {
			all = append(all, &oldDefinition{object: d.object.Ref(), release: d.object.Release, file: file})
			charts[chart] = all
		}
		all[len(all)-1].differ = append(all[len(all)-1].differ, d.difference)
	}
	return charts, rest
}

// definitionsFinding is what Helm left of one chart, with the step that brings it up to date.
func definitionsFinding(upgraded Lane, chart string, all []*oldDefinition, t terms) result.Finding {
	first := all[0].object
	f := result.Finding{Check: definitionsStay.ID, Object: &first, Cause: t.different + first.String()}
	if n := len(all) - 1; n > 0 {
		f.Cause += fmt.Sprintf(" (and %d more)", n)
	}
	f.Cause += fmt.Sprintf(" of the crds/ of chart %s: %s (%s)", chart, schemaSummary(all[0].differ), t.crds)
	var files []string
	for i, d := range all {
		if i > 0 {
			f.Others = append(f.Others, d.object)
		}
		if !slices.Contains(files, d.file) {
			files = append(files, d.file)
		}
		if i < mostDifferences {
			f.Story = append(f.Story, fmt.Sprintf("%s (%s): %s", d.object, d.file, schemaSummary(d.differ)))
		} else if i == mostDifferences {
			f.Story = append(f.Story, fmt.Sprintf("and %d more", len(all)-i))
		}
	}
	f.Component = componentOf(upgraded.Live.Releases, all[0].release)
	for _, r := range upgraded.Live.Releases {
		if r.Chart == chart && f.Component == "" {
			f.Component = r.Component
		}
	}
	step := "before the upgrade: kubectl apply --server-side --force-conflicts"
	for _, file := range lists.AtMost(files, mostDifferences) {
		step += " -f " + file
	}
	f.Story = append(f.Story, step+", of the new chart; or let the file of --upgrade-steps do it here, too (before: [{chart: "+cmp.Or(f.Component, chart)+"}])")
	return f
}

var (
	ofField = regexp.MustCompile(`\.properties\.[^.]+$|\.properties\["[^"]+"\]$`)
	ofEnum  = regexp.MustCompile(`\.enum\[\d+\]$`)
)

// schemaSummary says in a few words how the new definition, a, differs from the old one, b, which the cluster has.
func schemaSummary(all []difference) string {
	var added, removed, others, old, now []string
	for _, d := range all {
		switch {
		case ofEnum.MatchString(d.path):
			old, now = append(old, enumText(d.b)), append(now, enumText(d.a))
		case ofField.MatchString(d.path) && d.b == nil:
			added = append(added, fieldName(d.path))
		case ofField.MatchString(d.path) && d.a == nil:
			removed = append(removed, fieldName(d.path))
		case !strings.HasSuffix(d.path, ".description"):
			others = append(others, fieldName(d.path))
		}
	}
	var parts []string
	say := func(names []string, one, how string) {
		slices.Sort(names)
		if names = slices.Compact(names); len(names) > 0 {
			parts = append(parts, lists.Count(len(names), one)+how+strings.Join(lists.AtMost(names, 3), ", "))
		}
	}
	only := func(from, other []string) []string {
		return slices.DeleteFunc(slices.Clone(from), func(v string) bool { return v == "" || slices.Contains(other, v) })
	}
	say(added, "field", " added: ")
	say(removed, "field", " gone: ")
	say(only(now, old), "enum value", " added: ")
	say(only(old, now), "enum value", " gone: ")
	say(others, "other setting", " changed: ")
	if len(parts) == 0 {
		return "descriptions only"
	}
	return strings.Join(parts, ", ")
}

// fieldName is the path of a field in an object, from that of its schema in a definition.
func fieldName(path string) string {
	_, field, ok := strings.Cut(path, ".openAPIV3Schema.properties.")
	if !ok {
		return path
	}
	return strings.NewReplacer(".properties.", ".", ".properties[", "[", ".items", "[]").Replace(field)
}

func enumText(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}
