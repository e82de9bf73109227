package stack

// layers.go finds one file in the layers of an image, as a container would see it, without unpacking
// anything else: the upper layers go before the lower ones, with their links and with what they
// remove. It knows archives. It must not know registries or programs.

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/nvidia/aicr-action/internal/util/lists"
)

// Limits of an image. Those of the makers have a tenth of them.
const (
	mostLayers     = 200
	mostLayerFiles = 200_000
	mostLayerBytes = 4 << 30 // of a layer, unpacked
	mostProgram    = 1 << 30
	mostImageLinks = 40
)

// Names by which a layer removes files of the layers below it (OCI image specification, layer).
const (
	whiteoutPrefix = ".wh."
	opaqueWhiteout = ".wh..wh..opq"
)

// member is an entry of a layer; number counts the archive's entries.
type member struct {
	kind    byte
	link    string
	number  int
	program bool // a file that may be executed
}

// layer is what a layer has.
type layer struct {
	file            string // the layer as it was downloaded
	members         map[string]member
	removes, opaque map[string]bool
}

// tree is the layers of an image, the lowest first. get downloads one when it is needed: the programs
// are in the upper ones, and what lies below is never asked for.
type tree struct {
	layers []*layer
	most   int64 // bytes that a layer may unpack to
	get    func(ctx context.Context, i int) (file string, err error)
}

// errNoSuchFile: the image does not have the file.
var errNoSuchFile = errors.New("it is not there")

// at returns a layer's content.
func (t *tree) at(ctx context.Context, i int) (*layer, error) {
	if t.layers[i] != nil {
		return t.layers[i], nil
	}
	file, err := t.get(ctx, i)
	if err != nil {
		return nil, err
	}
	l := &layer{file: file, members: map[string]member{}, removes: map[string]bool{}, opaque: map[string]bool{}}
	err = eachMember(ctx, file, t.most, func(number int, h *tar.Header, _ io.Reader) (bool, error) { return false, l.add(number, h) })
	if err != nil {
		return nil, fmt.Errorf("its layer %d: %w", i+1, err)
	}
	t.layers[i] = l
	return l, nil
}

func (l *layer) add(number int, h *tar.Header) error {
	name, err := inside(h.Name)
	if err != nil || name == "" {
		return err
	}
	dir, base := path.Split(name)
	dir = strings.TrimSuffix(dir, "/")
	switch {
	case base == opaqueWhiteout:
		l.opaque[dir] = true
		return nil
	case strings.HasPrefix(base, whiteoutPrefix):
		l.removes[path.Join(dir, strings.TrimPrefix(base, whiteoutPrefix))] = true
		return nil
	}
	m := member{kind: h.Typeflag, number: number, program: h.Typeflag == tar.TypeReg && h.Mode&0o111 != 0}
	switch h.Typeflag {
	case tar.TypeSymlink:
		m.link = h.Linkname
	case tar.TypeLink:
		if m.link, err = inside(h.Linkname); err != nil {
			return fmt.Errorf("the hard link %.200q: %w", h.Name, err)
		}
	}
	l.members[name] = m
	return nil
}

// inside is the clean name of an archive's entry; an error if it is absolute or leads out.
func inside(name string) (string, error) {
	if strings.HasPrefix(name, "/") || slices.Contains(strings.Split(name, "/"), "..") {
		return "", fmt.Errorf("its entry %.200q is absolute or leads out of the image", name)
	}
	if name = path.Clean(name); name == "." {
		return "", nil
	}
	return name, nil
}

// find returns the layer and the entry that a path of the image is, when all links are followed.
func (t *tree) find(ctx context.Context, want string) (*layer, member, error) {
	links, top := 0, len(t.layers)-1
	name := strings.TrimPrefix(path.Clean("/"+want), "/")
	for i := top; i >= 0; i-- {
		l, err := t.at(ctx, i)
		if err != nil {
			return nil, member{}, err
		}
		m, next, from, err := l.step(name)
		switch {
		case err != nil:
			return nil, member{}, err
		case next != "":
			if links++; links > mostImageLinks {
				return nil, member{}, fmt.Errorf("%s leads through more than %d links", want, mostImageLinks)
			}
			name = next
			if from == tar.TypeSymlink { // of the whole image; a hard link is of this layer or those below
				i = top
			}
			i++
		case m != nil:
			return l, *m, nil
		case l.hides(name):
			return nil, member{}, errNoSuchFile
		}
	}
	return nil, member{}, errNoSuchFile
}

