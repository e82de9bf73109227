package intact

import (
	"reflect"
	"sync"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result"
)

// Heard is what the API server has warned of when this program created the objects of a recipe in one
// of its cells. Whoever creates the same object in another cell is warned of the same, so that nobody
// need ask there. The zero value knows nothing.
type Heard struct {
	mu sync.Mutex
	of map[result.Ref]heardObject
}

type heardObject struct {
	object *bundle.Object
	texts  []string
}

// Keep notes all objects of a bundle that this program's clients have created, and what they were
// warned of meanwhile.
func (h *Heard) Keep(e *bundle.Expectation, warnings *infra.Warnings) {
	if h == nil || !steady(e) {
		return
	}
	texts := map[string][]string{}
	for _, w := range warnings.Since(0) {
		texts[w.Object] = append(texts[w.Object], w.Text)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.of == nil {
		h.of = map[result.Ref]heardObject{}
	}
	for i := range e.Objects {
		o := &e.Objects[i]
		h.of[o.Ref()] = heardObject{o, texts[named(o)]}
	}
}

// Tell adds to warnings what is known of the objects of another cell's bundle, and returns which those
// are. An object that is rendered otherwise there is not known.
func (h *Heard) Tell(e *bundle.Expectation, warnings *infra.Warnings) map[result.Ref]bool {
	known := map[result.Ref]bool{}
	if h == nil || !steady(e) {
		return known
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range e.Objects {
		o := &e.Objects[i]
		was, ok := h.of[o.Ref()]
		if !ok || !sameRendering(was.object, o) {
			continue
		}
		known[o.Ref()] = true
		for _, text := range was.texts {
			warnings.Add(infra.APIWarning{Object: named(o), Text: text})
		}
	}
	return known
}

// sameRendering reports whether two objects are the same. Of a definition only the head is kept: the
// rest is the same if it is a file of crds/, which no value changes, of the same chart.
func sameRendering(a, b *bundle.Object) bool {
	if isDefinition(a) && !(a.InCRDs() && b.InCRDs() && a.Chart != nil && a.Chart == b.Chart && a.Template == b.Template) {
		return false
	}
	return reflect.DeepEqual(a.Object.Object, b.Object.Object)
}

// steady reports whether the objects of a bundle are created alike, and with the same warnings, in every lane. They are not where
// an admission policy has a say, which comes into force at some time, and where the bundle has an object twice: which of the two is
// created differs, and of definitions also what objects of their kind are warned of.
func steady(e *bundle.Expectation) bool {
	if reachOf(e).everywhere {
		return false
	}
	seen := map[result.Ref]bool{}
	for i := range e.Objects {
		ref := e.Objects[i].Ref()
		if ref.Name != "" && seen[ref] {
			return false
		}
		seen[ref] = true
	}
	return true
}

func isDefinition(o *bundle.Object) bool {
	return infra.ResourceFor(o.Object.GroupVersionKind()) == infra.CRDResource
}
