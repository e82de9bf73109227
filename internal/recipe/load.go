package recipe

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"

	"github.com/nvidia/aicr-action/internal/recipe/document"
	"go.yaml.in/yaml/v3"
)

// Store is a recipes directory that has been read and checked. It does not change, so that it can
// be used concurrently.
type Store struct {
	files    document.Files
	registry map[string]registered
	overlays map[string]*Overlay
	mixins   map[string]*mixin
	values   map[string]*document.Tree // by path: every values file, parsed

	generation document.Generation
	newest     string          // apiVersion of the documents
	noted      []document.Note // what was read by older rules than its own

	sources          map[string]Source // that Kustomize components may have besides directories of the recipes
	noKustomizations bool
	labels           bool // the component dra-node-labeler has a task
}

// Open reads and checks the recipes directory fsys, which messages call root. If anything in it is
// wrong, the error joins a *FileError for every problem.
func Open(fsys fs.FS, root string) (*Store, error) { return openLayers(Layer{FS: fsys, Root: root}) }

// OpenLayer is Open of a layer, which may be lenient.
func OpenLayer(layer Layer) (*Store, error) { return openLayers(layer) }

// openLayers reads layers, the one that wins first. The last one is the recipes directory; any
// other is a data directory.
func openLayers(layers ...Layer) (*Store, error) {
	l := &loader{Store: &Store{
		files:    document.FilesOf(layers...),
		overlays: map[string]*Overlay{},
		mixins:   map[string]*mixin{},
		values:   map[string]*document.Tree{},
	}, broken: map[string]bool{}}
	for i, layer := range layers {
		what, wanted := "data", "registry.yaml"
		if i == len(layers)-1 {
			what, wanted = "recipes", "registry.yaml and overlays/"
		}
		if info, err := fs.Stat(layer.FS, "."); err != nil {
			return nil, fmt.Errorf("opening the %s directory %s: %w; give the directory that has %s", what, layer.Root, err, wanted)
		} else if !info.IsDir() {
			return nil, fmt.Errorf("opening the %s directory %s: it is not a directory; give the directory that has %s", what, layer.Root, wanted)
		}
	}
	for _, data := range layers[:len(layers)-1] {
		l.checkData(data)
	}
	if err := l.Err(); err != nil {
		return nil, err
	}
	l.registry = l.loadRegistry()
	for _, file := range append(l.list("overlays", true), l.files.Strays(componentsDir, checksDir)...) {
		l.loadOverlay(file)
	}
	for _, file := range l.list("mixins", false) {
		l.loadMixin(file)
	}
	l.checkVersions()
	l.loadValues()
	l.crossCheck()
	if err := l.Err(); err != nil {
		return nil, err
	}
	return l.Store, nil
}

// Names gives the overlays' names, sorted.
func (s *Store) Names() []string { return slices.Sorted(maps.Keys(s.overlays)) }

// Overlay gives the overlay with that name, which may be that of a Variant.
func (s *Store) Overlay(name string) (*Overlay, bool) {
	o, _, ok := s.variant(name)
	return o, ok
}

// Mixins gives the mixins' names, sorted.
func (s *Store) Mixins() []string { return slices.Sorted(maps.Keys(s.mixins)) }

// FS has the files of all layers, and says how messages call one of them.
func (s *Store) FS() (fs.FS, func(string) string) { return s.files.FS, s.files.Display }

// decoder reads the documents of recipes.
type decoder struct{ document.Decoder }

func newDecoder(file string) *decoder { return &decoder{document.Decoder{File: file}} }

// decoder is one for a file of a layer.
func (l *loader) decoder(files document.Files, file string) *decoder {
	d := newDecoder(files.Display(file))
	d.Lenient = files.Layers[len(files.Layers)-1].Lenient
	return d
}

// took keeps what a decoder has found.
func (l *loader) took(d *decoder) {
	l.AddAll(d.Found)
	l.noted = append(l.noted, d.Notes...)
}