// step looks for a name in one layer. next is the name that a link on the way leads to, and from the
// kind of the link.
func (l *layer) step(name string) (found *member, next string, from byte, err error) {
	parts := strings.Split(name, "/")
	for n := 1; n <= len(parts); n++ {
		at := strings.Join(parts[:n], "/")
		m, ok := l.members[at]
		switch {
		case !ok:
		case m.kind == tar.TypeSymlink:
			next, err := followed(at, m.link, parts[n:])
			return nil, next, m.kind, err
		case n < len(parts) && m.kind != tar.TypeDir:
			return nil, "", 0, errNoSuchFile
		case n < len(parts):
		case m.kind == tar.TypeReg:
			return &m, "", 0, nil
		case m.kind == tar.TypeLink:
			return nil, m.link, m.kind, nil
		default:
			return nil, "", 0, fmt.Errorf("/%s is no file", name)
		}
	}
	return nil, "", 0, nil
}

// followed is where a symbolic link leads, in the image.
func followed(at, link string, rest []string) (string, error) {
	to := path.Join(append([]string{link}, rest...)...)
	if !path.IsAbs(link) {
		up := strings.Count(at, "/")
		depth := 0
		for part := range strings.SplitSeq(link, "/") {
			switch part {
			case "", ".":
			case "..":
				depth--
			default:
				depth++
			}
			if up+depth < 0 {
				return "", fmt.Errorf("its link /%s leads out of the image, to %.200q", at, link)
			}
		}
		to = path.Join("/", path.Dir(at), to)
	}
	return strings.TrimPrefix(path.Clean("/"+to), "/"), nil
}

// hides reports whether the layers below do not count for a name.
func (l *layer) hides(name string) bool {
	for at := name; ; at = path.Dir(at) {
		if at == "." {
			return l.opaque[""]
		}
		if l.removes[at] || at != name && l.opaque[at] {
			return true
		}
	}
}

// programs lists files that may be executed, in the directory of a path or else anywhere, for an error.
func (t *tree) programs(ctx context.Context, near string) string {
	var here, all []string
	for _, l := range t.layers {
		if l == nil {
			continue
		}
		for name, m := range l.members {
			if !m.program {
				continue
			}
			if _, _, err := t.find(ctx, name); err != nil {
				continue // removed above
			}
			all = append(all, "/"+name)
			if path.Dir("/"+name) == path.Dir(near) {
				here = append(here, "/"+name)
			}
		}
	}
	if len(here) > 0 {
		all = here
	}
	slices.Sort(all)
	if all = slices.Compact(all); len(all) == 0 {
		return "no program at all"
	}
	return strings.Join(lists.AtMost(all, 10), ", ")
}

// eachMember reads a layer's archive, until do is done or has an error.
func eachMember(ctx context.Context, file string, most int64, do func(number int, h *tar.Header, content io.Reader) (done bool, err error)) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	content, end, err := unpacked(bufio.NewReader(&interruptible{ctx, f}))
	if err != nil {
		return err
	}
	defer end()
	limited := &io.LimitedReader{R: content, N: most}
	bomb := fmt.Errorf("it unpacks to more than %d MiB", most>>20)
	archive := tar.NewReader(limited)
	for number := 0; ; number++ {
		h, err := archive.Next()
		switch {
		case limited.N <= 0:
			return bomb
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case number >= mostLayerFiles:
			return fmt.Errorf("it has more than %d files", mostLayerFiles)
		}
		done, err := do(number, h, archive)
		if limited.N <= 0 {
			return bomb
		}
		if done || err != nil {
			return err
		}
	}
}

// unpacked reads what is packed by gzip, zstd or nothing.
func unpacked(r *bufio.Reader) (io.Reader, func(), error) {
	head, err := r.Peek(4)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return nil, nil, err
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(r)
		return z, func() {}, err
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(r, zstd.WithDecoderMaxWindow(mostWindow))
		if err != nil {
			return nil, nil, err
		}
		return z, z.Close, nil
	}
	return r, func() {}, nil
}

// copyTo writes an entry to a file.
func (l *layer) copyTo(ctx context.Context, m member, w io.Writer) error {
	return eachMember(ctx, l.file, mostLayerBytes, func(number int, h *tar.Header, content io.Reader) (bool, error) {
		if number != m.number {
			return false, nil
		}
		if h.Size > mostProgram {
			return true, fmt.Errorf("it has %d MiB, and %d are the most", h.Size>>20, mostProgram>>20)
		}
		_, err := io.Copy(w, content)
		return true, err
	})
}
