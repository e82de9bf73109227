package change

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/result"
)

// definition is a summary of a CustomResourceDefinition: its schemas are megabytes.
type definition struct {
	versions []string
	storage  string
	stored   []string          // versions in which objects may be stored; none for a rendering
	fields   map[string]string // the type of each field, by version and path
	// rules is a digest of everything but descriptions; whole is one of everything. Both are of the
	// head in a rendering, which has no schemas.
	rules, whole [sha256.Size]byte
	schemas      bool
}

func define(obj *unstructured.Unstructured, stored []string) *definition {
	d := &definition{stored: stored, fields: map[string]string{}}
	versions, _, _ := unstructured.NestedSlice(obj.Object, "spec", "versions")
	for _, v := range versions {
		m, _ := v.(map[string]any)
		name, _ := m["name"].(string)
		d.versions = append(d.versions, name)
		if storage, _ := m["storage"].(bool); storage {
			d.storage = name
		}
		if schema, ok, _ := unstructured.NestedMap(m, "schema", "openAPIV3Schema"); ok {
			d.schemas = true
			d.walk(name, schema)
		}
	}
	spec := obj.Object["spec"]
	d.whole = digest(spec)
	d.rules = digest(undescribed(spec))
	return d
}

// walk writes down the fields of a schema.
func (d *definition) walk(path string, schema map[string]any) {
	properties, _ := schema["properties"].(map[string]any)
	for name, v := range properties {
		child, _ := v.(map[string]any)
		at := path + "." + name
		d.fields[at] = typeOf(child)
		d.walk(at, child)
	}
	if items, ok := schema["items"].(map[string]any); ok {
		d.walk(path+"[]", items)
	}
	if more, ok := schema["additionalProperties"].(map[string]any); ok {
		d.walk(path+"{}", more)
	}
}

func typeOf(schema map[string]any) string {
	name, _ := schema["type"].(string)
	if number, _ := schema["x-kubernetes-int-or-string"].(bool); number {
		return "integer or string"
	}
	return name
}

// undescribed is a copy of a schema without its descriptions. A field may be called description, too:
// that one is a map.
func undescribed(v any) any {
	switch v := v.(type) {
	case map[string]any:
		copied := map[string]any{}
		for key, child := range v {
			if _, text := child.(string); key != "description" || !text {
				copied[key] = undescribed(child)
			}
		}
		return copied
	case []any:
		var copied []any
		for _, child := range v {
			copied = append(copied, undescribed(child))
		}
		return copied
	}
	return v
}

func digest(v any) [sha256.Size]byte {
	raw, err := json.Marshal(v) // its keys are sorted
	if err != nil {
		raw = []byte(fmt.Sprint(v))
	}
	return sha256.Sum256(raw)
}

// mostFields is how many fields of an object or a definition are named.
const mostFields = 12

// between compares two definitions; nil if they differ in descriptions only.
func (d *definition) between(name string, after *definition) *result.CRDChange {
	if d.rules == after.rules && slices.Equal(d.stored, after.stored) {
		return nil
	}
	c := &result.CRDChange{Name: name, AddedVersions: without(after.versions, d.versions), RemovedVersions: without(d.versions, after.versions)}
	if d.storage != after.storage {
		c.StoredBefore, c.StoredAfter = d.storage, after.storage
	}
	c.Dropped = without(after.stored, after.versions)
	if d.schemas && after.schemas {
		added, removed := fieldsOnly(after, d), fieldsOnly(d, after)
		c.AddedFields, c.RemovedFields = added[:min(len(added), mostFields)], removed[:min(len(removed), mostFields)]
		c.More = len(added) + len(removed) - len(c.AddedFields) - len(c.RemovedFields)
	}
	// In a rendering, which has no schemas, these settings are e.g. the scope and the names.
	named := len(c.AddedFields) + len(c.RemovedFields) + len(c.AddedVersions) + len(c.RemovedVersions) + len(c.Dropped)
	c.Rules = named == 0 && c.StoredBefore == c.StoredAfter
	return c
}

// without returns the elements of a that b lacks.
func without(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(x string) bool { return slices.Contains(b, x) })
}

// fieldsOnly returns the fields that d has and other lacks or has with another type: the topmost
// ones, in versions that both have.
func fieldsOnly(d, other *definition) []string {
	var all []string
	listed := map[string]bool{}
	for _, path := range slices.Sorted(maps.Keys(d.fields)) {
		if kind, ok := other.fields[path]; ok && kind == d.fields[path] {
			continue
		}
		version, _, _ := strings.Cut(path, ".")
		if !slices.Contains(other.versions, version) {
			continue
		}
		below := false
		for above := parent(path); above != "" && !below; above = parent(above) {
			below = listed[above]
		}
		if !below {
			listed[path] = true
			all = append(all, strings.TrimSuffix(path+": "+d.fields[path], ": "))
		}
	}
	return all
}

// parent is the path above; empty for a version.
func parent(path string) string {
	for _, suffix := range []string{"[]", "{}"} {
		if above, ok := strings.CutSuffix(path, suffix); ok {
			return above
		}
	}
	return path[:max(0, strings.LastIndex(path, "."))]
}
