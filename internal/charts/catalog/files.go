package catalog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/Masterminds/semver/v3"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/charts/archive"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/filesys"
)

// FromFS is a chart source over the charts at the top level of a file system: unpacked chart
// directories and packaged .tgz files. Nothing is read before the first Load, and each chart is
// read once; it is safe for concurrent use. The name is printed in results. An embedded file system
// must be made with the "all:" prefix: without it, go:embed leaves out the templates whose names
// begin with an underscore.
func FromFS(fsys fs.FS, name string) Source {
	return &fsCharts{fsys: fsys, name: name}
}

// FromDir is FromFS over a directory, with the name "dir:PATH". Links in it that lead out of it are
// refused.
func FromDir(dir string) (Source, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, fmt.Errorf("chart source: %w", err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("chart source %s is not a directory", dir)
	}
	fsys, err := archive.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("chart source: %w", err)
	}
	return FromFS(fsys, "dir:"+dir), nil
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

var _ Source = (*fsCharts)(nil)

func (s *fsCharts) Name() string { return s.name }

// Load prefers the exact version, then one that differs only by a leading "v". Without a version it
// is the highest one, and so it is of a range. The repository of the reference is ignored. The chart is shared: a caller
// that passes it to Helm clones it first (archive.Clone).
func (s *fsCharts) Load(ctx context.Context, ref Ref) (*chart.Chart, string, error) {
	if err := ctx.Err(); err != nil {
		return nil, "", err
	}
	s.once.Do(s.index)
	if s.indexErr != nil {
		return nil, "", fmt.Errorf("chart source %s: %w", s.name, s.indexErr)
	}
	e := s.find(ref.Name, ref.Version)
	if e == nil {
		return nil, "", s.notFound(ref.Name, ref.Version)
	}
	if err := s.load(e); err != nil {
		return nil, "", err
	}
	for _, other := range s.entries {
		if other == e || other.name != e.name || other.version != e.version {
			continue
		}
		if err := s.load(other); err != nil {
			return nil, "", err
		}
		if !archive.Same(e.chart, other.chart) {
			return nil, "", reason.New(reason.BundleFailed, "chart source %s has chart %s %s twice, with different content: %s and %s; remove one of them", s.name, e.name, e.version, e.file, other.file)
		}
	}
	return e.chart, s.name, nil
}

// load reads a chart, once.
func (s *fsCharts) load(e *chartEntry) error {
	e.once.Do(func() { e.chart, e.err = s.open(e) })
	if e.err != nil {
		return reason.New(reason.BundleFailed, "chart source %s: %s: %w", s.name, e.file, e.err)
	}
	return nil
}

func (s *fsCharts) find(name, version string) *chartEntry {
	var found *chartEntry
	ranged := IsRange(version)
	for _, e := range s.entries {
		switch {
		case e.name != name:
		case e.version == version:
			return e
		case ranged && !InRange(version, e.version):
		case version == "" || ranged:
			if found == nil || Newer(e.version, found.version) {
				found = e
			}
		case found == nil && SameVersion(e.version, version):
			found = e
		}
	}
	return found
}

// SameVersion reports whether two texts are one version: chart repositories and recipes differ about
// the v in front.
func SameVersion(a, b string) bool { return strings.TrimPrefix(a, "v") == strings.TrimPrefix(b, "v") }

// IsRange reports whether a text stands for several versions, as Helm reads it, e.g. 1.x.
func IsRange(version string) bool {
	if _, err := semver.NewVersion(version); err == nil && strings.Count(version, ".") >= 2 {
		return false
	}
	_, err := semver.NewConstraint(version)
	return err == nil && version != ""
}

// InRange reports whether a version is one of a range. As in Helm, a pre-release is none unless the
// range names one.
func InRange(text, version string) bool {
	c, err := semver.NewConstraint(text)
	if err != nil {
		return false
	}
	v, err := semver.NewVersion(version)
	return err == nil && c.Check(v)
}

// Newer reports whether version a is higher than b; what is no version is lower than any.
func Newer(a, b string) bool {
	va, errA := semver.NewVersion(a)
	vb, errB := semver.NewVersion(b)
	if errA != nil || errB != nil {
		return errA == nil
	}
	return va.GreaterThan(vb)
}

func (s *fsCharts) notFound(name, version string) error {
	e := &NotFoundError{Chart: name, Version: version, Source: s.name, Unreadable: s.unreadable}
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
	slices.Sort(e.Have)
	e.Have = slices.Compact(e.Have)
	return e
}

// index learns the name and version of every chart. A file that cannot be read is remembered and
// only matters if the chart that is asked for is not found elsewhere.
func (s *fsCharts) index() {
	files, err := fs.ReadDir(s.fsys, ".")
	if err != nil {
		s.indexErr = err
		return
	}
	for _, f := range files {
		e := &chartEntry{file: f.Name(), dir: f.IsDir()}
		info, err := archive.Stat(s.fsys, f.Name(), f)
		e.dir = err == nil && info.IsDir() // of a symbolic link, what it leads to
		var meta []byte
		switch {
		case err != nil:
		case e.dir:
			meta, err = filesys.FS(s.fsys, path.Join(e.file, "Chart.yaml"), archive.MostFile)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
		case strings.HasSuffix(e.file, ".tgz"):
			meta, err = s.archiveMetadata(e.file, info)
		default:
			continue
		}
		if err == nil {
			err = e.read(meta)
		}
		if err != nil {
			s.unreadable = append(s.unreadable, fmt.Errorf("%s is not a readable chart: %w", e.file, err))
			continue
		}
		s.entries = append(s.entries, e)
	}
}

// read takes a chart's name and version from its Chart.yaml.
func (e *chartEntry) read(meta []byte) error {
	var m chart.Metadata
	if err := archive.CheckYAML(meta); err != nil {
		return err
	}
	if err := yaml.Unmarshal(meta, &m); err != nil {
		return err
	}
	if m.Name == "" || m.Version == "" {
		return errors.New("its Chart.yaml has no name or no version")
	}
	e.name, e.version = m.Name, m.Version
	return archive.CheckName(m.Name)
}

func (s *fsCharts) archiveMetadata(file string, info fs.FileInfo) ([]byte, error) {
	switch {
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	case info.Size() > archive.MostPacked:
		return nil, &filesys.TooLargeError{File: file, Most: archive.MostPacked}
	}
	f, err := s.fsys.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // opened for reading: what matters is in the reads
	return archive.Metadata(f)
}

func (s *fsCharts) open(e *chartEntry) (*chart.Chart, error) {
	var files []*loader.BufferedFile
	var err error
	if e.dir {
		files, err = archive.Directory(s.fsys, e.file)
	} else {
		var packed []byte
		if packed, err = filesys.FS(s.fsys, e.file, archive.MostPacked); err == nil {
			files, err = archive.Archive(packed)
		}
	}
	if err != nil {
		return nil, err
	}
	return loader.LoadFiles(files)
}
