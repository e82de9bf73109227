package main

import (
	"debug/elf"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// tree is the root directory of a Debian system. Its absolute symbolic links mean that root, and
// not the machine's.
type tree string

// libraryDirs are where Debian keeps shared libraries.
var libraryDirs = []string{"/usr/lib/" + multiarch[runtime.GOARCH], "/usr/lib", "/lib64"}

// multiarch is Debian's name of a platform.
var multiarch = map[string]string{"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}

// find returns the place on this machine of a path inside the tree, with its links followed.
func (t tree) find(path string) (string, error) {
	for range 40 {
		resolved, again, err := t.hop(path)
		if err != nil {
			return "", err
		}
		if !again {
			return resolved, nil
		}
		path = resolved
	}
	return "", fmt.Errorf("%s: too many symbolic links", path)
}

// hop follows the first link in a path. again says that there was one; then the result is a path
// inside the tree.
func (t tree) hop(path string) (resolved string, again bool, err error) {
	parts := strings.Split(strings.Trim(filepath.Clean(path), "/"), "/")
	for i := range parts {
		prefix := "/" + strings.Join(parts[:i+1], "/")
		file := filepath.Join(string(t), prefix)
		info, err := os.Lstat(file)
		if err != nil {
			return "", false, err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			resolved = file
			continue
		}
		target, err := os.Readlink(file)
		if err != nil {
			return "", false, err
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(prefix), target)
		}
		return filepath.Join(append([]string{target}, parts[i+1:]...)...), true, nil
	}
	return resolved, false, nil
}

// closure returns the programs and every shared library that they load, as files to put into an
// image: path in the image -> file here.
func (t tree) closure(paths ...string) (map[string]string, error) {
	files := map[string]string{}
	todo := slices.Clone(paths)
	for len(todo) > 0 {
		path := todo[0]
		todo = todo[1:]
		if files[path] != "" {
			continue
		}
		file, err := t.find(path)
		if err != nil {
			return nil, err
		}
		files[path] = file
		needed, err := t.needs(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		todo = append(todo, needed...)
	}
	return files, nil
}

// below lists the files in the one directory that a pattern matches.
func (t tree) below(pattern string) ([]string, error) {
	found, err := filepath.Glob(filepath.Join(string(t), pattern))
	if err != nil {
		return nil, err
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("%s matches %d directories of the packages", pattern, len(found))
	}
	var files []string
	err = filepath.WalkDir(found[0], func(file string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, strings.TrimPrefix(file, string(t)))
		}
		return err
	})
	return files, err
}

// needs lists the libraries and the loader of one ELF file; a script needs none that could be found
// this way.
func (t tree) needs(file string) ([]string, error) {
	data, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = data.Close() }() // opened for reading
	magic := make([]byte, len(elf.ELFMAG))
	if _, err := io.ReadFull(data, magic); err != nil || string(magic) != elf.ELFMAG {
		return nil, nil // a file that is shorter than that is no program either
	}
	f, err := elf.NewFile(data)
	if err != nil {
		return nil, err
	}
	libraries, err := f.ImportedLibraries()
	if err != nil {
		return nil, err
	}
	var needed []string
	for _, name := range libraries {
		i := slices.IndexFunc(libraryDirs, func(dir string) bool {
			_, err := t.find(dir + "/" + name)
			return err == nil
		})
		if i < 0 {
			return nil, fmt.Errorf("needs %s, which is in none of the packages", name)
		}
		needed = append(needed, libraryDirs[i]+"/"+name)
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			loader := make([]byte, p.Filesz)
			if _, err := p.ReadAt(loader, 0); err != nil {
				return nil, err
			}
			needed = append(needed, strings.TrimRight(string(loader), "\x00"))
		}
	}
	return needed, nil
}
