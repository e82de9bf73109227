// Package archive reads the files of an untrusted chart. It rejects files that would lead out of
// the chart or fill the memory of the process that loads it: links, archives in archives, and texts
// whose aliases expand to gigabytes. It must not know recipes or what a chart is for.
package archive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart/loader"

	"github.com/nvidia/aicr-action/internal/util/filesys"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// What a chart may have. The largest one of the recipe set is a tenth of it.
const (
	// MostPacked is the size of an archive, in bytes.
	MostPacked = 100 << 20
	// mostUnpacked is what all files of a chart may have together, those of the archives in charts/
	// included, in bytes: Helm's limit for one archive.
	mostUnpacked = 100 << 20
	// MostFile is the size of one file, in bytes: Helm's limit for a file in an archive.
	MostFile = 5 << 20
	// mostFiles is how many files a chart may have, with all its dependencies.
	mostFiles = 20_000
	// mostNested is how deep archives may be in archives.
	mostNested = 8
)

// Open is a directory of charts. A link in it that leads out of it cannot be followed. The
// directory stays open until the program ends.
func Open(dir string) (fs.FS, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return root.FS(), nil
}

// Stat is fs.Stat, whose error says of a link that it is one.
func Stat(fsys fs.FS, name string, entry fs.DirEntry) (fs.FileInfo, error) {
	info, err := fs.Stat(fsys, name)
	if err != nil && entry.Type()&fs.ModeSymlink != 0 {
		return nil, fmt.Errorf("%s is a symbolic link that leads nowhere, or out of the repository or the directory of charts; replace it with a copy (%w)", name, err)
	}
	return info, err
}

// Directory reads an unpacked chart: what Helm loads of it (helmFiles).
func Directory(fsys fs.FS, dir string) ([]*loader.BufferedFile, error) {
	names, err := helmFiles(fsys, dir)
	if err != nil {
		return nil, err
	}
	var files []*loader.BufferedFile
	b := &budget{}
	for _, name := range names {
		info, err := fs.Stat(fsys, name)
		if err != nil {
			return nil, err
		}
		if !info.Mode().IsRegular() {
			return nil, fmt.Errorf("%s is not a regular file; replace it with one", name)
		}
		data, err := filesys.FS(fsys, name, MostFile)
		if err != nil {
			return nil, err
		}
		if err := b.add(len(data)); err != nil {
			return nil, err
		}
		data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
		files = append(files, &loader.BufferedFile{Name: strings.TrimPrefix(name, dir+"/"), Data: data})
	}
	return files, b.check(files, 0)
}

// Archive reads a packaged chart. Nothing is written anywhere. A link in it is refused, and so is a
// name that leads out.
func Archive(packed []byte) ([]*loader.BufferedFile, error) {
	return (&budget{}).archive(packed, 0)
}

// Metadata reads as much of an archive as it takes to find Chart.yaml, mostly its first file.
func Metadata(packed io.Reader) ([]byte, error) {
	var found []byte
	_, err := walk(packed, mostUnpacked, func(h *tar.Header, r io.Reader) (more bool, err error) {
		if ok, _ := path.Match("*/Chart.yaml", path.Clean(h.Name)); !ok {
			return true, nil
		}
		found, err = io.ReadAll(io.LimitReader(r, MostFile))
		return false, err
	})
	if err == nil && found == nil {
		err = errors.New("no Chart.yaml in it")
	}
	return found, errors.Join(err, CheckYAML(found))
}

// CheckYAML rejects a text whose aliases expand to much more than its bytes; see yamlx.Check.
func CheckYAML(text []byte) error { return yamlx.Check(text) }

// walk calls each for the entries of an archive until each returns false. It returns how many bytes
// the stream unpacked to, the entries' headers included.
func walk(packed io.Reader, most int64, each func(*tar.Header, io.Reader) (bool, error)) (int64, error) {
	unpacked, err := gzip.NewReader(packed)
	if err != nil {
		return 0, err
	}
	limited := &io.LimitedReader{R: unpacked, N: most}
	archive := tar.NewReader(limited)
	for {
		h, err := archive.Next()
		more := false
		if err == nil {
			more, err = each(h, archive)
		}
		switch {
		case limited.N <= 0:
			return most, fmt.Errorf("it unpacks to more than %d MiB, which no chart does", int64(mostUnpacked)>>20)
		case errors.Is(err, io.EOF), err == nil && !more:
			return most - limited.N, nil
		case err != nil:
			return 0, err
		}
	}
}

// budget is what is left of mostUnpacked and mostFiles.
type budget struct{ size, files int }

func (b *budget) add(size int) error {
	b.size += size
	b.files++
	switch {
	case b.size > mostUnpacked:
		return fmt.Errorf("it has more than %d MiB with its dependencies, which no chart has", mostUnpacked>>20)
	case b.files > mostFiles:
		return fmt.Errorf("it has more than %d files with its dependencies, which no chart has", mostFiles)
	}
	return nil
}

// archive reads an archive. Helm's own reader bounds the files' contents, but not their number; so
// what the stream has is looked at before.
func (b *budget) archive(packed []byte, depth int) ([]*loader.BufferedFile, error) {
	if depth > mostNested {
		return nil, fmt.Errorf("it has archives in archives, %d deep", depth)
	}
	before := b.size
	size, err := walk(bytes.NewReader(packed), int64(mostUnpacked-before)+1, func(h *tar.Header, _ io.Reader) (bool, error) {
		if err := plainEntry(h); err != nil {
			return false, err
		}
		return true, b.add(0)
	})
	if err != nil {
		return nil, err
	}
	if b.size = before + int(size); b.size > mostUnpacked {
		return nil, b.add(0)
	}
	files, err := loader.LoadArchiveFiles(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	if err := unique(files); err != nil {
		return nil, err
	}
	return files, b.check(files, depth)
}

// unique refuses two files of one name, as the archive of two charts has them, without the directory that
// each is in: Helm's reader makes a mixture of both, and a program that unpacks the archive first has one.
func unique(files []*loader.BufferedFile) error {
	seen := map[string]bool{}
	for _, f := range files {
		name := path.Clean(f.Name)
		if seen[name] {
			return fmt.Errorf("it has two files %s, each below its first directory, and a chart has one: package the chart again with `helm package`", name)
		}
		seen[name] = true
	}
	return nil
}

// check checks the files of a chart that Helm reads when it loads the chart.
func (b *budget) check(files []*loader.BufferedFile, depth int) error {
	for _, f := range files {
		switch base := path.Base(f.Name); {
		case slices.Contains([]string{"Chart.yaml", "Chart.lock", "values.yaml", "requirements.yaml", "requirements.lock"}, base):
			if err := CheckYAML(f.Data); err != nil {
				return fmt.Errorf("%s: %w", f.Name, err)
			}
		case path.Ext(base) == ".tgz" && path.Base(path.Dir(f.Name)) == "charts":
			if _, err := b.archive(f.Data, depth+1); err != nil {
				return fmt.Errorf("%s: %w", f.Name, err)
			}
		}
	}
	return nil
}

// chartName is what a chart may be called: its name becomes part of paths, of addresses in a
// registry, and of names in an archive.
var chartName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,126}[A-Za-z0-9])?$`)

// CheckName refuses a chart's name that is a path, or cannot be part of one.
func CheckName(name string) error {
	if chartName.MatchString(name) && !strings.Contains(name, "..") {
		return nil
	}
	return fmt.Errorf("%q cannot be the name of a chart; use at most 128 letters, digits, hyphens, dots and underscores", name)
}
