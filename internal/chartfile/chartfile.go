// Package chartfile reads charts that somebody else has made, packaged (.tgz) or unpacked: with a limit on their size, and without links and
// paths that lead out of an archive. It knows the format of one chart. It must not know where charts come from, or what is done with them.
package chartfile

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
)

// Max is the size in bytes over which a packaged chart is refused: no chart is that large, and it is read into memory. Helm's loader has the
// same limit for what is in it.
const Max = 100 << 20

// ReadAll reads an archive, which may have Max bytes.
func ReadAll(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, Max+1))
	if err != nil {
		return nil, err
	}
	return data, CheckSize(int64(len(data)))
}

// CheckSize says so if an archive of that many bytes is larger than a chart may be.
func CheckSize(size int64) error {
	if size > Max {
		return fmt.Errorf("%d MB is more than a chart may have (%d MB)", size>>20, Max>>20)
	}
	return nil
}

// Load reads the chart in an archive. What Helm's loader would leave out or read as something else is an error: a link, a device, a path
// that leads out of the chart's directory.
func Load(archive []byte) (*chart.Chart, error) {
	if err := CheckSize(int64(len(archive))); err != nil {
		return nil, err
	}
	if err := check(bytes.NewReader(archive)); err != nil {
		return nil, err
	}
	return loader.LoadArchive(bytes.NewReader(archive))
}

// check looks at the archive's directory.
func check(r io.Reader) error {
	unzipped, err := gzip.NewReader(r)
	if err != nil {
		return fmt.Errorf("it is no archive of a chart (.tgz): %w", err)
	}
	tr := tar.NewReader(io.LimitReader(unzipped, 2*Max)) // Helm's own limit is for the files; this one ends an archive of nothing but headers
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("it is no whole archive of a chart (.tgz): %w", err)
		}
		switch h.Typeflag {
		case tar.TypeReg, tar.TypeDir, tar.TypeXGlobalHeader:
		case tar.TypeSymlink, tar.TypeLink:
			return fmt.Errorf("it has a link, %q to %q, and a chart may have files and directories only", h.Name, h.Linkname)
		default:
			return fmt.Errorf("%q in it is neither a file nor a directory, and a chart may have no others", h.Name)
		}
		name := strings.ReplaceAll(h.Name, `\`, "/")
		if path.IsAbs(name) || slices.Contains(strings.Split(name, "/"), "..") {
			return fmt.Errorf("the path %q in it leads out of the chart", h.Name)
		}
	}
}

// Metadata reads as much of an archive as it takes to find its Chart.yaml, mostly its first file.
func Metadata(r io.Reader) ([]byte, error) {
	unzipped, err := gzip.NewReader(r)
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
