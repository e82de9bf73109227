package change

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/compare"
	"github.com/nvidia/aicr-action/internal/result"
)

// Options say what a Change is called.
type Options struct {
	// From is what was in the cluster before, for people.
	From string
}

// Rendered compares two renderings.
func Rendered(old, new bundle.Expectation, o Options) (*result.Change, error) {
	before, err := rendering(old)
	if err != nil {
		return nil, err
	}
	after, err := rendering(new)
	if err != nil {
		return nil, err
	}
	return Between(before, after, o), nil
}

// Between compares the state before a change with that after it, which Again has taken.
func Between(before, after *State, o Options) *result.Change {
	c := &comparison{before: before, after: after, components: map[string]*result.ComponentChange{}}
	keys := map[string]bool{}
	for key := range before.objects {
		keys[key] = true
	}
	for key := range after.objects {
		keys[key] = true
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		c.compare(key, before.objects[key], after.objects[key])
	}
	c.hooks()
	c.budgets()
	for _, s := range []*State{before, after} {
		for name := range s.versions {
			if before.versions[name] != after.versions[name] {
				c.of(name)
			}
		}
	}
	change := &result.Change{From: o.From, Rendered: before.rendered || after.rendered, Objects: len(keys)}
	for name, one := range c.components {
		one.FromVersion, one.ToVersion = before.versions[name], after.versions[name]
		one.Downgrade = older(one.ToVersion, one.FromVersion)
		slices.SortStableFunc(one.Rolls, func(a, b result.Roll) int {
			return cmp.Or(cmp.Compare(b.Pods, a.Pods), cmp.Compare(a.String(), b.String()))
		})
		change.Components = append(change.Components, *one)
	}
	slices.SortFunc(change.Components, func(a, b result.ComponentChange) int {
		return cmp.Or(cmp.Compare(b.Effect(), a.Effect()), cmp.Compare(a.Component, b.Component))
	})
	return change
}

// older reports whether a version comes before another one; false unless both can be compared.
func older(one, other string) bool {
	a, err := semver.NewVersion(one)
	if err != nil {
		return false
	}
	b, err := semver.NewVersion(other)
	return err == nil && a.LessThan(b)
}

// comparison is a Change in the making.
type comparison struct {
	before, after *State
	components    map[string]*result.ComponentChange
}

func (c *comparison) of(component string) *result.ComponentChange {
	if c.components[component] == nil {
		c.components[component] = &result.ComponentChange{Component: component}
	}
	return c.components[component]
}

// compare compares one object, of which one of the two may be nil.
func (c *comparison) compare(key string, b, a *object) {
	switch {
	case b == nil:
		if a.expected && !a.mayBeGone {
			one := c.of(a.component)
			one.Added = append(one.Added, a.ref.Ref())
			c.images(a.component, nil, a)
		}
		return
	case a == nil, !a.expected && b.claimOf != "" && c.goes(b):
		if !b.mayBeGone {
			one := c.of(b.component)
			one.Removed = append(one.Removed, b.ref.Ref())
			c.images(b.component, b, nil)
		}
		return
	case !a.expected:
		one := c.of(b.component)
		one.LeftBehind = append(one.LeftBehind, b.ref.Ref())
		return
	}
	replaced := b.uid != a.uid
	if replaced && ranAgain(a) {
		one := c.of(a.component)
		one.RanAgain = append(one.RanAgain, a.ref.Ref())
	} else if replaced && !a.mayBeGone {
		one := c.of(a.component)
		one.Replaced = append(one.Replaced, a.ref.Ref())
	}
	if a.definition != nil && b.definition != nil {
		c.definitions(b, a)
		return
	}
	c.content(b, a)
	c.rolls(key, b, a)
}

// ranAgain reports whether an object is created again at each delivery: a Job, and what Helm's hooks
// have for theirs. A custom resource or a workload that is a hook is not: what it stands for is torn
// down with it.
func ranAgain(o *object) bool {
	if o.ref.GVK.Kind == "Job" {
		return true
	}
	custom := strings.Contains(o.ref.GVK.Group, ".") && !strings.HasSuffix(o.ref.GVK.Group, ".k8s.io")
	return o.hook && !custom && o.template() == nil
}

func (c *comparison) definitions(b, a *object) {
	if d := b.definition.between(a.ref.Name, a.definition); d != nil {
		one := c.of(a.component)
		one.CRDs = append(one.CRDs, *d)
	} else if b.definition.whole != a.definition.whole {
		c.of(a.component).Relabelled++
	}
}

