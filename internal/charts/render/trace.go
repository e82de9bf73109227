package render

import (
	"encoding/json"
	"maps"
	"path"
	"slices"

	"go.yaml.in/yaml/v3"
)

// mostTraced limits the builds of one trace: each build leaves out one patch, to see what that
// patch changes. A kustomization with more patches has no trace of the others.
const mostTraced = 100

var kustomizationNames = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

// trace finds what each patch decides: the kustomization is built once more without it. What does
// not build without a patch is not known to be changed by it.
func (out *KustomizationOutput) trace(in KustomizationInput) error {
	if !slices.ContainsFunc(out.Objects, func(o KustomizationObject) bool { return len(o.parts()) > 0 }) && len(in.Patches) == 0 {
		return nil
	}
	left := mostTraced
	for i := range in.Patches {
		if left--; left < 0 {
			return nil
		}
		without := in
		without.Patches = slices.Delete(slices.Clone(in.Patches), i, i+1)
		if changed, ok := out.compare(without, KustomizationChange{Patch: i}); ok && !changed {
			out.Unused = append(out.Unused, i)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(in.Files)) {
		if !slices.Contains(kustomizationNames, path.Base(name)) {
			continue
		}
		var k map[string]any
		if yaml.Unmarshal(in.Files[name], &k) != nil {
			continue // its own build has refused it, if it counts
		}
		for _, field := range []string{"patches", "patchesStrategicMerge", "patchesJson6902"} {
			list, _ := k[field].([]any)
			for i := range list {
				if left--; left < 0 {
					return nil
				}
				less := maps.Clone(k)
				less[field] = slices.Delete(slices.Clone(list), i, i+1)
				text, err := json.Marshal(less)
				if err != nil {
					continue // a key that is no text
				}
				without := in
				without.Files = maps.Clone(in.Files)
				without.Files[name] = text
				out.compare(without, KustomizationChange{Patch: -1, File: name, Field: field, Index: i})
			}
		}
	}
	return nil
}

// compare builds without a patch, and writes down which objects' pods it changes. Changed reports
// whether it changes anything at all.
func (out *KustomizationOutput) compare(without KustomizationInput, c KustomizationChange) (changed, ok bool) {
	objects, err := run(without, nil)
	if err != nil {
		return false, false
	}
	before := map[string]*KustomizationObject{}
	for i := range objects {
		before[objects[i].key()] = &objects[i]
	}
	changed = len(objects) != len(out.Objects)
	for i := range out.Objects {
		o := &out.Objects[i]
		was, found := before[o.key()]
		if !found || was.YAML == o.YAML {
			changed = changed || !found
			continue
		}
		changed = true
		this := c
		parts, old := o.parts(), was.parts()
		for name := range union(parts, old) {
			if parts[name] != old[name] {
				this.Parts = append(this.Parts, name)
			}
		}
		if slices.Sort(this.Parts); len(this.Parts) > 0 {
			o.Changed = append(o.Changed, this)
		}
	}
	return changed, true
}

func union(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, b)
	return all
}
