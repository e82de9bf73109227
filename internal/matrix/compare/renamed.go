package compare

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/fluxapi"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
)

// A HelmRelease without releaseName makes a release of another name than the one in the recipe. Most
// charts name their objects after the release, in ways of their own: cut off at some length, or
// without the chart's name if the release contains it. Which objects belong together is therefore
// not guessed from their names: the charts of Flux's lane are rendered once more with the other
// lane's names, and nothing else changed. What differs between these two renderings is what the
// name decides.

// renamed are the objects of one lane as the other lane's names would have them.
type renamed struct {
	live *Captured
	// was is the key of an object in its own lane, by its key in the other one.
	was map[string]string
	// decided are the differences that the name makes, by the object's key in the other lane; a is
	// the value with the lane's own name.
	decided map[string][]difference
}

// sides are two lanes to compare, with the objects of one of them renamed if need be.
type sides struct {
	reference, other *Captured
	renamed          *renamed // nil: neither is
	referenceRenamed bool
}

// named gives the objects of the lane that has release names of Flux's making those that the other
// lane has.
func (c *comparison) named(ctx context.Context, r Lane) (sides, error) {
	s := sides{reference: c.reference.Live, other: r.Live}
	if !slices.ContainsFunc(c.benign, func(b benignRule) bool { return b.renamed }) {
		return s, nil
	}
	if names := fluxNames(r, c.reference); len(names) > 0 {
		moved, err := rename(ctx, r.Live, names)
		s.other, s.renamed = moved.live, &moved
		return s, err
	}
	if names := fluxNames(c.reference, r); len(names) > 0 {
		moved, err := rename(ctx, c.reference.Live, names)
		s.reference, s.renamed, s.referenceRenamed = moved.live, &moved, true
		return s, err
	}
	return s, nil
}

// ownKey is the key that the reference itself has for an object.
func (s sides) ownKey(key string) string {
	if s.referenceRenamed {
		if was, ok := s.renamed.was[key]; ok {
			return was
		}
	}
	return key
}

// decide reports whether a release's name makes this difference: the two renderings differ at the
// same place, in the same two values.
func (s sides) decide(key string, d difference) bool {
	if s.renamed == nil {
		return false
	}
	own, other := d.b, d.a
	if s.referenceRenamed {
		own, other = d.a, d.b
	}
	// The API server copies serviceAccountName to the field that had its place before.
	path := d.path
	if strings.HasSuffix(path, ".serviceAccount") {
		path += "Name"
	}
	return slices.ContainsFunc(s.renamed.decided[key], func(x difference) bool {
		same := func(live, rendered any) bool {
			// A ConfigMap's last line break may be missing, by a rule of its own.
			return contains(live, rendered) || strings.HasPrefix(path, "data") && LastNewline(live, rendered)
		}
		return x.path == path && same(own, x.a) && same(other, x.b)
	})
}

// fluxNames returns the names of the other lane's releases, by the name in the recipe, where those of
// this lane, which is Flux's, are the ones that helm-controller makes up.
func fluxNames(lane, other Lane) map[string]string {
	if !bundle.ByFlux(lane.Deployer) {
		return nil
	}
	names := map[string]string{}
	for _, r := range lane.Live.Releases {
		i := slices.IndexFunc(other.Live.Releases, func(o bundle.Release) bool { return o.Name == r.Name && o.Namespace == r.Namespace })
		if i < 0 || r.InHelm() != fluxapi.ReleaseName(r.Namespace, r.Name) {
			continue
		}
		if name := other.Live.Releases[i].InHelm(); name != r.InHelm() {
			names[r.Name] = name
		}
	}
	return names
}

// rename gives the lane's objects the names that they would have with these names of releases.
func rename(ctx context.Context, live *Captured, names map[string]string) (renamed, error) {
	own, err := live.RenderAs(ctx, nil)
	if err != nil {
		return renamed{}, err
	}
	others, err := live.RenderAs(ctx, names)
	if err != nil {
		return renamed{}, err
	}
	moved := *live
	moved.objects = maps.Clone(live.objects)
	out := renamed{live: &moved, was: map[string]string{}, decided: map[string][]difference{}}
	for _, p := range pair(own, others) {
		a, b := normalised(p[0]), normalised(p[1])
		from, to := keyOf(a), keyOf(b)
		if _, ok := live.objects[from]; !ok { // a cluster-scoped object that its chart gives a namespace
			a.SetNamespace("")
			b.SetNamespace("")
			from, to = keyOf(a), keyOf(b)
		}
		diffs, err := jsonDifferences(a, b)
		if err != nil {
			return renamed{}, err
		}
		out.decided[to] = append(out.decided[to], diffs...)
		o, ok := live.objects[from]
		if from == to || !ok {
			continue
		}
		out.was[to] = from
		if at, ok := moved.objects[from]; ok && at.ref == o.ref { // nothing else was moved there
			delete(moved.objects, from)
		}
		o.ref.Name, o.ref.Namespace = b.GetName(), b.GetNamespace()
		moved.objects[to] = o
	}
	return out, out.renameOwners()
}

