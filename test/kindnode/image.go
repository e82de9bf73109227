package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"
	"path"
	"runtime"
	"strconv"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// directory is one that an image needs beside those of its files.
type directory struct {
	mode  int64
	owner int // user and group
}

// recipe is what an image is made of. The same recipe gives the same image.
type recipe struct {
	name       string               // as manifests have it, with a tag
	programs   []string             // of the stack or of the fixture, into /usr/local/bin
	debian     []string             // programs of Debian with their libraries, by path
	trees      []string             // directories of Debian, whole
	text       map[string]string    // small files: path -> content
	scripts    map[string]string    // the same, to be executed
	links      map[string]string    // path -> target
	dirs       map[string]directory // path -> mode and owner
	user       string               // numeric, so that the kubelet can tell that it is not root
	workdir    string
	entrypoint []string
	args       []string
	env        []string
}

// content is what goes into a layer: path in the image -> what is there.
type content map[string]entry

type entry struct {
	file string // copied from here, if set
	text string
	link string
	mode int64
	dir  bool
	own  int
}

const searchPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// image makes an image of one layer, without compression: it never leaves this machine.
func image(layerFile string, c content, r recipe) (v1.Image, error) {
	f, err := os.Create(layerFile)
	if err != nil {
		return nil, err
	}
	err = c.write(f)
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", layerFile, err)
	}
	return imageOf(layerFile, v1.Config{
		User: r.user, WorkingDir: r.workdir, Entrypoint: r.entrypoint, Cmd: r.args, Env: append([]string{searchPath}, r.env...),
	})
}

// imageOf makes an image of a layer that is a tar file already.
func imageOf(layerFile string, config v1.Config) (v1.Image, error) {
	layer, err := tarball.LayerFromFile(layerFile, tarball.WithCompressionLevel(0))
	if err != nil {
		return nil, err
	}
	i, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return nil, err
	}
	file, err := i.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Config = "linux", runtime.GOARCH, config
	return mutate.ConfigFile(i, file)
}

// writeArchive writes images to one file, as `docker save` would, for `docker load` and `ctr images
// import`.
func writeArchive(file string, images map[string]v1.Image) error {
	refs := map[name.Reference]v1.Image{}
	for ref, i := range images {
		tag, err := name.NewTag(ref)
		if err != nil {
			return err
		}
		refs[tag] = i
	}
	if err := tarball.MultiRefWriteToFile(file+".partial", refs); err != nil {
		return err
	}
	return os.Rename(file+".partial", file)
}

// write writes a tar with every parent directory, in the order of the paths, without times.
func (c content) write(w io.Writer) error {
	out := tar.NewWriter(w)
	full := content{}
	for p, e := range c {
		full[p] = e
		for dir := path.Dir(p); dir != "/"; dir = path.Dir(dir) {
			if _, ok := full[dir]; !ok {
				full[dir] = entry{dir: true, mode: 0o755}
			}
		}
	}
	for p, e := range c { // a parent of one file may have been described by another entry
		full[p] = e
	}
	for _, p := range sortedKeys(full) {
		if err := writeEntry(out, p, full[p]); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
	}
	return out.Close()
}

func writeEntry(out *tar.Writer, p string, e entry) error {
	header := &tar.Header{Name: strings.TrimPrefix(p, "/"), Mode: e.mode, Uid: e.own, Gid: e.own, Format: tar.FormatPAX}
	switch {
	case e.dir:
		header.Typeflag, header.Name = tar.TypeDir, header.Name+"/"
		return out.WriteHeader(header)
	case e.link != "":
		header.Typeflag, header.Linkname, header.Mode = tar.TypeSymlink, e.link, 0o777
		return out.WriteHeader(header)
	case e.file == "":
		header.Typeflag, header.Size = tar.TypeReg, int64(len(e.text))
		if err := out.WriteHeader(header); err != nil {
			return err
		}
		_, err := io.Copy(out, bytes.NewBufferString(e.text))
		return err
	}
	f, err := os.Open(e.file)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // opened for reading
	info, err := f.Stat()
	if err != nil {
		return err
	}
	header.Typeflag, header.Size = tar.TypeReg, info.Size()
	if header.Mode == 0 {
		header.Mode = int64(info.Mode().Perm())
	}
	if err := out.WriteHeader(header); err != nil {
		return err
	}
	_, err = io.Copy(out, f)
	return err
}

// account is a line of /etc/passwd for a numeric user.
func account(user string, id int) string {
	return user + ":x:" + strconv.Itoa(id) + ":" + strconv.Itoa(id) + "::/home/" + user + ":/usr/sbin/nologin\n"
}
