package recipe

import (
	"io/fs"
	"path"

	"go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/recipe/document"
)

// Layer is a directory of recipe files.
type Layer = document.Layer

// OpenWithData is Open of a recipes directory with a data directory laid over it, as --data of
// AICR's own CLI does it: the components of both registries count, and of two with one name the
// data directory's; an overlay that has nothing but a profile extends the profile of the one with the
// same path; any other file of the data directory takes the place of the file with its path. The data directory must have a registry.yaml, no symbolic links and no file of more than 10
// MiB. Messages name the file that a person has to open, in the directory in which it is.
func OpenWithData(recipes, data Layer) (*Store, error) { return openLayers(data, recipes) }

// checkData adds what a data directory must not have. Nothing of it is read before.
func (l *loader) checkData(data Layer) {
	at := func(name string) Origin { return Origin{File: path.Join(data.Root, name)} }
	if _, err := fs.Lstat(data.FS, registryFile); document.Absent(err) {
		l.Add(at(registryFile), "the data directory %s has no %s, which it must have; write one (kind: ComponentRegistry, and components: [] if there are none to add)", data.Root, registryFile)
	}
	err := fs.WalkDir(data.FS, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			l.Add(at(name), "reading it: %w", err)
			if entry != nil && entry.IsDir() {
				return fs.SkipDir
			}
		case entry.IsDir():
		case entry.Type()&fs.ModeSymlink != 0:
			l.Add(at(name), "it is a symbolic link, which may lead out of the data directory; replace it with a copy")
		case !entry.Type().IsRegular():
			l.Add(at(name), "it is not a regular file; remove it")
		default:
			info, err := entry.Info()
			if err != nil {
				l.Add(at(name), "reading it: %w", err)
			} else if info.Size() > document.MaxFileSize {
				l.Add(at(name), "%w", document.TooLarge(path.Join(data.Root, name)))
			}
		}
		return nil
	})
	if err != nil {
		l.Add(at("."), "reading the directory: %w", err)
	}
}

// profileAlone gives the files that an overlay is read from, and, if the data directory has an overlay at the path of one of
// the recipes that has nothing but a profile, the data directory's, which extends that one instead of replacing it. Of
// more than one data directory there is none.
func (l *loader) profileAlone(file string) (document.Files, *yaml.Node) {
	if len(l.files.Layers) != 2 || !l.files.Overlaid(file) {
		return l.files, nil
	}
	under, over := document.FilesOf(l.files.Layers[1]), document.FilesOf(l.files.Layers[0])
	data, err := over.Read(file)
	if err != nil || under.Check(file) != nil {
		return l.files, nil
	}
	root, found := document.ParseYAML(over.Display(file), data)
	spec := document.NodeAt(root, "spec")
	if len(found) > 0 || spec == nil || spec.Kind != yaml.MappingNode || len(spec.Content) != 2 || spec.Content[0].Value != "profile" {
		return l.files, nil
	}
	return under, root
}

// extendProfile is the overlay's profile with the values that the data directory's document has besides.
func (l *loader) extendProfile(o *Overlay, file string, root *yaml.Node) *Profile {
	d := l.decoder(document.FilesOf(l.files.Layers[0]), file)
	defer l.took(d)
	if !d.Header(root, document.OverlayKind) {
		return o.profile
	}
	l.saw(d)
	var doc overlayDocument
	d.Decode(root, &doc, "")
	if name, at, ok := d.name(root, doc.Metadata, "overlay"); ok && name != o.Name {
		d.Add(at, "the overlay %q has nothing but a profile, and so extends that of the overlay at its path, which is %q (%s); correct its name, or give it another path and all of an overlay", name, o.Name, o.Origin)
	}
	return readProfile(&d.Decoder, root, doc.Spec.Profile, o.profile)
}
