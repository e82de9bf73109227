package podrun

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// unpackRootFS writes the files of an image's layers, one layer over the other, into a new directory.
// Owners, devices, and the rights of set-user-ID programs are left out. What leads out of the
// directory is an error: a name with "..", or a hard link to such. A symbolic link may have any
// target, as in a container, but nothing is written or removed through one that leads out: its
// target is taken within the directory.
func unpackRootFS(ctx context.Context, img v1.Image, dir string) error {
	layers, err := img.Layers()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // nothing is written through its descriptor itself
	u := &unpacker{root: root, bytes: mostUnpacked, files: mostFiles}
	for _, l := range layers {
		if err := u.layer(ctx, l); err != nil {
			digest, _ := l.Digest() // its text is empty then
			return fmt.Errorf("layer %s: %w", digest, err)
		}
	}
	return nil
}

// mostLevels are those of a name in an archive: the way to a file is walked step by step, and each step
// from the root.
const mostLevels = 256

var errTooMuch = fmt.Errorf("the image unpacks to more than %d MiB", mostUnpacked>>20)

// unpacker has what is left of the limits.
type unpacker struct {
	root         *os.Root
	bytes, files int64
	made         map[string]bool // by the layer that is unpacked, with the directories above
	emptied      map[string]bool // directories, by that layer
}

func (u *unpacker) layer(ctx context.Context, l v1.Layer) error {
	content, err := l.Uncompressed()
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }() // what matters is in the reads
	u.made, u.emptied = map[string]bool{}, map[string]bool{}
	// The archive's headers count too: there may be any number of empty files.
	limited := &io.LimitedReader{R: content, N: u.bytes + 1}
	archive := tar.NewReader(limited)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		h, err := archive.Next()
		if err == nil {
			if u.files--; u.files < 0 {
				return fmt.Errorf("the image has more than %d files", mostFiles)
			}
			err = u.entry(h, archive)
		}
		switch {
		case limited.N <= 0:
			return errTooMuch
		case errors.Is(err, io.EOF):
			// The digest is compared at the end of the stream, which an archive does not reach.
			if _, err := io.Copy(io.Discard, limited); err != nil {
				return err
			}
			if limited.N <= 0 { // and what was read has been compared with nothing
				return errTooMuch
			}
			u.bytes = limited.N - 1
			return nil
		case err != nil:
			return err
		}
	}
}

// The names by which a layer removes files of the layers below it (OCI image specification, layer).
const (
	whiteout = ".wh."
	opaque   = ".wh..wh..opq"
)

func (u *unpacker) entry(h *tar.Header, content io.Reader) error {
	if leadsOut(h.Name) {
		return fmt.Errorf("its entry %.200q leads out of the image", h.Name)
	}
	at := strings.TrimPrefix(path.Clean("/"+h.Name), "/")
	if strings.Count(at, "/") >= mostLevels {
		return fmt.Errorf("its entry %.200q has more than %d levels", h.Name, mostLevels)
	}
	if at == "" {
		return nil // the root itself
	}
	parent, err := u.directory(path.Dir(at))
	if err != nil {
		return fmt.Errorf("its entry %.200q: %w", h.Name, err)
	}
	base := path.Base(at)
	at = path.Join(parent, base)
	switch {
	case base == opaque:
		err = u.empty(parent)
	case strings.HasPrefix(base, whiteout):
		err = u.root.RemoveAll(path.Join(parent, strings.TrimPrefix(base, whiteout)))
	default:
		err = u.put(at, h, content)
	}
	if err != nil {
		return fmt.Errorf("its entry %.200q: %w", h.Name, err)
	}
	return nil
}

func leadsOut(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." {
			return true
		}
	}
	return false
}

// put writes one file in place of what is there. A directory stays, with what is in it.
func (u *unpacker) put(at string, h *tar.Header, content io.Reader) error {
	for dir := at; dir != "." && !u.made[dir]; dir = path.Dir(dir) {
		u.made[dir] = true
	}
	have, err := u.root.Lstat(at)
	if err == nil && !(have.IsDir() && h.Typeflag == tar.TypeDir) {
		if err := u.root.RemoveAll(at); err != nil {
			return err
		}
	}
	mode := fs.FileMode(h.Mode) & fs.ModePerm
	switch h.Typeflag {
	case tar.TypeDir:
		if err == nil && have.IsDir() {
			return u.root.Chmod(at, mode|0o700)
		}
		return u.root.Mkdir(at, mode|0o700)
	case tar.TypeReg:
		f, err := u.root.OpenFile(at, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode|0o400)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, content)
		return errors.Join(err, f.Close())
	case tar.TypeSymlink:
		return u.root.Symlink(h.Linkname, at)
	case tar.TypeLink:
		if leadsOut(h.Linkname) {
			return fmt.Errorf("its hard link to %.200q leads out of the image", h.Linkname)
		}
		to := strings.TrimPrefix(path.Clean("/"+h.Linkname), "/")
		if strings.Count(to, "/") >= mostLevels {
			return fmt.Errorf("its hard link to %.200q has more than %d levels", h.Linkname, mostLevels)
		}
		parent, err := u.directory(path.Dir(to))
		if err != nil {
			return err
		}
		return u.root.Link(path.Join(parent, path.Base(to)), at)
	}
	return nil // a device, a pipe: a process has the machine's own
}

// empty removes what layers below have in a directory.
func (u *unpacker) empty(dir string) error {
	if u.emptied[dir] { // what is there now is of this layer
		return nil
	}
	u.emptied[dir] = true
	f, err := u.root.Open(dir)
	if err != nil {
		return err
	}
	names, err := f.Readdirnames(-1)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	for _, name := range names {
		if at := path.Join(dir, name); !u.made[at] {
			if err := u.root.RemoveAll(at); err != nil {
				return err
			}
		}
	}
	return nil
}

// mostLinks are followed on the way to a file, as by the kernel.
const mostLinks = 40

// directory is a directory without symbolic links in its path, which is made where it does not
// exist. The target of a link is taken within the root, as the process will see it.
func (u *unpacker) directory(name string) (string, error) {
	var left []string
	push := func(text string) {
		var parts []string
		for part := range strings.SplitSeq(text, "/") {
			if part != "" && part != "." {
				parts = append(parts, part)
			}
		}
		left = append(parts, left...)
	}
	push(name)
	at, links := ".", 0
	for len(left) > 0 {
		part := left[0]
		left = left[1:]
		if part == ".." {
			at = path.Dir(at) // of the root it is the root
			continue
		}
		next := path.Join(at, part)
		info, err := u.root.Lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if err := u.root.Mkdir(next, 0o755); err != nil {
				return "", err
			}
		case err != nil:
			return "", err
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := u.root.Readlink(next)
			if err != nil {
				return "", err
			}
			if links++; links > mostLinks {
				return "", errors.New("too many symbolic links")
			}
			if path.IsAbs(target) {
				at = "."
			}
			push(target)
			continue
		case !info.IsDir():
			return "", fmt.Errorf("%s is no directory", next)
		}
		at = next
	}
	return at, nil
}