// loader is a Store in the making.
type loader struct {
	*Store
	document.Problems
	// size is that of the files that list has found, in bytes.
	size int64
	// broken has the files whose overlay or mixin could not be read. It prevents errors which say
	// that those overlays and mixins do not exist.
	broken map[string]bool
	// foreign has the files that were left out for their kind, with what is wrong with them if others need them.
	foreign map[string][]*FileError
	// versions are those of the documents that were read.
	versions []versionPlace
}

func (l *loader) display(name string) string { return l.files.Display(name) }
func (l *loader) check(name string) error    { return l.files.Check(name) }

// list gives the YAML files in a directory and below it, sorted by path.
func (l *loader) list(dir string, required bool) []string {
	if _, err := fs.Lstat(l.files.FS, dir); errors.Is(err, fs.ErrNotExist) {
		if required {
			l.Add(Origin{File: l.display(dir)}, "the directory does not exist; give a recipes directory that has registry.yaml and overlays/")
		}
		return nil
	}
	var found []string
	err := fs.WalkDir(l.files.FS, dir, func(name string, entry fs.DirEntry, err error) error {
		at := Origin{File: l.display(name)}
		switch {
		case err != nil:
			l.Add(at, "reading it: %w", err)
			if entry != nil && entry.IsDir() {
				return fs.SkipDir
			}
		case entry.IsDir():
		case entry.Type()&fs.ModeSymlink != 0:
			l.Add(at, "it is a symbolic link, which may lead out of the recipes directory; replace it with a copy")
		case path.Ext(name) == ".yaml":
			found = append(found, name)
			if info, err := entry.Info(); err == nil { // an error is met again when the file is read
				l.size += info.Size()
			}
		case path.Ext(name) == ".yml" && dir != componentsDir:
			// Otherwise the file would be ignored without a message.
			l.Add(at, "recipes are read from files that end in .yaml; rename it")
		}
		return nil
	})
	if err != nil {
		l.Add(Origin{File: l.display(dir)}, "reading the directory: %w", err)
	}
	if l.size > document.MaxTotalSize {
		l.Add(Origin{File: l.display(dir)}, "with the files in it the recipes have %d MiB, and none have more than %d MiB; remove what is not theirs", l.size>>20, document.MaxTotalSize>>20)
		return nil
	}
	return found
}

// parse reads a file with one YAML document. The node is nil if that is empty; false means that
// problems were added.
func (l *loader) parse(name string) (*yaml.Node, bool) { return l.parseFrom(l.files, name) }

func (l *loader) parseFrom(from document.Files, name string) (*yaml.Node, bool) {
	data, err := from.Read(name)
	if err != nil {
		l.Add(Origin{File: from.Display(name)}, "%w", err)
		return nil, false
	}
	root, found := document.ParseYAML(from.Display(name), data)
	l.AddAll(found)
	return root, len(found) == 0
}

func (l *loader) loadOverlay(file string) {
	from, more := l.profileAlone(file)
	d := l.decoder(from, file)
	defer l.took(d)
	root, ok := l.parseFrom(from, file)
	if ok && d.Foreign(root) {
		l.leaveOut(file, root, document.OverlayKind)
		return
	}
	if !ok || !d.Header(root, document.OverlayKind) {
		l.broken[file] = true
		return
	}
	l.saw(d)
	var doc overlayDocument
	d.Decode(root, &doc, "")
	name, at, ok := d.name(root, doc.Metadata, "overlay")
	if !ok {
		return
	}
	if first, ok := l.overlays[name]; ok {
		d.Add(at, "overlay %q is already at %s; %s", name, first.Origin, l.adviceOnTwo())
		return
	}
	spec := doc.Spec
	if spec.Criteria.Nodes < 0 {
		d.Add(Origin{File: d.File, Line: document.LineOf(root, "spec", "criteria", "nodes")}, "spec.criteria.nodes is %d; use 0 for any number", spec.Criteria.Nodes)
	}
	o := &Overlay{
		Name: name, Origin: at, Base: spec.Base, Mixins: spec.Mixins, Criteria: spec.Criteria,
		layer: d.layer(root, spec.Constraints, spec.ComponentRefs),
		lines: overlayLines{base: document.LineOf(root, "spec", "base")},
	}
	o.lines.criteria = lineOfCriteria(root)
	if spec.Criteria.Nodes > 0 && document.GenerationOf(d.APIVersion) != document.March && l.files.Overlaid(file) {
		d.Add(Origin{File: d.File, Line: document.LineOf(root, "spec", "criteria", "nodes")}, "spec.criteria.nodes is %d: AICR does not select overlays by the number of nodes, so that this one would apply to any; remove it", spec.Criteria.Nodes)
	}
	if o.Base == "" && name != baseOverlay {
		o.Base = baseOverlay
	}
	for i := range spec.Mixins {
		o.lines.mixins = append(o.lines.mixins, document.LineOf(root, "spec", "mixins", i))
	}
	o.layer.validation = spec.Validation.phases()
	o.layer.lines = linesOfValidation(d.File, root, o.layer.validation, "spec", "validation")
	list, _ := spec.Validation.Readiness["constraints"].([]any)
	for i, c := range list {
		if named, ok := c.(map[string]any); ok {
			name, _ := named["name"].(string)
			d.checkReading(name, o.layer.lines["readiness"].constraints[i])
		}
	}
	o.profile = readProfile(&d.Decoder, root, spec.Profile, nil)
	if more != nil {
		o.profile = l.extendProfile(o, file, more)
	}
	if spec.Resolution != nil && document.GenerationOf(d.APIVersion) == document.March {
		d.tooNew(root, "spec.resolution", "spec", "resolution")
	}
	l.overlays[name] = o
}

