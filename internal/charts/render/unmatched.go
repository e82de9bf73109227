package render

// unmatched.go finds what a kustomization sets for objects that it does not have: Kustomize says nothing of a patch whose target
// selects none, nor of an image that none has. Kustomize itself decides: the kustomization is built with marks in place of what
// the entries set.

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/util/lists"
)

// Unmatched is an entry of a kustomization that changes no object, since there is none that it selects.
type Unmatched struct {
	// Patch is the position in Input.Patches; -1 for an entry of a kustomization in Input.Files, of which Field is patches,
	// replacements or images. Without a File it is of images in Input.Settings. Step is the position in Post.Steps.
	Patch, Step int
	File, Field string
	Index       int
	// Selects is what it selects, and Near the object that is most like it, for people; empty without one.
	Selects, Near string
	// Named: it selects one object by its name, or a kind that is misspelt, and is no patch for whatever there may be.
	Named bool
}

// mark is in the output of a build where an entry was applied.
const mark = "x-matrix-%04d"

// unmatched gives the entries of a kustomization that select nothing. It builds: the objects are what it makes.
func (in KustomizationInput) unmatched(objects []KustomizationObject) []Unmatched {
	own := -1 // patches of the kustomization that the deployer writes into
	edited, given := "", map[string]bool{}
	if in.Edit != "" {
		name, text, err := in.edited()
		if err != nil {
			return nil
		}
		if name != "" {
			var k struct{ Patches []any }
			if yaml.Unmarshal(in.Files[name], &k) != nil {
				return nil
			}
			own, edited = len(k.Patches), name
			var set edits
			if len(in.Settings) > 0 && json.Unmarshal(in.Settings, &set) == nil {
				for _, image := range set.Images {
					given[nameOf(image)] = true
				}
			}
			in.Files = maps.Clone(in.Files)
			in.Files[name] = text
			in.Edit, in.Patches, in.Settings = "", nil, nil
		}
	}
	var all []Unmatched
	for _, e := range in.targeted() {
		u := Unmatched{Patch: -1, File: e.file, Field: e.field, Index: e.index, Selects: e.target.String()}
		u.Near, u.Named = e.target.near(objects)
		if e.file == edited && e.field == "patches" && e.index >= own {
			u.Patch = e.index - own
		}
		all = append(all, u)
	}
	for _, e := range in.idleReplacements() {
		u := Unmatched{Patch: -1, File: e.file, Field: e.field, Index: e.index, Selects: e.target.String()}
		u.Near, u.Named = e.target.near(objects)
		all = append(all, u)
	}
	for _, e := range in.idleImages() {
		u := Unmatched{Patch: -1, File: e.file, Field: e.field, Index: e.index, Selects: "image " + e.image, Near: nearestImage(e.image, objects)}
		if e.file == edited && given[e.image] {
			u.File = ""
		}
		all = append(all, u)
	}
	return all
}

// entry is one of a kustomization's lists.
type entry struct {
	file, field string
	index       int
	target      target
	image       string
}

// target is what a patch selects.
type target struct{ Group, Version, Kind, Namespace, Name, LabelSelector, AnnotationSelector string }

func targetOf(x any) (t target, ok bool) {
	m, ok := x.(map[string]any)
	text := func(key string) string { s, _ := m[key].(string); return s }
	return target{text("group"), text("version"), text("kind"), text("namespace"), text("name"), text("labelSelector"), text("annotationSelector")}, ok
}

// String is the target as people read it.
func (t target) String() string {
	var parts []string
	for _, p := range []struct{ what, is string }{
		{"group", t.Group}, {"version", t.Version}, {"kind", t.Kind}, {"name", t.Name}, {"namespace", t.Namespace}, {"labelSelector", t.LabelSelector}, {"annotationSelector", t.AnnotationSelector},
	} {
		if p.is != "" {
			parts = append(parts, p.what+" "+p.is)
		}
	}
	return strings.Join(parts, ", ")
}

