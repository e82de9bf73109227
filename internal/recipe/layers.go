package recipe

import (
	"io/fs"
	"path"

	"github.com/nvidia/aicr-action/internal/recipe/document"
)

// Layer is a directory of recipe files.
type Layer = document.Layer

// OpenWithData is Open of a recipes directory with a data directory laid over it, as --data of
// AICR's own CLI does it: the components of both registries count, and of two with one name the
// data directory's; any other file of the data directory takes the place of the file with the same
// path. The data directory must have a registry.yaml, no symbolic links and no file of more than 10
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
