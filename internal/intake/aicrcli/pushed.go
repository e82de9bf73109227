package aicrcli

// pushed.go has an OCI registry of this machine for a program to push to, and reads what was
// pushed. It knows layers and archives. It must not know what is in them.

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// PushLimits are what an artifact may have.
type PushLimits struct {
	Files int   // files and directories
	Bytes int64 // of all files
}

// titleAnnotation is a layer's file name, as ORAS writes it.
const titleAnnotation = "org.opencontainers.image.title"

// UnpackPushed writes the files of the only artifact in a registry to a new directory: of several tags,
// that of this name. A directory that holds all files, as in a packaged chart, is left out. Links and
// names that lead out are errors; then there is no directory.
func UnpackPushed(ctx context.Context, host, tag, dir string, limits PushLimits) (err error) {
	image, err := only(ctx, host, tag)
	if err != nil {
		return err
	}
	into, err := os.MkdirTemp(filepath.Dir(dir), ".pushed-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(into)) }()
	root, err := os.OpenRoot(into)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // the files in it are closed
	if err := layers(image, &writer{root: root, left: limits}); err != nil {
		return err
	}
	from := into
	for {
		entries, err := os.ReadDir(from)
		if err != nil {
			return err
		}
		if len(entries) != 1 || !entries[0].IsDir() {
			break
		}
		from = filepath.Join(from, entries[0].Name())
	}
	return os.Rename(from, dir)
}

// only is the artifact in a registry.
func only(ctx context.Context, host, tag string) (v1.Image, error) {
	registry, err := name.NewRegistry(host, name.Insecure)
	if err != nil {
		return nil, err
	}
	options := []remote.Option{remote.WithContext(ctx)}
	repos, err := remote.Catalog(ctx, registry, options...)
	if err != nil {
		return nil, err
	}
	if len(repos) != 1 {
		return nil, fmt.Errorf("the registry has %d repositories, want one", len(repos))
	}
	repo := registry.Repo(repos[0])
	tags, err := remote.List(repo, options...)
	if err != nil {
		return nil, err
	}
	found := ""
	for _, t := range tags {
		if t == tag || len(tags) == 1 {
			found = t
		}
	}
	if found == "" {
		return nil, fmt.Errorf("%s has the tags %s, and not %s", repo.RepositoryStr(), strings.Join(tags, ", "), tag)
	}
	return remote.Image(repo.Tag(found), options...)
}

// layers writes what is in the layers of an artifact.
func layers(image v1.Image, w *writer) error {
	manifest, err := image.Manifest()
	if err != nil {
		return err
	}
	for _, described := range manifest.Layers {
		layer, err := image.LayerByDigest(described.Digest)
		if err != nil {
			return err
		}
		title := described.Annotations[titleAnnotation]
		if err := one(layer, title, w); err != nil {
			return fmt.Errorf("layer %s (%s): %w", described.Digest, described.MediaType, err)
		}
	}
	return nil
}

// one writes what is in a layer: an archive's files, or a file with this title.
func one(layer v1.Layer, title string, w *writer) error {
	blob, err := layer.Compressed()
	if err != nil {
		return err
	}
	defer func() { _ = blob.Close() }() // read whole, or an error already
	media, err := layer.MediaType()
	if err != nil {
		return err
	}
	r := bufio.NewReader(blob)
	if !strings.Contains(string(media), "tar") {
		if title == "" {
			return errors.New("it is neither an archive nor a file with a name")
		}
		return w.file(title, 0o644, r)
	}
	var archive io.Reader = r
	if magic, _ := r.Peek(2); len(magic) == 2 && magic[0] == 0x1f && magic[1] == 0x8b {
		if archive, err = gzip.NewReader(r); err != nil {
			return err
		}
	}
	for entries := tar.NewReader(archive); ; {
		h, err := entries.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case h.Typeflag == tar.TypeDir:
			err = w.directory(h.Name)
		case h.Typeflag == tar.TypeReg:
			err = w.file(h.Name, h.FileInfo().Mode().Perm()&0o111|0o644, entries)
		default:
			err = fmt.Errorf("%s is no file and no directory", h.Name)
		}
		if err != nil {
			return err
		}
	}
}

// writer writes files below a directory, within limits.
type writer struct {
	root *os.Root
	left PushLimits
}

// clean is a name below the directory; the directory itself is ".".
func clean(name string) (string, error) {
	cleaned := path.Clean(strings.TrimPrefix(name, "./"))
	if !fs.ValidPath(cleaned) {
		return "", fmt.Errorf("%q leads out of the artifact", name)
	}
	return cleaned, nil
}

func (w *writer) directory(name string) error {
	name, err := clean(name)
	if err != nil {
		return err
	}
	return errors.Join(w.count(), w.root.MkdirAll(name, 0o755))
}

func (w *writer) count() error {
	if w.left.Files--; w.left.Files < 0 {
		return errors.New("it has too many files and directories")
	}
	return nil
}

func (w *writer) file(name string, mode fs.FileMode, content io.Reader) error {
	name, err := clean(name)
	if err != nil {
		return err
	}
	if err := errors.Join(w.count(), w.root.MkdirAll(path.Dir(name), 0o755)); err != nil {
		return err
	}
	f, err := w.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	n, err := io.Copy(f, io.LimitReader(content, w.left.Bytes+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if w.left.Bytes -= n; w.left.Bytes < 0 {
		return errors.New("its files have too many bytes")
	}
	return nil
}
