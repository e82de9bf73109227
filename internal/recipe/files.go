package recipe

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/nvidia/aicr-action/internal/util/bounded"
)

// maxFileSize is far above any real recipe file (the largest upstream manifests are CRDs of about 1
// MB) and low enough that a wrong file cannot exhaust the memory of a CI runner.
const maxFileSize = 10 << 20

// maxTotalSize is what all YAML files of a recipes directory may have together, and what the
// manifests of one recipe may: in memory they take several times as much.
const maxTotalSize = 64 << 20

// files is what is under a recipes directory. Nothing outside can be read through it.
type files struct {
	fsys   fs.FS   // all layers
	layers []Layer // the one that wins first: the data directory, if there is one, and then the recipes directory
}

func filesOf(layers ...Layer) files {
	if len(layers) == 1 {
		return files{layers[0].FS, layers}
	}
	return files{layered(layers), layers}
}

// display is the path as a person can open it: in the layer whose file it is. Directories, and what
// no layer has, are the recipes directory's.
func (f files) display(name string) string {
	base := len(f.layers) - 1
	for _, l := range f.layers[:base] {
		if info, err := fs.Lstat(l.FS, name); err == nil && !info.IsDir() {
			return path.Join(l.Root, name)
		}
	}
	return path.Join(f.layers[base].Root, name)
}

// places is the path in every layer, for what is in none or in all.
func (f files) places(name, between string) string {
	var all []string
	for _, l := range f.layers {
		all = append(all, path.Join(l.Root, name))
	}
	return strings.Join(all, between)
}

// registries is how messages call the registry.
func (f files) registries() string { return f.places(registryFile, " and ") }

// check says whether name is a regular file of the directory that is small enough to read.
func (f files) check(name string) error {
	if !fs.ValidPath(name) || strings.Contains(name, `\`) {
		return fmt.Errorf("path %q is not a plain path inside the recipes directory; write it relative to %s, with slashes and without ./ and .. in it", name, f.display("."))
	}
	// Every step on the way, since a directory may be a link as well as a file.
	for i := 0; i <= len(name); i++ {
		if i < len(name) && name[i] != '/' {
			continue
		}
		info, err := fs.Lstat(f.fsys, name[:i])
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s: %w; add it or correct the path", f.places(name, " or "), fs.ErrNotExist)
		}
		if err != nil {
			return fmt.Errorf("reading %s: %w", f.display(name), err)
		}
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			return fmt.Errorf("%s is a symbolic link, which may lead out of the recipes directory; replace it with a copy", f.display(name[:i]))
		case i < len(name) && !info.IsDir():
			return fmt.Errorf("%s is not a directory, so %s cannot exist; correct the path", f.display(name[:i]), f.display(name))
		case i == len(name) && !info.Mode().IsRegular():
			return fmt.Errorf("%s is not a regular file; name a file", f.display(name))
		case i == len(name) && info.Size() > maxFileSize:
			return tooLarge(f.display(name))
		}
	}
	return nil
}

// read gives the content of a file that passes check.
func (f files) read(name string) ([]byte, error) {
	if err := f.check(name); err != nil {
		return nil, err
	}
	data, err := bounded.FS(f.fsys, name, maxFileSize)
	var large *bounded.TooLargeError
	switch {
	case errors.As(err, &large):
		return nil, tooLarge(f.display(name))
	case err != nil:
		return nil, fmt.Errorf("reading %s: %w", f.display(name), err)
	}
	return data, nil
}

func tooLarge(name string) error {
	return fmt.Errorf("%s is larger than %d MiB, which no recipe file is; remove it or split it", name, maxFileSize>>20)
}