// lineOfCriteria is 0 for an overlay without criteria, which no query selects. Empty ones are those of
// every query.
func lineOfCriteria(root *yaml.Node) int {
	if n := document.NodeAt(root, "spec", "criteria"); n == nil || n.ShortTag() == "!!null" {
		return 0
	}
	return document.LineOf(root, "spec", "criteria")
}

// leaveOut remembers a file that was left out for its kind.
func (l *loader) leaveOut(file string, root *yaml.Node, kind string) {
	d := newDecoder(l.display(file))
	d.Header(root, kind)
	if l.foreign == nil {
		l.foreign = map[string][]*FileError{}
	}
	l.foreign[file] = d.Found
}

func (l *loader) loadMixin(file string) {
	d := l.decoder(l.files, file)
	defer l.took(d)
	root, ok := l.parse(file)
	if ok && d.Foreign(root) {
		l.leaveOut(file, root, document.MixinKind)
		return
	}
	if !ok || !d.Header(root, document.MixinKind) {
		l.broken[file] = true
		return
	}
	l.saw(d)
	var doc mixinDocument
	d.Decode(root, &doc, "")
	name, at, ok := d.name(root, doc.Metadata, "mixin")
	if !ok {
		return
	}
	if first, ok := l.mixins[name]; ok {
		d.Add(at, "mixin %q is already at %s; %s", name, first.origin, l.adviceOnTwo())
		return
	}
	l.mixins[name] = &mixin{name: name, origin: at, layer: d.layer(root, doc.Spec.Constraints, doc.Spec.ComponentRefs)}
}

// adviceOnTwo is what to do about two documents of one name.
func (l *loader) adviceOnTwo() string {
	advice := "remove or rename one of them"
	if len(l.files.Layers) > 1 {
		advice += "; a file of the data directory replaces the one with the same path"
	}
	return advice
}

// name gives metadata.name and its place. The other metadata has no part in resolution and may be
// anything.
func (d *decoder) name(root *yaml.Node, metadata map[string]any, what string) (string, Origin, bool) {
	at := Origin{File: d.File, Line: document.LineOf(root, "metadata", "name")}
	name, _ := metadata["name"].(string)
	return name, at, document.CheckName(&d.Problems, at, what, name)
}

