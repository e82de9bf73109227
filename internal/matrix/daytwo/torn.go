package daytwo

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/rendering"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// mostLeaves bounds the generated values of a release that are compared, and longestLeaf their
// length: a chart could make as many and as long ones as it likes.
const (
	mostLeaves  = 400
	longestLeaf = 64 << 10
)

// tear is a value that a chart generates anew at each rendering, and that a hook and an ordinary
// object share. Self-heal of Argo CD replaces only the ordinary one.
type tear struct {
	hook, ordinary *bundle.Object
	// at and from are the places in the ordinary object and in the hook, and how says what one is
	// to the other.
	at, from, how string
	// gone: Helm's hook policy deletes the hook, so that nothing in the cluster is left to differ.
	gone bool
}

// SecondRendering is what the charts of a bundle render when they are rendered a second time.
type SecondRendering struct {
	of      *bundle.Bundle
	objects []bundle.Object
}

// Of renders the charts of a bundle, unless it has done so before: more than once if that may show another
// order.
func (s *SecondRendering) Of(b *bundle.Bundle, render func() (bundle.Expectation, error)) ([]bundle.Object, error) {
	if s.of == b {
		return s.objects, nil
	}
	e, err := render()
	if objects := unordered(b); len(objects) > 0 {
		for i := 1; i < mostRenderings && err == nil && disordered(objects, e.Objects) == nil; i++ {
			e, err = render()
		}
	}
	if err == nil {
		s.of, s.objects = b, e.Objects
	}
	return e.Objects, err
}

// HardRefresh is what a lane makes of two renderings that differ.
type HardRefresh struct {
	// Heals: Argo CD's self-heal writes back what differs, without hooks. Delivered: the cell is
	// delivered a second time, which decides better than two renderings.
	Heals, Delivered bool
	// Rule takes out what the user ignores.
	Rule judge.Ruling
	// Again renders the charts once more.
	Again func(context.Context) ([]bundle.Object, error)
}

// Begin renders the charts once more, if Check is going to ask for it, beside what is done until the
// function that it returns is called. An error of it comes again in Check.
func (r HardRefresh) Begin(ctx context.Context, b *bundle.Bundle) (end func()) {
	if !r.compares(b) {
		return func() {}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = r.Again(ctx)
	}()
	return func() { <-done }
}

// compares reports whether two renderings of a bundle are compared before it is deployed.
func (r HardRefresh) compares(b *bundle.Bundle) bool { return (!r.Delivered || !r.Heals) && mayTear(b) }

// Check finds what a hard refresh of Argo CD would tear apart, and what its self-heal fights an autoscaler
// for, before anything is deployed: nothing that happens in the cluster changes it. A lane without self-heal passes with warnings. Reasons:
// NEVER_SETTLES, INTERNAL.
func (r HardRefresh) Check(ctx context.Context, b *bundle.Bundle, components []recipe.Component) (warnings []result.Finding, err error) {
	if fights := driftScaled(&b.Expectation, components); r.Heals && len(fights) > 0 {
		if err := r.Rule.On(&reason.Error{Reason: reason.NeverSettles, Err: &result.Failure{Findings: fights}}); err != nil {
			return nil, err
		}
	}
	if !r.compares(b) {
		return nil, nil
	}
	again, err := r.Again(ctx)
	if err != nil {
		return nil, reason.Wrap(reason.Internal, err)
	}
	findings, others := driftTorn(b, again, components)
	if r.Heals && len(findings) > 0 {
		return nil, r.Rule.On(&reason.Error{Reason: reason.NeverSettles, Err: &result.Failure{Findings: findings}})
	}
	if r.Heals {
		return nil, nil
	}
	return others, nil
}

// mayTear reports whether a release has a hook, an ordinary object, and a template that may render
// something else each time. Without, Torn finds nothing.
func mayTear(b *bundle.Bundle) bool {
	return slices.ContainsFunc(b.Installs, func(in bundle.Install) bool {
		hooks, others := sides(b.Expectation.Objects, in.Release.Name)
		return len(hooks) > 0 && len(others) > 0 && in.Chart != nil && len(usesOf(&in, "")) > 0
	})
}

