package archive

import (
	"archive/tar"
	"compress/flate"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
)

// ReadPacked reads an archive, which may have MostPacked bytes.
func ReadPacked(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, MostPacked+1))
	if err != nil {
		return nil, err
	}
	return data, CheckPacked(int64(len(data)))
}

// CheckPacked says so if an archive of that many bytes is larger than a chart may be.
func CheckPacked(size int64) error {
	if size > MostPacked {
		return fmt.Errorf("%d MB is more than a chart may have (%d MB)", size>>20, MostPacked>>20)
	}
	return nil
}

// Load is the chart in an archive.
func Load(packed []byte) (*chart.Chart, error) {
	files, err := Archive(packed)
	if err != nil {
		return nil, err
	}
	return loader.LoadFiles(files)
}

// Broken reports of an error of Load whether the bytes are no archive, or not all of one.
func Broken(err error) bool {
	var corrupt flate.CorruptInputError
	return errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, tar.ErrHeader) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &corrupt)
}

// Same reports whether two charts have the same files, in whatever order they were packed.
func Same(a, b *chart.Chart) bool {
	files := func(ch *chart.Chart) map[string]string {
		all := map[string]string{}
		for _, f := range ch.Raw {
			all[f.Name] = string(f.Data)
		}
		return all
	}
	return maps.Equal(files(a), files(b))
}

// DigestPrefix is in front of a digest where it is written down.
const DigestPrefix = "sha256:"

// Digest is the SHA-256 over a chart's files by their names, in whatever order they were packed:
// two charts are the Same if and only if it is equal. It is an error if the chart was made in
// memory, and has no files.
func Digest(ch *chart.Chart) (string, error) {
	if len(ch.Raw) == 0 {
		return "", errors.New("the chart has no files to digest")
	}
	files := slices.SortedFunc(slices.Values(ch.Raw), func(a, b *chart.File) int { return strings.Compare(a.Name, b.Name) })
	h := sha256.New()
	for _, f := range files {
		_, _ = fmt.Fprintf(h, "%q %d\n", f.Name, len(f.Data)) // a hash never fails
		_, _ = h.Write(f.Data)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// plainEntry rejects links, devices, and names that lead out of the chart: Helm's reader takes some
// of them for empty files, and looks for others in another place.
func plainEntry(h *tar.Header) error {
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
	return nil
}
