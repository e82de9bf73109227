package intact

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// Losses are what is not live of the objects that were read. The zero value is ready.
type Losses struct {
	// Differ are the objects that the deployer itself calls different.
	Differ []result.Ref
	// Operators are the objects whose operators run.
	Operators []infra.Awaited

	// upgraded: what a deployer does not touch then is left out, hooks of an installation and
	// definitions in a chart's crds/.
	upgraded bool

	mu     sync.Mutex
	all    []*object
	beyond map[result.Ref][]string // of Differ: what is live and was not rendered

	unaccepted []unaccepted
}

// object is a rendered object of which something is not live.
type object struct {
	of   bundle.Object
	lost []loss
	// managers own fields of the live object, by name.
	managers map[string]any
}

// Look compares a live object with its renderings: more than one if two releases own it, or a hook
// is rendered twice. What is live of one of them counts. isScaled means that a
// HorizontalPodAutoscaler owns its replicas.
func (l *Losses) Look(renderings []bundle.Object, live *unstructured.Unstructured, isScaled bool) {
	if l.byOperator(live) {
		return // nothing of it was rendered: the expectation has what a stand-in would make
	}
	if l.upgraded && slices.ContainsFunc(renderings, func(o bundle.Object) bool { return o.Hook || strings.Contains(o.Template, "crds/") }) {
		return
	}
	l.lookBeyond(renderings, live)
	if len(renderings) > 0 {
		l.lookAccepted(renderings[0], live)
	}
	var more []exception
	if isScaled {
		more = append(more, scaled())
	}
	var least *object
	for _, o := range renderings {
		found := lost(o.Object, live, more...)
		if len(found) == 0 {
			return
		}
		if least == nil || len(found) < len(least.lost) {
			least = &object{of: o, lost: found}
		}
	}
	if least == nil {
		return
	}
	least.managers = map[string]any{}
	for _, m := range live.GetManagedFields() {
		var fields any
		if m.FieldsV1 != nil && json.Unmarshal(m.FieldsV1.GetRawBytes(), &fields) == nil {
			least.managers[m.Manager] = fields
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, least)
}

// Len is the number of objects of which something is not live.
func (l *Losses) Len() int { return len(l.all) }

// byOperator reports whether an operator that runs has made an object.
func (l *Losses) byOperator(live *unstructured.Unstructured) bool {
	return slices.ContainsFunc(live.GetOwnerReferences(), func(owner metav1.OwnerReference) bool {
		return slices.ContainsFunc(l.Operators, func(a infra.Awaited) bool {
			return a.Object.Object.GetKind() == owner.Kind && a.Object.Object.GetName() == owner.Name && a.Object.Object.GetAPIVersion() == owner.APIVersion
		})
	})
}

// lookBeyond keeps what is live of an object that the deployer calls different, and not rendered:
// a default that the deployer does not know, or what somebody has added.
func (l *Losses) lookBeyond(renderings []bundle.Object, live *unstructured.Unstructured) {
	if len(renderings) == 0 || !slices.Contains(l.Differ, renderings[0].Ref()) {
		return
	}
	o := &object{of: renderings[0]}
	var lines []string
	for _, more := range lost(live, o.of.Object) {
		if !strings.HasPrefix(more.Path, "metadata.") && more.Missing() {
			lines = append(lines, more.Path+": nothing was rendered, and "+o.show(more.Rendered)+" is live")
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.beyond == nil {
		l.beyond = map[result.Ref][]string{}
	}
	l.beyond[o.of.Ref()] = lines
}

// mostPaths is how many paths are listed of an object that the deployer calls different.
const mostPaths = 5

// Difference says where an object is not as it was rendered, for people. What the API server adds to each such
// object by itself, at the paths of defaults, comes last.
func (l *Losses) Difference(ref result.Ref, defaults []string) string {
	var lines []string
	for _, o := range l.all {
		if o.of.Ref() == ref {
			for _, loss := range o.lost {
				lines = append(lines, loss.Path+": "+o.text(loss))
			}
		}
	}
	more, read := l.beyond[ref]
	lines = append(lines, more...)
	slices.SortStableFunc(lines, func(a, b string) int { return ofDefault(a, defaults) - ofDefault(b, defaults) })
	switch {
	case !read:
		return "it is not among what the charts render, or does not exist"
	case len(lines) == 0:
		return "it has all that was rendered, and nothing else"
	}
	return strings.Join(lists.AtMost(lines, mostPaths), "; ")
}

// ofDefault is 1 for a line about the path of a default, and 0 for others.
func ofDefault(line string, defaults []string) int {
	if slices.ContainsFunc(defaults, func(path string) bool { return strings.HasPrefix(line, path+": ") }) {
		return 1
	}
	return 0
}

// Judge are what a verdict on the losses needs.
type Judge struct {
	Objects    []bundle.Object
	Answers    *Answers
	Installs   []bundle.Install
	Components []recipe.Component
	// Generated are the paths at which two renderings of the same charts differ, by object.
	Generated map[result.Ref][]string
	// Mutates means that the recipe's own policies or webhooks may change what is applied.
	Mutates bool
}

// Report tells what the API server drops, which no other cluster of this version has either, from
// what somebody has changed. Both are in the order of the expectation.
func (l *Losses) Report(j Judge) (dropped, warnings []result.Finding) {
	position := map[result.Ref]int{}
	for i := range j.Objects {
		position[j.Objects[i].Ref()] = i
	}
	dropped = l.notServed(j)
	slices.SortStableFunc(l.all, func(a, b *object) int { return position[a.of.Ref()] - position[b.of.Ref()] })
	for _, o := range l.all {
		ref := o.of.Ref()
		asked := answer{}
		if i, ok := position[ref]; ok && j.Answers != nil {
			asked = j.Answers.of[i]
		}
		generated := j.Generated[ref]
		var gone []loss
		for _, loss := range o.lost {
			switch why := cause(loss, asked); {
			case covered(generated, loss.Path), why == byDefault:
			case why == byServer && !j.Mutates:
				gone = append(gone, loss)
			default:
				place, where := j.place(&o.of, loss)
				f := overwritten.Warning(ref, o.of.Component, "%s (%s): %s is not live as it was rendered: %s%s (%s)", ref, o.of.Component, loss.Path, o.text(loss), o.by(loss), where)
				f.Path, f.Place = loss.Path, place
				warnings = append(warnings, f)
			}
		}
		if len(gone) > 0 {
			dropped = append(dropped, j.finding(o, gone))
		}
	}
	return dropped, bounded(warnings)
}

// mostLines is how many warnings a cell gets, and how many fields a finding lists.
const mostLines = 20

func bounded(all []result.Finding) []result.Finding {
	if n := len(all) - mostLines; n > 0 {
		more := all[mostLines]
		more.Path, more.Cause = "", fmt.Sprintf("and %d more fields are not live as they were rendered", n)
		return append(all[:mostLines:mostLines], more)
	}
	return all
}

// finding is what the API server drops of one object.
func (j Judge) finding(o *object, gone []loss) result.Finding {
	ref := o.of.Ref()
	place, where := j.place(&o.of, gone[0])
	f := result.Finding{
		Check: fieldDropped.ID, Path: gone[0].Path, Object: &ref, Component: o.of.Component, Place: place,
		Cause: fmt.Sprintf("%s (%s): the API server dropped field %q", ref, o.of.Component, gone[0].Path),
	}
	if n := len(gone) - 1; n > 0 {
		f.Cause += fmt.Sprintf(" (and %d more)", n)
	}
	f.Story = append(f.Story, f.Cause)
	for _, loss := range gone[:min(len(gone), mostLines)] {
		f.Story = append(f.Story, "  "+loss.Path+": "+o.text(loss))
	}
	f.Story = append(f.Story, "  This version of Kubernetes does not serve the field, or only with a feature gate that is off by default: what it asks for does not happen", "  "+where)
	return f
}

// The causes of a loss.
const (
	byOther   = iota // the API server takes it: somebody has changed it since
	byServer         // the API server does not take it
	byDefault        // a zero, for which the API server has a default
)

// cause compares a loss with what the API server makes of the rendering alone.
func cause(l loss, asked answer) int {
	i := slices.IndexFunc(asked.lost, func(a loss) bool { return a.Path == l.Path })
	switch {
	case zero(l.Rendered) && (i >= 0 || !asked.known):
		return byDefault
	case i < 0, !asked.lost[i].Missing(), !l.Missing():
		return byOther
	}
	return byServer
}

// covered reports whether one of the paths is this one, or one above it.
func covered(paths []string, path string) bool {
	for _, at := range paths {
		if rest, ok := strings.CutPrefix(path, at); ok && (rest == "" || strings.ContainsAny(rest[:1], ".[")) {
			return true
		}
	}
	return false
}

// text shows both values, without those of Secrets.
func (o *object) text(l loss) string {
	if l.Missing() {
		return o.show(l.Rendered) + " was rendered, and nothing is live"
	}
	return o.show(l.Rendered) + " was rendered, and " + o.show(l.Live) + " is live"
}

func (o *object) show(v any) string {
	if o.of.Object.GetKind() != "Secret" {
		return shortText(v)
	}
	if text, ok := v.(string); ok {
		return fmt.Sprintf("a value of %d bytes that is not shown", len(text))
	}
	return "a value that is not shown"
}

// longestValue is how much of a value is shown, in bytes.
const longestValue = 100

func shortText(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		raw = []byte(fmt.Sprint(v))
	}
	if len(raw) > longestValue {
		return strings.ToValidUTF8(string(raw[:longestValue]), "") + "…"
	}
	return string(raw)
}

// by names who owns the field now, if the live object says so.
func (o *object) by(l loss) string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(o.managers)) {
		if owns(o.managers[name], l.keys, o.of.Object.Object) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return ", written by " + strings.Join(names, " and ")
}

// owns reports whether a set of managed fields has a path. Items of lists are found by the name of
// the rendered one.
func owns(fields any, keys []any, rendered any) bool {
	for _, k := range keys {
		m, ok := fields.(map[string]any)
		if !ok {
			return false
		}
		switch k := k.(type) {
		case string:
			parent, _ := rendered.(map[string]any)
			fields, rendered = m["f:"+k], parent[k]
		case int:
			list, _ := rendered.([]any)
			if k >= len(list) {
				return false
			}
			rendered = list[k]
			item, _ := rendered.(map[string]any)
			name, err := json.Marshal(map[string]any{"name": item["name"]})
			if err != nil {
				return false
			}
			fields = m["k:"+string(name)]
		}
		if fields == nil {
			return false
		}
	}
	return true
}

// place is where the recipe or its chart has a field.
func (j Judge) place(o *bundle.Object, l loss) (result.Place, string) {
	return where(j.Installs, j.Components, o, l.Key)
}

// where is the place of an object of a chart, for people: the template with the first line that has
// the key, or the object's kind, and what names the component in the recipe. The place is zero
// unless a file of the recipe itself has the key.
func where(installs []bundle.Install, components []recipe.Component, o *bundle.Object, key string) (result.Place, string) {
	if key == "" {
		key = o.Object.GetName()
	}
	place, where := facts.PlaceOf(components, o.Component, o.Template, key)
	if strings.HasPrefix(where, "set in "+o.Template+" ") {
		place = result.Place{}
		if line := templateLine(installs, o, key); line > 0 {
			where = fmt.Sprintf("set in %s:%d%s", o.Template, line, strings.TrimPrefix(where, "set in "+o.Template))
		}
	}
	return place, where
}

// leading is the field that a warning of the API server begins with.
var leading = regexp.MustCompile(`^[a-z][\w.\[\]]*?(\w+)(?:\[[^\]]*\])*(?:: | is deprecated)`)

// ServerWarnings are what the API server warns of, a finding for each text.
func ServerWarnings(b *bundle.Bundle, components []recipe.Component, groups []infra.WarningGroup) (all []result.Finding) {
	for _, g := range groups {
		f := result.Finding{Check: warnedOf.ID, Arguments: []string{g.Text}}
		more := ""
		if n := len(g.Objects) - 1; n > 0 {
			more = fmt.Sprintf(" and %d more", n)
		}
		f.Cause = "the API server warns of " + g.Objects[0] + more + ": " + g.Text
		for i, name := range g.Objects {
			ref, o := refOf(b, name)
			if i > 0 {
				f.Others = append(f.Others, ref)
				continue
			}
			if f.Object = &ref; o == nil {
				continue // of nobody's chart
			}
			f.Component = o.Component
			var where string
			if f.Path, f.Place, where = warningAt(b, components, o, g.Text); where != "" {
				f.Cause += " (" + where + ")"
			}
		}
		all = append(all, f)
	}
	return all
}

// refOf is an object by the name that the API server's warnings give it; with that of the expectation, if it has it.
func refOf(b *bundle.Bundle, name string) (result.Ref, *bundle.Object) {
	for i := range b.Expectation.Objects {
		if o := &b.Expectation.Objects[i]; named(o) == name {
			return o.Ref(), o
		}
	}
	kind, at, _ := strings.Cut(name, " ")
	ref := result.Ref{Kind: kind, Name: at}
	if namespace, name, ok := strings.Cut(at, "/"); ok {
		ref.Namespace, ref.Name = namespace, name
	}
	return ref, nil
}

// warningAt is the field of what the API server warns of, and its place, also for people.
func warningAt(b *bundle.Bundle, components []recipe.Component, o *bundle.Object, text string) (path string, place result.Place, at string) {
	key := ""
	if m := leading.FindStringSubmatch(text); m != nil {
		key = m[1]
	}
	place, at = where(b.Installs, components, o, key)
	m := unknownFormat.FindStringSubmatch(text)
	if m == nil {
		return "", place, at
	}
	source := bundle.TemplateOf(b.Installs, o)
	if o.Manifest != nil {
		source = string(o.Manifest.Content)
	}
	path, line := formatIn(source, o, m[1])
	if line == 0 {
		return "", place, at
	}
	if at = fmt.Sprintf("%s:%d", o.Template, line); o.Manifest != nil {
		at = o.Manifest.Origin(line).String()
	}
	return path, place, path + ", set in " + at
}

// named is how the API server's warnings name an object.
func named(o *bundle.Object) string {
	return o.Object.GetKind() + " " + infra.NamespacedName(o.Object.GetNamespace(), o.Object.GetName()+o.Object.GetGenerateName())
}