// driftTorn finds what a hard refresh of Argo CD tears apart: it renders the charts anew, self-heal
// replaces the ordinary objects that differ then, and runs no hooks. again is a second rendering.
// Findings are for a lane that does so, and warnings those of all, for the others.
func driftTorn(b *bundle.Bundle, again []bundle.Object, components []recipe.Component) (findings, warnings []result.Finding) {
	second := map[result.Ref]*unstructured.Unstructured{}
	for i := range again {
		second[again[i].Ref()] = again[i].Object
	}
	for i := range b.Installs {
		in := &b.Installs[i]
		t := tearOf(in, b.Expectation.Objects, second)
		if t == nil {
			continue
		}
		cause := fmt.Sprintf("%s %s and %s, which is a hook, have one generated value: a hard refresh of Argo CD replaces the first and does not run the hook", t.ordinary.Ref(), t.at, t.hook.Ref())
		f := result.Finding{Check: tornApart.ID, Cause: cause, Object: new(t.ordinary.Ref()), Others: []result.Ref{t.hook.Ref()}, Component: t.ordinary.Component}
		place, where := facts.PlaceOf(components, t.ordinary.Component, t.ordinary.Template, "")
		f.Place = place
		f.Story = append(f.Story, cause, fmt.Sprintf("  %s is %s of %s %s", t.at, t.how, t.hook.Ref(), t.from),
			"  each refresh renders the chart anew; self-heal applies only what differs then, and hooks belong to full syncs: the two no longer fit each other")
		cause += fmt.Sprintf(" (%s", t.hook.Template)
		if uses := usesOf(in, t.hook.Template); len(uses) > 0 {
			f.Story = append(f.Story, "likely cause: "+uses[0])
			cause = strings.TrimSuffix(cause, t.hook.Template) + uses[0]
		}
		f.Story = append(f.Story, "  "+where, "Make the hook an ordinary object, or set the value in the recipe.")
		warnings = append(warnings, tornApart.Warning(*f.Object, f.Component, "green only in lanes without Argo CD's self-heal: %s)", cause))
		if !t.gone {
			findings = append(findings, f)
		}
	}
	return findings, warnings
}

// sides are the hooks of a release that Argo CD runs at a sync, and its ordinary objects.
func sides(objects []bundle.Object, release string) (hooks, others []*bundle.Object) {
	for i := range objects {
		o := &objects[i]
		switch {
		case o.Release != release || o.Object.GetKind() == "CustomResourceDefinition":
		case !lane.IsArgoHook(o.Object):
			others = append(others, o)
		case rendering.RunsAtSync(o.Object.GetAnnotations()):
			hooks = append(hooks, o)
		}
	}
	return hooks, others
}

// tearOf returns the first tear of a release, one whose hook stays before one whose hook goes; nil
// if there is none.
func tearOf(in *bundle.Install, objects []bundle.Object, second map[result.Ref]*unstructured.Unstructured) *tear {
	hooks, others := sides(objects, in.Release.Name)
	if in.Chart == nil || len(hooks) == 0 {
		return nil
	}
	var found *tear
	theirs := generatedIn(others, second)
	for _, h := range generatedIn(hooks, second) {
		if strings.HasPrefix(h.path, "metadata.") && h.path != namePath || strings.Contains(h.path, "template.metadata.") {
			continue // a hook's labels and annotations are of no use to others
		}
		for _, o := range theirs {
			how := shared(h.value, o.value)
			if how == "" && checksumOf(in, h.of, o) {
				how = "a checksum of the template"
			}
			if how == "" {
				continue
			}
			t := &tear{h.of, o.of, o.path, h.path, how, h.of.Ephemeral && slices.Contains([]string{"Secret", "ConfigMap"}, h.of.Object.GetKind())}
			if !t.gone {
				return t
			}
			found = cmp.Or(found, t)
		}
	}
	return found
}

const namePath = "metadata.name"

// leaf is a text that differs between two renderings.
type leaf struct {
	of          *bundle.Object
	path, value string
}

// generatedIn lists the texts of objects that differ in the second rendering. An object that has
// another name there has a generated name.
func generatedIn(objects []*bundle.Object, second map[result.Ref]*unstructured.Unstructured) []leaf {
	var all []leaf
	for _, o := range objects {
		other := second[o.Ref()]
		if other == nil {
			all = append(all, leaf{o, namePath, o.Object.GetName()})
			continue
		}
		differing(o.Object.Object, other.Object, "", func(path, value string) bool {
			all = append(all, leaf{o, path, value})
			return len(all) < mostLeaves
		})
		if len(all) >= mostLeaves {
			break
		}
	}
	return all
}

// differing calls found for each text that two renderings have in one place and with other values,
// until it returns false.
func differing(a, b any, path string, found func(path, value string) bool) bool {
	switch x := a.(type) {
	case map[string]any:
		y, _ := b.(map[string]any)
		for _, key := range keysIn(x) {
			if !differing(x[key], y[key], joined(path, key), found) {
				return false
			}
		}
	case []any:
		y, _ := b.([]any)
		for i := range min(len(x), len(y)) {
			if !differing(x[i], y[i], fmt.Sprintf("%s[%d]", path, i), found) {
				return false
			}
		}
	case string:
		if x != b && len(x) <= longestLeaf {
			return found(path, x)
		}
	}
	return true
}
