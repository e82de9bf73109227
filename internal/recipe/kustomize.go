package recipe

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"

	"github.com/nvidia/aicr-action/internal/recipe/document"
	"github.com/nvidia/aicr-action/internal/recipe/kustomization"
)

// Kustomization is what a component of type Kustomize is built from.
type Kustomization struct {
	Dir  string // the directory to build, as the paths of Files have it
	File string // its kustomization.yaml, as a person can open it
	// Files are all that the build reads.
	Files []Manifest
	// InPlace says what stands for a source that is not in the recipes directory; empty for one
	// that is.
	InPlace string
	// Patches are the recipe's own, in the order in which they are applied; PatchFiles have them.
	Patches    []Patch
	PatchFiles []Manifest
	// Places say, of each workload that was built, which files decide about its pods. Nil before it
	// is built.
	Places []Place
	// Warnings are about what the recipe sets for the component and has no effect. Empty before it
	// is built.
	Warnings []string
}

// Inputs are the files that decide what is built, those of the patches first.
func (k *Kustomization) Inputs() []Manifest {
	return slices.Concat(k.PatchFiles, k.Files)
}

// Patch is a patch of a recipe's Kustomize component.
type Patch struct {
	Origin Origin
	Entry  string // an entry of a kustomization's patches, as JSON
}

// Place is a workload of a kustomization and where its pods come from.
type Place struct {
	Kind, Namespace, Name string // Namespace may be empty: the release's
	Kustomization         string // the file, as a person can open it
	// From is the object in its file.
	From Origin
	// Fields are the lines of that file at which the pod specification has these parts.
	Fields map[string]Origin
	// Patches change parts of the pod specification, the last one last.
	Patches []PlacePatch
}

// PlacePatch is a patch that decides about a workload's pods.
type PlacePatch struct {
	Origin Origin
	Parts  []string // of the pod specification, e.g. tolerations
}

// Of returns the place of a workload, or nil if the place is unknown or k is nil.
func (k *Kustomization) Of(kind, namespace, name string) *Place {
	if k == nil {
		return nil
	}
	i := slices.IndexFunc(k.Places, func(p Place) bool {
		return p.Kind == kind && p.Name == name && (p.Namespace == namespace || p.Namespace == "")
	})
	if i < 0 {
		return nil
	}
	return &k.Places[i]
}

// Source opens what a Kustomize component's source stands for. The tag may be empty.
type Source func(tag string) (Layer, error)

// sourceError is a source of a Kustomize component that is no directory of the recipes and was not
// allowed.
type sourceError struct{ Component, Source, Tag string }

func (e *sourceError) Error() string {
	at := ""
	if e.Tag != "" {
		at = ", at " + e.Tag + ","
	}
	return fmt.Sprintf("the source of component %q, %s%s is not in the recipes directory, and nothing is fetched that was not allowed; check it out and add --kustomize-source %s=DIRECTORY", e.Component, e.Source, at, e.Source)
}

// WithSources is the same store with sources that Kustomize components may have besides directories
// of the recipes. The keys are the sources as components name them.
func (s *Store) WithSources(sources map[string]Source) *Store {
	with := *s
	with.sources = sources
	return &with
}

// WithoutKustomizations is the same store for lists: it reads no files of Kustomize components, so
// that their sources may be anywhere.
func (s *Store) WithoutKustomizations() *Store {
	with := *s
	with.noKustomizations = true
	return &with
}

// elsewhere matches a source that cannot be the path of a directory: it has a scheme, or the short
// form of ssh, or a host.
var elsewhere = regexp.MustCompile(`[:?@]|//|^(?i:github\.com)/`)

// CheckSource returns a *sourceError if the files of a Kustomize component are not available: its
// source must be a directory of the recipes, or be allowed.
func (s *Store) CheckSource(ref ComponentRef) error {
	if ref.Type != TypeKustomize || !elsewhere.MatchString(ref.Source) || s.sources[ref.Source] != nil {
		return nil
	}
	return &sourceError{ref.Name, ref.Source, ref.Tag}
}

