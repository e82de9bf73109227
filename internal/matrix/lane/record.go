package lane

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
)

// Key returns the same key for an object whichever version of its kind it was read by.
func (o Object) Key() string { return o.GVK.GroupKind().String() + " " + o.Namespace + "/" + o.Name }

// Delivery is one thing in a deployer's records, e.g. a Helm release or an Application, with its
// facts.
type Delivery struct {
	ID     string // "Helm release cert-manager/cert-manager"
	Facts  []Fact
	Object result.Ref // zero if it is no object of the cluster
}

// Fact is one fact about a delivery, e.g. its version.
type Fact struct{ Name, Value string }

// Delivered returns a delivery that is an object, with its kind and name.
func Delivered(object result.Ref, facts ...Fact) Delivery {
	return Delivery{object.Kind + " " + infra.NamespacedName(object.Namespace, object.Name), facts, object}
}

// RefOf returns the reference to a live object.
func RefOf(o *unstructured.Unstructured) result.Ref {
	gvk := o.GroupVersionKind()
	return result.Ref{Group: gvk.Group, Kind: gvk.Kind, Namespace: o.GetNamespace(), Name: o.GetName()}
}

// Record is what a lane's deployer reports as delivered, and what the bundle requires.
type Record struct {
	Want, Got []Delivery
	// Objects are those that the deployer counts as its own, without hooks.
	Objects []Object
}

// Object identifies an object of a cluster.
type Object struct {
	GVK             schema.GroupVersionKind
	Namespace, Name string
	Release         string
}

// String is "Deployment cert-manager/cert-manager", with the group where the kind is not one of
// Kubernetes' own.
func (o Object) String() string { return o.Ref().String() }

// Ref returns the reference, without the version of the kind.
func (o Object) Ref() result.Ref {
	return result.Ref{Group: o.GVK.Group, Kind: o.GVK.Kind, Namespace: o.Namespace, Name: o.Name}
}

// Mismatch compares both ways. It returns nil, or what is missing, unexpected or different.
func Mismatch(want, got []Delivery) *result.Failure {
	have := map[string]Delivery{}
	for _, d := range got {
		have[d.ID] = d
	}
	var f result.Finding
	differs := func(d Delivery, format string, args ...any) {
		f.Story = append(f.Story, d.ID+": "+fmt.Sprintf(format, args...))
		switch object := d.Object; {
		case object == (result.Ref{}):
		case f.Object == nil:
			f.Object = &object
		case *f.Object != object && !slices.Contains(f.Others, object):
			f.Others = append(f.Others, object)
		}
	}
	expected := map[string]bool{}
	for _, w := range want {
		expected[w.ID] = true
		g, ok := have[w.ID]
		if !ok {
			differs(w, "missing%s", factsText("expected", w.Facts))
			continue
		}
		for _, fc := range w.Facts {
			if value := factValue(g.Facts, fc.Name); value != fc.Value {
				differs(w, "%s: want %s, got %s", fc.Name, orNothing(fc.Value), orNothing(value))
			}
		}
	}
	for _, g := range got {
		if !expected[g.ID] {
			differs(g, "unexpected%s", factsText("found", g.Facts))
		}
	}
	if len(f.Story) == 0 {
		return nil
	}
	f.Cause = "the deployer's records do not match the bundle: " + f.Story[0]
	if n := len(f.Story) - 1; n > 0 {
		f.Cause += fmt.Sprintf(" (and %d more)", n)
	}
	return result.NewFailure(f)
}

func factValue(facts []Fact, name string) string {
	for _, f := range facts {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

// factsText returns " (expected chart web, version 1.0.0)"; empty without facts.
func factsText(verb string, facts []Fact) string {
	var parts []string
	for _, f := range facts {
		parts = append(parts, f.Name+" "+orNothing(f.Value))
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + verb + " " + strings.Join(parts, ", ") + ")"
}

func orNothing(s string) string {
	if s == "" {
		return "nothing"
	}
	return s
}

// RecipeMismatch compares the expectation's releases with the bundle's own recipe.yaml, both ways.
// Everything that is read back is compared with the expectation, so that a component which is
// missing from it would never be noticed otherwise.
func RecipeMismatch(b *bundle.Bundle) *result.Failure {
	var doc recipe.Result
	for _, file := range b.Files {
		if file.Path == "recipe.yaml" {
			if err := yaml.Unmarshal(file.Content, &doc); err != nil {
				return result.NewFailure(result.Finding{Cause: "the bundle's recipe.yaml does not parse: " + err.Error()})
			}
		}
	}
	if len(doc.ComponentRefs) == 0 {
		return result.NewFailure(result.Finding{Cause: "the bundle's recipe.yaml names no component"})
	}
	var want, got []Delivery
	refs := map[string]recipe.ComponentRef{}
	for _, ref := range doc.ComponentRefs {
		if ref.LeftOut() {
			continue
		}
		refs[ref.Name] = ref
		want = append(want, Delivery{ID: "component " + ref.Name, Facts: recipeFacts(ref)})
	}
	seen := map[string]bool{}
	e := &b.Expectation
	for _, r := range e.Releases {
		if seen[r.Component] || !e.Main(r) {
			continue // a component's manifests are another release, before its chart's or after it
		}
		seen[r.Component] = true
		got = append(got, Delivery{ID: "component " + r.Component, Facts: releaseFacts(refs[r.Component], r)})
	}
	f := Mismatch(want, got)
	if f != nil {
		first := &f.Findings[0]
		first.Cause = "the bundle's recipe.yaml and its expectation differ, which is a defect of this program: " + first.Story[0]
	}
	return f
}

// recipeFacts returns what recipe.yaml says of a component; the registry decides what it leaves
// out.
func recipeFacts(ref recipe.ComponentRef) []Fact {
	var facts []Fact
	if ref.Namespace != "" {
		facts = append(facts, Fact{"namespace", ref.Namespace})
	}
	if ref.Chart != "" {
		facts = append(facts, Fact{"chart", path.Base(ref.Chart)}, Fact{"version", ref.Version})
	}
	return facts
}

// releaseFacts returns the same of a release, with the version as recipe.yaml spells it if both
// mean the same.
func releaseFacts(ref recipe.ComponentRef, r bundle.Release) []Fact {
	version := r.ChartVersion
	if ref.Version == "" || SameVersion(ref.Version, version) {
		version = ref.Version
	}
	return []Fact{{"namespace", r.Namespace}, {"chart", r.Chart}, {"version", version}}
}

// SameVersion reports whether two versions are the same: v1.2.3 and 1.2.3 are, and so are versions
// that differ only in their build metadata (https://semver.org, 10).
func SameVersion(a, b string) bool {
	if a == b {
		return true
	}
	x, errX := semver.NewVersion(a)
	y, errY := semver.NewVersion(b)
	return errX == nil && errY == nil && x.Equal(y)
}
