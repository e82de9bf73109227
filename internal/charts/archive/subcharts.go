package archive

// subcharts.go finds the dependencies of a chart's directory that are not in it. Whoever renders
// or installs such a chart would have to download them.

import (
	"bytes"
	"errors"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/Masterminds/semver/v3"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/util/filesys"
)

// mostFile is the size of the largest Chart.yaml that is read, in bytes.
const mostFile = 5 << 20

// MissingSubcharts is a dependency that a chart's directory lacks, and the line that names it.
type MissingSubcharts struct {
	File          string
	Line          int
	Name, Version string
}

// named is what a chart's files say of it and its dependencies.
type named struct {
	Name         string `json:"name"`
	Dependencies []struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	} `json:"dependencies"`
}

// LackingSubcharts returns the first dependency of the chart in dir that is not in its charts directory; nil if none
// is missing. As in Helm, one of any version is there: a range names no archive. The
// dependencies of a chart of apiVersion v1 are in requirements.yaml.
func LackingSubcharts(fsys fs.FS, dir string) (*MissingSubcharts, error) {
	var there map[string]bool
	for _, file := range []string{"Chart.yaml", "requirements.yaml"} {
		file = path.Join(dir, file)
		meta, content, err := read(fsys, file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return &MissingSubcharts{File: file}, err
		}
		for _, d := range meta.Dependencies {
			if there == nil {
				there = of(fsys, path.Join(dir, "charts"))
			}
			if !there[d.Name] {
				return &MissingSubcharts{File: file, Line: line(content, d.Name), Name: d.Name, Version: d.Version}, nil
			}
		}
	}
	return nil, nil
}

func read(fsys fs.FS, file string) (named, []byte, error) {
	var meta named
	info, err := fs.Stat(fsys, file) // a link is followed, if it does not lead out
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a regular file")
	}
	if err != nil {
		return meta, nil, err
	}
	content, err := filesys.FS(fsys, file, mostFile)
	if err != nil {
		return meta, nil, err
	}
	return meta, content, yaml.Unmarshal(content, &meta)
}

// of returns the names of the charts in a charts directory: those of its directories, by their own
// Chart.yaml, and those of its archives, by their names.
func of(fsys fs.FS, dir string) map[string]bool {
	there := map[string]bool{}
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		return there // nothing is in it
	}
	for _, e := range entries {
		if info, err := fs.Stat(fsys, path.Join(dir, e.Name())); err == nil && info.IsDir() {
			if meta, _, err := read(fsys, path.Join(dir, e.Name(), "Chart.yaml")); err == nil {
				there[meta.Name] = true
			}
			continue
		}
		archive, ok := strings.CutSuffix(e.Name(), ".tgz")
		if !ok {
			continue
		}
		there[archive] = true
		for at := range archive { // NAME-VERSION, and both may have dashes
			if archive[at] == '-' {
				if _, err := semver.NewVersion(archive[at+1:]); err == nil {
					there[archive[:at]] = true
				}
			}
		}
	}
	return there
}

// line is that of a dependency's name, or that of the list.
func line(content []byte, name string) int {
	at := max(0, bytes.Index(content, []byte("dependencies:")))
	if found := regexp.MustCompile(`\bname:\s*["']?` + regexp.QuoteMeta(name) + `["']?\s*(?:[,}#\n]|$)`).FindIndex(content[at:]); found != nil {
		at += found[0]
	}
	return bytes.Count(content[:at], []byte("\n")) + 1
}