// near is the object that is most like a target, and whether the target can only mean a certain one.
func (t target) near(objects []KustomizationObject) (text string, named bool) {
	shown := func(o KustomizationObject) string {
		if o.Namespace == "" {
			return o.Kind + " " + o.Name
		}
		return fmt.Sprintf("%s %s in the namespace %s", o.Kind, o.Name, o.Namespace)
	}
	named = t.Name != "" && regexp.QuoteMeta(t.Name) == t.Name
	var alike []KustomizationObject
	var names, kinds []string
	for _, o := range objects {
		kinds = append(kinds, o.Kind)
		if o.Kind == t.Kind || t.Kind == "" {
			alike, names = append(alike, o), append(names, o.Name)
		}
	}
	find := func(in []KustomizationObject, is func(KustomizationObject) bool) string {
		if i := slices.IndexFunc(in, is); i >= 0 {
			return shown(in[i])
		}
		return ""
	}
	sameName := func(o KustomizationObject) bool { return o.Name == t.Name }
	if kind := lists.Misspelt(t.Kind, kinds); len(alike) == 0 && kind != "" {
		for _, is := range []func(KustomizationObject) bool{func(o KustomizationObject) bool { return o.Kind == kind && o.Name == t.Name }, func(o KustomizationObject) bool { return o.Kind == kind }} {
			if text = find(objects, is); text != "" {
				return text, true
			}
		}
	}
	if text = find(alike, sameName); text != "" {
		return text, named // its namespace, labels or group differ
	}
	if name := lists.Nearest(t.Name, names); t.Name != "" && name != "" {
		return find(alike, func(o KustomizationObject) bool { return o.Name == name }), named
	}
	if t.Name != "" {
		if text = find(objects, sameName); text != "" {
			return text, named
		}
	}
	if len(alike) > 0 && t.Kind != "" {
		return shown(alike[0]), named
	}
	return "", named
}

// eachKustomization calls do for those of the files, decoded, by their names in order.
func (in KustomizationInput) eachKustomization(do func(name string, k map[string]any)) {
	for _, name := range slices.Sorted(maps.Keys(in.Files)) {
		var k map[string]any
		if slices.Contains(kustomizationNames, path.Base(name)) && yaml.Unmarshal(in.Files[name], &k) == nil {
			do(name, k)
		}
	}
}

// with is the input with other entries in a list of a kustomization.
func (in KustomizationInput) with(name, field string, list []any) (KustomizationInput, bool) {
	var k map[string]any
	if yaml.Unmarshal(in.Files[name], &k) != nil {
		return in, false
	}
	k[field] = list
	text, err := json.Marshal(k)
	if err != nil {
		return in, false // a key that is no text
	}
	in.Files = maps.Clone(in.Files)
	in.Files[name] = text
	return in, true
}

// markedPatch is a patch with the same target that does something else.
func markedPatch(target any, operation string) map[string]any {
	return map[string]any{"target": target, "patch": "[" + operation + "]"}
}

// targeted gives the patches whose targets select nothing.
func (in KustomizationInput) targeted() []entry {
	var all []entry
	marks := in
	in.eachKustomization(func(name string, k map[string]any) {
		list, _ := k["patches"].([]any)
		list = slices.Clone(list)
		some := false
		for i, x := range list {
			p, _ := x.(map[string]any)
			t, ok := targetOf(p["target"])
			if !ok || t == (target{}) || len(all) >= mostTraced {
				continue
			}
			list[i] = markedPatch(p["target"], fmt.Sprintf(`{"op": "add", "path": "/`+mark+`", "value": "x"}`, len(all)))
			all, some = append(all, entry{file: name, field: "patches", index: i, target: t}), true
		}
		if some {
			marks, _ = marks.with(name, "patches", list)
		}
	})
	if len(all) == 0 {
		return nil
	}
	made, _ := run(marks, nil) // with an error each is looked at by itself
	var left []entry
	for n, e := range all {
		if containsMark(made, n) || in.selects(e) {
			continue
		}
		left = append(left, e)
	}
	return left
}

func containsMark(made []KustomizationObject, n int) bool {
	return slices.ContainsFunc(made, func(o KustomizationObject) bool { return strings.Contains(o.YAML, fmt.Sprintf(mark, n)) })
}