// generated reports whether charts generate a value anew for each delivery of what runs again at each:
// passwords and certificates, and the time in an annotation.
func generated(o *object, path string) bool {
	return o.ref.GVK.Kind == "Secret" || strings.Contains(path, "annotations") || strings.Contains(path, "caBundle")
}

// versionLabels are the paths that change with each version of a chart, on every object.
var versionLabels = []string{`metadata.labels["helm.sh/chart"]`, `metadata.labels["app.kubernetes.io/version"]`}

func (c *comparison) content(b, a *object) {
	fields := compare.Fields(b.content.Object, a.content.Object)
	if len(fields) == 0 {
		return
	}
	if !slices.ContainsFunc(fields, func(f result.FieldChange) bool { return !slices.Contains(versionLabels, f.Path) }) {
		c.of(a.component).Relabelled++
		return
	}
	fields = slices.DeleteFunc(fields, func(f result.FieldChange) bool { return slices.Contains(versionLabels, f.Path) })
	if ranAgain(a) && ranAgain(b) && (c.before.rendered || a.uid != b.uid) {
		fields = slices.DeleteFunc(fields, func(f result.FieldChange) bool { return generated(a, f.Path) })
	}
	if len(fields) == 0 {
		return
	}
	change := result.ObjectChange{Ref: a.ref.Ref(), More: max(0, len(fields)-mostFields)}
	for _, f := range fields[:min(len(fields), mostFields)] {
		change.Fields = append(change.Fields, Veiled(f))
	}
	one := c.of(a.component)
	one.Changed = append(one.Changed, change)
	c.images(a.component, b, a)
}

// template is the object's pod template; nil if it has none.
func (o *object) template() map[string]any {
	if o.content == nil {
		return nil
	}
	path := []string{"spec", "template"}
	switch o.ref.GVK.Kind {
	case "Deployment", "DaemonSet", "StatefulSet", "Job":
	case "CronJob":
		path = []string{"spec", "jobTemplate", "spec", "template"}
	default:
		return nil
	}
	found, _, _ := unstructured.NestedMap(o.content.Object, path...)
	return found
}

// rolls notes a workload whose pods were replaced, or are bound to be since its template changed.
func (c *comparison) rolls(key string, b, a *object) {
	before, after := b.template(), a.template()
	if before == nil || after == nil || a.ref.GVK.Kind == "Job" || a.ref.GVK.Kind == "CronJob" {
		return
	}
	roll := result.Roll{Ref: a.ref.Ref()}
	fields := compare.Fields(before, after)
	if strategy, _, _ := unstructured.NestedString(a.content.Object, "spec", "updateStrategy", "type"); strategy == "OnDelete" {
		fields = nil // a new template replaces no pod
	}
	for _, f := range fields[:min(len(fields), mostFields)] {
		roll.Fields = append(roll.Fields, f.Path)
	}
	if c.before.rendered {
		if len(fields) == 0 {
			return
		}
		roll.EachNode = a.ref.GVK.Kind == "DaemonSet"
		if !roll.EachNode {
			roll.Pods = replicas(b)
		}
	} else {
		gone, kept := podsGone(c.before.pods[key], c.after.pods[key])
		made := len(c.after.pods[key]) - kept
		if len(fields) == 0 {
			gone = gone[:min(len(gone), made)] // the others are a scaling
		}
		if len(fields) == 0 && len(gone) == 0 {
			return
		}
		roll.Pods = len(gone)
		if a.ref.GVK.Kind == "DaemonSet" {
			nodes := map[string]bool{}
			for _, p := range gone {
				nodes[p.node] = true
			}
			roll.Nodes = len(nodes)
		}
	}
	one := c.of(a.component)
	one.Rolls = append(one.Rolls, roll)
}

// podsGone returns the pods of before that do not exist any more, and how many still do.
func podsGone(before, after []pod) (gone []pod, kept int) {
	for _, p := range before {
		if slices.ContainsFunc(after, func(q pod) bool { return q.uid == p.uid }) {
			kept++
		} else {
			gone = append(gone, p)
		}
	}
	return gone, kept
}

// replicas is the number of pods of a Deployment or StatefulSet; Kubernetes' default is 1.
func replicas(o *object) int {
	switch n, _, _ := unstructured.NestedFieldNoCopy(o.content.Object, "spec", "replicas"); n := n.(type) {
	case int64:
		return int(n)
	case float64:
		return int(n)
	case int:
		return n
	}
	return 1
}
