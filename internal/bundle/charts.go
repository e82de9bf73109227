package bundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/Masterminds/semver/v3"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"sigs.k8s.io/yaml"
)

// maxChartArchive is the size in bytes over which a packaged chart is refused: no chart is that large, and it would be read
// into memory.
const maxChartArchive = 100 << 20

// FromFS is a chart source over the charts at the top level of a file system: unpacked chart directories and packaged .tgz
// files. Nothing is read before the first Load, and each chart is read once; it is safe for concurrent use. The name is
// printed in results. An embedded file system must be made with the "all:" prefix: without it, go:embed leaves out the
// templates whose names begin with an underscore.
func FromFS(fsys fs.FS, name string) ChartSource {
	return &fsCharts{fsys: fsys, name: name}
}

// FromDir is FromFS over a directory, with the name "dir:PATH".
func FromDir(dir string) (ChartSource, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, fmt.Errorf("chart source: %w", err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("chart source %s is not a directory", dir)
	}
	return FromFS(os.DirFS(dir), "dir:"+dir), nil
}

type fsCharts struct {
	fsys fs.FS
	name string

	once       sync.Once
	entries    []*chartEntry
	unreadable []error
	indexErr   error
}

type chartEntry struct {
	file          string // directory or archive
	dir           bool
	name, version string

	once  sync.Once
	chart *chart.Chart
	err   error
}

var _ ChartSource = (*fsCharts)(nil)

func (s *fsCharts) Name() string { return s.name }

// Load prefers the exact version, then one that differs only by a leading "v". Without a version it is the highest one.
// The chart is shared: whoever gives it to Helm clones it first (CloneChart).
func (s *fsCharts) Load(ctx context.Context, name, version string) (*chart.Chart, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.once.Do(s.index)
	if s.indexErr != nil {
		return nil, fmt.Errorf("chart source %s: %w", s.name, s.indexErr)
	}
	e := s.find(name, version)
	if e == nil {
		return nil, s.notFound(name, version)
	}
	e.once.Do(func() { e.chart, e.err = s.load(e) })
	if e.err != nil {
		return nil, fmt.Errorf("chart source %s: %s: %w", s.name, e.file, e.err)
	}
	return e.chart, nil
}

func (s *fsCharts) find(name, version string) *chartEntry {
	var found *chartEntry
	for _, e := range s.entries {
		switch {
		case e.name != name:
		case version == "":
			if found == nil || newer(e.version, found.version) {
				found = e
			}
		case e.version == version:
			return e
		case found == nil && strings.TrimPrefix(e.version, "v") == strings.TrimPrefix(version, "v"):
			found = e
		}
	}
	return found
}

func newer(a, b string) bool {
	va, errA := semver.NewVersion(a)
	vb, errB := semver.NewVersion(b)
	if errA != nil || errB != nil {
		return errA == nil
	}
	return va.GreaterThan(vb)
}

func (s *fsCharts) notFound(name, version string) error {
	e := &ChartNotFoundError{Chart: name, Version: version, Source: s.name, Unreadable: s.unreadable}
	if version == "" {
		e.Version = "(any version)"
	}
	var all []string
	for _, c := range s.entries {
		all = append(all, c.name+" "+c.version)
		if c.name == name {
			e.Have = append(e.Have, c.name+" "+c.version)
		}
	}
	if len(e.Have) == 0 {
		e.Have = all
	}
	e.Have = sortedUnique(e.Have)
	return e
}

// index learns the name and version of every chart. A file that cannot be read is remembered and only matters if the chart
// that is asked for is not found elsewhere.
func (s *fsCharts) index() {
	files, err := fs.ReadDir(s.fsys, ".")
	if err != nil {
		s.indexErr = err
		return
	}
	for _, f := range files {
		e := &chartEntry{file: f.Name(), dir: f.IsDir()}
		if !e.dir {
			if info, err := fs.Stat(s.fsys, f.Name()); err == nil {
				e.dir = info.IsDir() // a symbolic link to a directory
			}
		}
		var meta []byte
		switch {
		case e.dir:
			meta, err = fs.ReadFile(s.fsys, path.Join(e.file, "Chart.yaml"))
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
		case strings.HasSuffix(e.file, ".tgz"):
			meta, err = s.archiveMetadata(e.file)
		default:
			continue
		}
		var m chart.Metadata
		if err == nil {
			err = yaml.Unmarshal(meta, &m)
		}
		if err == nil && (m.Name == "" || m.Version == "") {
			err = errors.New("its Chart.yaml has no name or no version")
		}
		if err != nil {
			s.unreadable = append(s.unreadable, fmt.Errorf("%s is not a readable chart: %w", e.file, err))
			continue
		}
		e.name, e.version = m.Name, m.Version
		s.entries = append(s.entries, e)
	}
}