// selects reports whether a patch selects something where all others are as they are: it is made one that fails.
func (in KustomizationInput) selects(e entry) bool {
	var k map[string]any
	if yaml.Unmarshal(in.Files[e.file], &k) != nil {
		return true
	}
	list, _ := k["patches"].([]any)
	list = slices.Clone(list)
	list[e.index] = markedPatch(list[e.index].(map[string]any)["target"], `{"op": "test", "path": "/kind", "value": "`+mark+`"}`)
	fails, ok := in.with(e.file, "patches", list)
	if !ok {
		return true
	}
	_, err := run(fails, nil)
	return err != nil
}

// idleReplacements gives the replacements with a target that selects nothing. One that selects something fails if it has no such
// field as is put in its place.
func (in KustomizationInput) idleReplacements() []entry {
	var all []entry
	left := mostTraced
	in.eachKustomization(func(name string, k map[string]any) {
		list, _ := k["replacements"].([]any)
		for i, x := range list {
			r, _ := x.(map[string]any)
			targets, _ := r["targets"].([]any)
			for _, x := range targets {
				one, _ := x.(map[string]any)
				t, ok := targetOf(one["select"])
				if left--; !ok || t == (target{}) || left < 0 {
					continue
				}
				this := maps.Clone(one)
				delete(this, "options")
				this["fieldPaths"] = []string{"x-matrix.none"}
				alone := maps.Clone(r)
				alone["targets"] = []any{this}
				with, ok := in.with(name, "replacements", []any{alone})
				if !ok {
					continue
				}
				if _, err := run(with, nil); err == nil {
					all = append(all, entry{file: name, field: "replacements", index: i, target: t})
				}
			}
		}
	})
	return all
}

// idleImages gives the entries of images of which no object has the image. Those of a component are not looked at: it does
// not build by itself.
func (in KustomizationInput) idleImages() []entry {
	var all []entry
	in.eachKustomization(func(name string, k map[string]any) {
		list, _ := k["images"].([]any)
		if len(list) == 0 || len(list) > mostTraced || k["kind"] == "Component" {
			return
		}
		alone := in
		alone.Dir, alone.Edit, alone.Patches, alone.Settings = path.Dir(name), "", nil, nil
		tagged := func(i int) map[string]any {
			x, _ := list[i].(map[string]any)
			x = maps.Clone(x)
			delete(x, "digest")
			delete(x, "tagSuffix")
			x["newTag"] = fmt.Sprintf(mark, i)
			return x
		}
		made := func(list []any) ([]KustomizationObject, bool) {
			with, ok := alone.with(name, "images", list)
			if !ok {
				return nil, false
			}
			made, err := run(with, nil)
			return made, err == nil
		}
		var tags []any
		for i := range list {
			if x, ok := list[i].(map[string]any); !ok || x["name"] == nil {
				return // Kustomize's to refuse
			}
			tags = append(tags, tagged(i))
		}
		together, ok := made(tags)
		if !ok {
			return
		}
		for i := range list {
			if containsMark(together, i) {
				continue
			}
			// A later entry may have replaced what this one made.
			if one, ok := made(append(slices.Clone(list[:i]), tagged(i))); ok && !containsMark(one, i) {
				all = append(all, entry{file: name, field: "images", index: i, image: fmt.Sprint(list[i].(map[string]any)["name"])})
			}
		}
	})
	return all
}

// imageLine is an image in an object.
var imageLine = regexp.MustCompile(`(?m)^[ -]*image: "?([^\s"@]+)`)

// nearestImage is the image that is most like a name.
func nearestImage(name string, objects []KustomizationObject) string {
	var all []string
	for _, o := range objects {
		for _, m := range imageLine.FindAllStringSubmatch(o.YAML, -1) {
			image := m[1]
			if i := strings.LastIndex(image, ":"); i > strings.LastIndex(image, "/") {
				image = image[:i]
			}
			if path.Base(image) == path.Base(name) {
				return image
			}
			all = append(all, image)
		}
	}
	return lists.Nearest(name, lists.Unique(all))
}