// layer keeps the places of what was decoded, and checks what can be checked without other files.
func (d *decoder) layer(root *yaml.Node, constraints []Constraint, refs []ComponentRef) layer {
	made := layer{constraints: constraints}
	seen := map[string]int{}
	for i, c := range constraints {
		line := document.LineOf(root, "spec", "constraints", i)
		constraints[i].Origin = Origin{File: d.File, Line: line}
		if first, ok := seen[c.Name]; ok {
			d.Add(Origin{File: d.File, Line: line}, "constraint %q is already on line %d; remove one of them", c.Name, first)
		} else if c.Name == "" || c.Value == "" {
			d.Add(Origin{File: d.File, Line: line}, "spec.constraints[%d] needs a name and a value; add them", i)
		}
		d.checkReading(c.Name, Origin{File: d.File, Line: line})
		seen[c.Name] = line
	}
	clear(seen)
	for i, ref := range refs {
		if document.GenerationOf(d.APIVersion) == document.March {
			if len(ref.PreManifestFiles) > 0 {
				d.tooNew(root, "preManifestFiles", "spec", "componentRefs", i, "preManifestFiles")
			}
			if ref.HealthCheckSkip {
				d.tooNew(root, "healthCheckSkip", "spec", "componentRefs", i, "healthCheckSkip")
			}
		}
		line := func(steps ...any) int {
			return document.LineOf(root, append([]any{"spec", "componentRefs", i}, steps...)...)
		}
		d.placeResources(ref.ExpectedResources, line)
		made.components = append(made.components, d.declaration(root, ref, i, line))
		if ref.Name == "" {
			d.Add(Origin{File: d.File, Line: line()}, "spec.componentRefs[%d] needs a name; add it", i)
			continue
		}
		if first, ok := seen[ref.Name]; ok {
			d.Add(Origin{File: d.File, Line: line()}, "component %q is already on line %d; merge the two", ref.Name, first)
		}
		seen[ref.Name] = line()
		document.CheckPlace(&d.Problems, ref.Name, ref.Namespace, Origin{File: d.File, Line: line("namespace")}, ref.Chart, Origin{File: d.File, Line: line("chart")})
		if known := shapeType(ref.Type, document.GenerationOf(d.APIVersion) != document.March); known != "" {
			made.components[i].ref.Type = known
		} else if ref.Type != "" {
			d.Add(Origin{File: d.File, Line: line("type")}, "type of component %q is %q; use %s or %s", ref.Name, ref.Type, TypeHelm, TypeKustomize)
		}
	}
	return made
}

// checkReading refuses the name of a constraint that no snapshot can have, where AICR does: with documents
// that AICR wrote before, older readings were possible.
func (d *decoder) checkReading(name string, at Origin) {
	if name == "" || document.GenerationOf(d.APIVersion) == document.March || d.APIVersion == document.Group+"v1alpha2" {
		return
	}
	if err := document.CheckReading(name); err != nil {
		d.Add(at, "%w", err)
	}
}

// placeResources writes down where each entry of expectedResources is.
func (d *decoder) placeResources(list []ExpectedResource, line func(...any) int) {
	for i := range list {
		list[i].Origin = Origin{File: d.File, Line: line("expectedResources", i)}
	}
}

func (d *decoder) declaration(root *yaml.Node, ref ComponentRef, i int, line func(...any) int) declaration {
	made := declaration{
		ref: ref, origin: Origin{File: d.File, Line: line()},
		valuesFile: line("valuesFile"), dependencyRefs: line("dependencyRefs"),
	}
	if n := document.NodeAt(root, "spec", "componentRefs", i, "overrides"); n != nil && n.Kind == yaml.MappingNode {
		made.overrides = document.TreeOf(n, Origin{File: d.File, Line: line("overrides")}, &document.Problems{}) // its problems are known from decoding ref
	}
	for j := range ref.ManifestFiles {
		made.manifestLines = append(made.manifestLines, line("manifestFiles", j))
	}
	for j := range ref.PreManifestFiles {
		made.preManifestLines = append(made.preManifestLines, line("preManifestFiles", j))
	}
	for j := range ref.Patches {
		made.patchLines = append(made.patchLines, line("patches", j))
	}
	for _, field := range []struct{ name, value string }{{"source", ref.Source}, {"path", ref.Path}, {"tag", ref.Tag}, {"chart", ref.Chart}, {"version", ref.Version}, {"type", ref.Type}} {
		if field.value != "" {
			made.fields = append(made.fields, declaredField{field.name, line(field.name)})
		}
	}
	for j := range ref.DependencyRefs {
		made.depLines = append(made.depLines, line("dependencyRefs", j))
	}
	return made
}