// archiveMetadata reads as much of an archive as it takes to find Chart.yaml, mostly its first file.
func (s *fsCharts) archiveMetadata(file string) ([]byte, error) {
	f, err := s.fsys.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // opened for reading: what matters is in the reads
	if err := checkSize(f); err != nil {
		return nil, err
	}
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	tr := tar.NewReader(unzipped)
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return nil, errors.New("no Chart.yaml in it")
		}
		if err != nil {
			return nil, err
		}
		if ok, _ := path.Match("*/Chart.yaml", path.Clean(h.Name)); ok {
			return io.ReadAll(io.LimitReader(tr, 1<<20))
		}
	}
}

func checkSize(f fs.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() > maxChartArchive {
		return fmt.Errorf("%d MB is more than a chart may have (%d MB)", info.Size()>>20, maxChartArchive>>20)
	}
	return nil
}

func (s *fsCharts) load(e *chartEntry) (*chart.Chart, error) {
	if e.dir {
		files, err := s.dirFiles(e.file)
		if err != nil {
			return nil, err
		}
		return loader.LoadFiles(files)
	}
	f, err := s.fsys.Open(e.file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // opened for reading: what matters is in the reads
	if err := checkSize(f); err != nil {
		return nil, err
	}
	return loader.LoadArchive(f)
}

// dirFiles reads an unpacked chart. It leaves out what the .helmignore of `helm create` leaves out; a chart's own .helmignore
// is not read.
func (s *fsCharts) dirFiles(dir string) ([]*loader.BufferedFile, error) {
	var files []*loader.BufferedFile
	err := fs.WalkDir(s.fsys, dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if base := path.Base(p); p != dir && ignored(base) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if d.IsDir() {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.Size() > maxChartArchive {
			return fmt.Errorf("%s is larger than a chart may be (%d MB)", p, maxChartArchive>>20)
		}
		data, err := fs.ReadFile(s.fsys, p)
		if err != nil {
			return err
		}
		data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
		files = append(files, &loader.BufferedFile{Name: strings.TrimPrefix(p, dir+"/"), Data: data})
		return nil
	})
	return files, err
}

func ignored(base string) bool {
	if strings.HasPrefix(base, ".") && base != ".helmignore" {
		return true
	}
	return slices.ContainsFunc([]string{".swp", ".bak", ".tmp", ".orig", "~"}, func(suffix string) bool {
		return strings.HasSuffix(base, suffix)
	})
}

// CloneChart copies as much of a chart as Helm changes when it renders: metadata, values and the tree of dependencies. File
// contents are shared.
func CloneChart(ch *chart.Chart) *chart.Chart {
	c := *ch
	if ch.Metadata != nil {
		m := *ch.Metadata
		m.Dependencies = nil
		for _, d := range ch.Metadata.Dependencies {
			dep := *d
			dep.ImportValues = slices.Clone(d.ImportValues)
			m.Dependencies = append(m.Dependencies, &dep)
		}
		c.Metadata = &m
	}
	c.Values = copyMap(ch.Values)
	deps := make([]*chart.Chart, 0, len(ch.Dependencies()))
	for _, d := range ch.Dependencies() {
		deps = append(deps, CloneChart(d))
	}
	c.SetDependencies(deps...)
	return &c
}

// loadChart makes a chart of a bundle's files under a directory ("" for all of them).
func loadChart(files []File, dir string) (*chart.Chart, error) {
	var in []*loader.BufferedFile
	for _, f := range files {
		name := f.Path
		if dir != "" {
			var ok bool
			if name, ok = strings.CutPrefix(f.Path, dir+"/"); !ok {
				continue
			}
		}
		in = append(in, &loader.BufferedFile{Name: name, Data: f.Content})
	}
	sort.Slice(in, func(i, j int) bool { return in[i].Name < in[j].Name })
	return loader.LoadFiles(in)
}

// Chart loads a chart from the bundle's own files: dir is where it is in the bundle, "" for a bundle that is itself a chart
// (argocd-helm-oci).
func (b *Bundle) Chart(dir string) (*chart.Chart, error) {
	ch, err := loadChart(b.Files, dir)
	if err != nil {
		return nil, fmt.Errorf("%s bundle: chart in %q: %w", b.Deployer, dir, err)
	}
	return ch, nil
}
