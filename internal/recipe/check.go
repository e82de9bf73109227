package recipe

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/recipe/document"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// componentsDir has a directory of values and manifests for each component.
const componentsDir = "components"

// checksDir has a directory of checks for each component.
const checksDir = "checks"

// loadValues parses every values file, named by a recipe or not: one that is not yet in use is
// easiest to fix now.
func (l *loader) loadValues() {
	for _, file := range l.list(componentsDir, false) {
		// components/NAME/values*.yaml: what is deeper, or named otherwise, is a template or not a
		// recipe's business.
		if ok, err := path.Match(componentsDir+"/*/values*.yaml", file); err == nil && ok {
			l.loadValuesFile(file)
		}
	}
	for _, d := range l.declarations() {
		file := d.ref.ValuesFile
		if _, loaded := l.values[file]; file == "" || loaded {
			continue
		}
		if err := l.check(file); err != nil {
			l.Add(d.at(d.valuesFile), "values file of component %q: %w", d.ref.Name, err)
			continue
		}
		l.loadValuesFile(file)
	}
}

func (l *loader) loadValuesFile(file string) {
	data, err := l.files.Read(file)
	if err != nil {
		l.Add(Origin{File: l.display(file)}, "%w", err)
		return
	}
	t, found := parseValues(l.display(file), data)
	l.AddAll(found)
	l.values[file] = t
}

// parseValues gives the tree of a values file; an empty one has no values.
func parseValues(file string, data []byte) (*document.Tree, []*FileError) {
	root, found := document.ParseYAML(file, data)
	if len(found) > 0 {
		return nil, found
	}
	if root == nil {
		return &document.Tree{Origin: Origin{File: file}, Fields: map[string]*document.Tree{}}, nil
	}
	d := newDecoder(file)
	t := document.TreeOf(root, Origin{File: file, Line: root.Line}, &d.Problems)
	if t.Fields == nil {
		d.Add(d.At(root), "a values file must be a mapping, not %s; correct it", document.KindName(root))
	}
	return t, d.Found
}

// declarations gives every componentRef of every overlay and mixin.
func (l *loader) declarations() []*declaration {
	var all []*declaration
	for _, name := range l.Names() {
		o := l.overlays[name]
		for i := range o.layer.components {
			all = append(all, &o.layer.components[i])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.mixins)) {
		m := l.mixins[name]
		for i := range m.layer.components {
			all = append(all, &m.layer.components[i])
		}
	}
	return all
}

// crossCheck checks what takes more than one file to check.
func (l *loader) crossCheck() {
	l.checkBases()
	l.checkFileNames()
	for _, d := range l.declarations() {
		l.checkComponent(d)
	}
	l.checkRoot()
	for _, name := range l.Names() {
		o := l.overlays[name]
		for i, m := range o.Mixins {
			if _, ok := l.mixins[m]; !ok && !l.broken["mixins/"+m+".yaml"] {
				l.AddAll(l.foreign["mixins/"+m+".yaml"])
				known := slices.Sorted(maps.Keys(l.mixins))
				l.Add(Origin{File: o.Origin.File, Line: o.lines.mixins[i]}, "mixin %q does not exist; %s", m, adviceFor(m, known, "add mixins/"+m+".yaml"))
			}
		}
	}
}

// checkRoot refuses dependencies of the root's components on those of other overlays: AICR's CLI
// makes no recipe at all of such a directory, since July.
func (l *loader) checkRoot() {
	root, ok := l.overlays[baseOverlay]
	if !ok || l.generation == document.March {
		return
	}
	has := map[string]bool{}
	for _, d := range root.layer.components {
		has[d.ref.Name] = true
	}
	for _, d := range root.layer.components {
		for i, dep := range d.ref.DependencyRefs {
			if !has[dep] {
				l.Add(d.at(d.depLines[i]), "component %q of the overlay %q depends on %q, which that overlay does not have, so that AICR refuses every recipe; add it there, or move the dependency to the overlay that has it", d.ref.Name, baseOverlay, dep)
			}
		}
	}
}