// kustomization reads what a component of type Kustomize is built from.
func (s *Store) kustomization(ref ComponentRef, known *mergedComponent, entry registered) (*Kustomization, []*FileError) {
	at := func(field string) Origin {
		if o, ok := known.fields[field]; ok {
			return o
		}
		return known.declared
	}
	defaulted := func(field, value, preset string) Origin {
		if _, ok := known.fields[field]; !ok && value != "" && value == preset {
			return entry.origin
		}
		return at(field)
	}
	var presets kustomizeDefaults
	if entry.Kustomize != nil {
		presets = *entry.Kustomize
	}
	pathAt, sourceAt := defaulted("path", ref.Path, presets.Path), defaulted("source", ref.Source, presets.Source)
	one := func(at Origin, format string, args ...any) (*Kustomization, []*FileError) {
		return nil, []*FileError{document.ErrorAt(at, format, args...)}
	}
	switch {
	case ref.Chart != "":
		return one(at("chart"), "component %q is of type Kustomize and has a chart, %s; remove the chart or the type", ref.Name, ref.Chart)
	case len(ref.ManifestFiles) > 0:
		return one(known.manifests[ref.ManifestFiles[0]], "component %q is of type Kustomize and has manifestFiles; name them under resources of its kustomization instead", ref.Name)
	case ref.Path == "":
		return one(known.declared, "component %q is of type Kustomize and has no path; name the directory of its kustomization.yaml", ref.Name)
	case ref.Source == "" && ref.Tag != "":
		return one(defaulted("tag", ref.Tag, presets.Tag), "component %q has the tag %s and no source that it could be a tag of; add the source or remove the tag", ref.Name, ref.Tag)
	}
	from, dir, inPlace := s.files, path.Join(ref.Source, ref.Path), ""
	if elsewhere.MatchString(ref.Source) {
		if err := s.CheckSource(ref); err != nil {
			return one(sourceAt, "%w", err)
		}
		layer, err := s.sources[ref.Source](ref.Tag)
		if err != nil {
			return one(sourceAt, "the source of component %q, %s: %w", ref.Name, ref.Source, err)
		}
		from, dir = document.FilesOf(layer), path.Clean(ref.Path)
		inPlace = fmt.Sprintf("kustomize: %s in place of %s", layer.Root, ref.Source)
		if ref.Tag != "" {
			inPlace += " at " + ref.Tag
		}
	}
	if dir == ".." || !fs.ValidPath(dir) {
		return one(pathAt, "the kustomization of component %q, %s, leads out of the recipes directory; name a directory in it", ref.Name, dir)
	}
	k := &Kustomization{Dir: dir, InPlace: inPlace}
	found, wrong := kustomization.Walk(walked{from}, dir)
	var p document.Problems
	for _, w := range wrong {
		place := Origin{File: from.Display(w.File), Line: w.Line}
		if w.File == "" {
			place = pathAt
		}
		p.Add(place, "kustomization of component %q: %w", ref.Name, w.Err)
	}
	for _, f := range found {
		k.Files = append(k.Files, Manifest{Path: f.Path, File: from.Display(f.Path), Content: f.Content})
		if path.Dir(f.Path) == dir && slices.Contains(kustomization.Names, path.Base(f.Path)) {
			k.File = from.Display(f.Path)
		}
	}
	for _, file := range ref.Patches {
		p.AddAll(s.patch(k, ref.Name, file, known))
	}
	return k, p.Found
}

// patch reads one of the recipe's files of patches.
func (s *Store) patch(k *Kustomization, component, file string, known *mergedComponent) []*FileError {
	at, ok := known.patches[file]
	if !ok {
		at = known.declared
	}
	content, err := s.files.Read(file)
	if err != nil {
		return []*FileError{document.ErrorAt(at, "patch of component %q: %w", component, err)}
	}
	k.PatchFiles = append(k.PatchFiles, Manifest{Path: file, File: s.files.Display(file), Content: content})
	patches, wrong := kustomization.Patches(file, content)
	var p document.Problems
	for _, w := range wrong {
		p.Add(Origin{File: s.files.Display(file), Line: w.Line}, "patch of component %q: %w", component, w.Err)
	}
	for _, patch := range patches {
		k.Patches = append(k.Patches, Patch{Origin{File: s.files.Display(file), Line: patch.Line}, patch.Entry})
	}
	return p.Found
}

// walked lets package source read files.
type walked struct{ document.Files }

func (w walked) Read(name string) ([]byte, error) { return w.Files.Read(name) }

func (w walked) Stat(name string) (fs.FileInfo, error) {
	info, err := fs.Lstat(w.FS, name)
	if document.Absent(err) {
		return nil, fs.ErrNotExist
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", w.Display(name), err)
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		return nil, fmt.Errorf("%s is a symbolic link, which may lead out of the recipes directory; replace it with a copy", w.Display(name))
	}
	return info, nil
}

// kustomizationInputs are the files of a Kustomize component in the recipes directory: its own
// directory, and the files that are elsewhere.
func (s *Store) kustomizationInputs(ref ComponentRef) []string {
	if ref.Type != TypeKustomize || ref.Path == "" || elsewhere.MatchString(ref.Source) {
		return nil
	}
	dir := path.Join(ref.Source, ref.Path)
	if !fs.ValidPath(dir) {
		return nil
	}
	all := []string{dir + "/"}
	found, _ := kustomization.Walk(walked{s.files}, dir) // what is wrong with them is for a run to say
	for _, f := range found {
		all = append(all, f.Path)
	}
	return all
}