// renameOwners gives the references to owners the names that these have now. An operator's workloads
// have such references, which no chart renders.
func (r renamed) renameOwners() error {
	to := map[string]string{}
	for key, was := range r.was {
		to[was] = r.live.objects[key].ref.Name
	}
	for key, o := range r.live.objects {
		if !bytes.Contains(o.json, []byte(`"ownerReferences"`)) {
			continue
		}
		var obj unstructured.Unstructured
		if err := json.Unmarshal(o.json, &obj.Object); err != nil {
			return fmt.Errorf("read %s: %w", o.ref, err)
		}
		owners, _, _ := unstructured.NestedSlice(obj.Object, "metadata", "ownerReferences")
		for _, owner := range owners {
			m, _ := owner.(map[string]any)
			version, _ := m["apiVersion"].(string)
			kind, _ := m["kind"].(string)
			name, _ := m["name"].(string)
			for _, namespace := range []string{o.ref.Namespace, ""} {
				ref := lane.Object{GVK: schema.FromAPIVersionAndKind(version, kind), Namespace: namespace, Name: name}
				if now, ok := to[ref.Key()]; ok {
					m["name"] = now
				}
			}
		}
		if len(owners) == 0 {
			continue
		}
		err := unstructured.SetNestedSlice(obj.Object, owners, "metadata", "ownerReferences")
		if err == nil {
			o.json, err = json.Marshal(obj.Object)
		}
		if err != nil {
			return fmt.Errorf("write %s: %w", o.ref, err)
		}
		r.live.objects[key] = o
	}
	return nil
}

// pair puts the objects of two renderings of the same charts together: those of the same name, and
// of the rest the first of a template's objects of one kind with the first, and so on.
func pair(a, b []bundle.Object) [][2]bundle.Object {
	type group struct{ release, template, apiVersion, kind, name string }
	of := func(o bundle.Object, name string) group {
		return group{o.Release, o.Template, o.Object.GetAPIVersion(), o.Object.GetKind(), name}
	}
	var pairs [][2]bundle.Object
	match := func(name func(bundle.Object) string) {
		rest := map[group][]bundle.Object{}
		for _, o := range b {
			g := of(o, name(o))
			rest[g] = append(rest[g], o)
		}
		var left []bundle.Object
		for _, o := range a {
			g := of(o, name(o))
			if len(rest[g]) == 0 {
				left = append(left, o)
				continue
			}
			pairs = append(pairs, [2]bundle.Object{o, rest[g][0]})
			rest[g] = rest[g][1:]
		}
		a, b = left, slices.DeleteFunc(slices.Clone(b), func(o bundle.Object) bool {
			return !slices.ContainsFunc(rest[of(o, name(o))], func(r bundle.Object) bool { return r.Object == o.Object })
		})
	}
	match(func(o bundle.Object) string { return o.Object.GetNamespace() + "/" + o.Object.GetName() })
	match(func(bundle.Object) string { return "" })
	return pairs
}

func normalised(o bundle.Object) *unstructured.Unstructured {
	obj := o.Object.DeepCopy()
	normalise(obj, []*unstructured.Unstructured{obj.DeepCopy()})
	return obj
}

func keyOf(o *unstructured.Unstructured) string {
	return lane.Object{GVK: o.GroupVersionKind(), Namespace: o.GetNamespace(), Name: o.GetName()}.Key()
}

// jsonDifferences compares two renderings in the types that a live object is read in.
func jsonDifferences(a, b *unstructured.Unstructured) ([]difference, error) {
	var read [2]map[string]any
	for i, o := range []*unstructured.Unstructured{a, b} {
		raw, err := json.Marshal(o.Object)
		if err == nil {
			err = json.NewDecoder(bytes.NewReader(raw)).Decode(&read[i])
		}
		if err != nil {
			return nil, fmt.Errorf("read the rendered %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	return differences(read[0], read[1]), nil
}

// contains reports whether a live value is the rendered one, perhaps with defaults besides.
func contains(live, rendered any) bool {
	switch want := rendered.(type) {
	case map[string]any:
		have, ok := live.(map[string]any)
		if !ok {
			return false
		}
		for k, v := range want {
			if got, ok := have[k]; !ok || !contains(got, v) {
				return false
			}
		}
		return true
	case []any:
		have, ok := live.([]any)
		if !ok || len(have) != len(want) {
			return false
		}
		for i := range want {
			if !contains(have[i], want[i]) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(live, rendered)
}