// checkBases follows each overlay's chain to the root, and makes its effective criteria on the way.
func (l *loader) checkBases() {
	told := map[string]bool{}
	for _, name := range l.Names() {
		o := l.overlays[name]
		o.Effective = o.Criteria.Bare()
		way := []string{name}
		for at := o; at.Base != ""; {
			next, ok := l.overlays[at.Base]
			if !ok {
				if !told[at.Name] && !l.broken["overlays/"+at.Base+".yaml"] {
					l.AddAll(l.foreign["overlays/"+at.Base+".yaml"])
					l.Add(Origin{File: at.Origin.File, Line: at.lines.base}, "base %q does not exist; %s", at.Base, adviceFor(at.Base, l.Names(), "add overlays/"+at.Base+".yaml"))
				}
				told[at.Name] = true
				break
			}
			if i := slices.Index(way, next.Name); i >= 0 {
				// From every overlay on the cycle, and every one that leads into it, it is the same
				// cycle.
				cycle := rotateOrder(way[i:])
				first := l.overlays[cycle[0]]
				if !told[first.Name] {
					l.Add(Origin{File: first.Origin.File, Line: first.lines.base}, "the bases form a cycle: %s; remove one of them", strings.Join(append(cycle, cycle[0]), " -> "))
				}
				told[first.Name] = true
				break
			}
			o.Effective = o.Effective.Or(next.Criteria.Bare())
			way = append(way, next.Name)
			at = next
		}
	}
}

// checkFileNames refuses a name by which two overlays could be meant: one by its metadata, the
// other by its file.
func (l *loader) checkFileNames() {
	byFile := map[string]*Overlay{}
	for _, name := range l.Names() {
		o := l.overlays[name]
		byFile[strings.TrimSuffix(path.Base(o.Origin.File), ".yaml")] = o
	}
	for _, name := range l.Names() {
		if o, other := l.overlays[name], byFile[name]; other != nil && other != o {
			l.Add(o.Origin, "overlay %q has the name of the file %s, which is another overlay, %q; name each file after its overlay", name, other.Origin.File, other.Name)
		}
	}
}

func (l *loader) checkComponent(d *declaration) {
	for i, file := range d.ref.ManifestFiles {
		if err := l.check(file); err != nil {
			l.Add(d.at(d.manifestLines[i]), "manifest of component %q: %w", d.ref.Name, err)
		}
	}
	for i, file := range d.ref.PreManifestFiles {
		if err := l.check(file); err != nil {
			l.Add(d.at(d.preManifestLines[i]), "manifest of component %q: %w", d.ref.Name, err)
		}
	}
	for i, file := range d.ref.Patches {
		if err := l.check(file); err != nil {
			l.Add(d.at(d.patchLines[i]), "patch of component %q: %w", d.ref.Name, err)
		}
	}
	if l.registry == nil || d.ref.Name == "" {
		return // reported before; without a registry, every component would be unknown
	}
	known := slices.Sorted(maps.Keys(l.registry))
	if _, ok := l.registry[d.ref.Name]; !ok {
		l.Add(d.origin, "component %q is not in %s; %s", d.ref.Name, l.registries(), adviceFor(d.ref.Name, known, "add it there"))
	}
	for i, dep := range d.ref.DependencyRefs {
		if _, ok := l.registry[dep]; !ok {
			l.Add(d.at(d.depLines[i]), "component %q depends on %q, which is not in %s; %s", d.ref.Name, dep, l.registries(), adviceFor(dep, known, "add it there"))
		}
	}
}

// adviceFor is what to do about an unknown name: use the known one that was probably meant, or else
// otherwise.
func adviceFor(name string, known []string, otherwise string) string {
	if h := lists.Hint(name, known); h != "" {
		return h
	}
	return otherwise + " or correct the name"
}
