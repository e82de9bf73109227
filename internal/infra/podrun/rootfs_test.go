package podrun

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// entry is a file of a layer.
type entry struct {
	name, content, link string
	kind                byte
	mode                int64
}

func file(name, content string) entry {
	return entry{name: name, content: content, kind: tar.TypeReg, mode: 0o644}
}

func layerOf(t *testing.T, entries ...entry) v1.Layer {
	t.Helper()
	var raw bytes.Buffer
	w := tar.NewWriter(&raw)
	for _, e := range entries {
		if err := w.WriteHeader(&tar.Header{Name: e.name, Typeflag: e.kind, Linkname: e.link, Size: int64(len(e.content)), Mode: e.mode}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(e.content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(raw.Bytes())), nil })
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func imageOf(t *testing.T, architecture string, layers ...v1.Layer) v1.Image {
	t.Helper()
	img, err := mutate.AppendLayers(empty.Image, layers...)
	if err != nil {
		t.Fatal(err)
	}
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", architecture
	config.Config = v1.Config{Entrypoint: []string{"/manager"}, Env: []string{"A=1"}, User: "65532:65532"}
	if img, err = mutate.ConfigFile(img, config); err != nil {
		t.Fatal(err)
	}
	return img
}

// serve is a registry in this process; around, unless nil, changes its answers.
func serve(t *testing.T, around func(http.Handler) http.Handler) (*httptest.Server, string) {
	t.Helper()
	h := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	if around != nil {
		h = around(h)
	}
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s, strings.TrimPrefix(s.URL, "http://")
}

func push(t *testing.T, to string, what remote.Taggable) {
	t.Helper()
	ref, err := name.ParseReference(to)
	if err != nil {
		t.Fatal(err)
	}
	switch what := what.(type) {
	case v1.Image:
		err = remote.Write(ref, what)
	case v1.ImageIndex:
		err = remote.WriteIndex(ref, what)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// An image is pulled once, unpacked with what it says of its process, and found by its digest where
// there is no network.
func TestGet(t *testing.T) {
	s, host := serve(t, nil)
	img := imageOf(t, runtime.GOARCH, layerOf(t, entry{name: "manager", content: "program", kind: tar.TypeReg, mode: 0o4755}))
	push(t, host+"/op:v1", img)
	store := &RootFSStore{Dir: t.TempDir()}
	got, err := store.Get(t.Context(), host+"/op:v1")
	if err != nil {
		t.Fatal(err)
	}
	digest, err := img.Digest()
	if err != nil {
		t.Fatal(err)
	}
	if got.Digest != digest.String() || len(got.Entrypoint) != 1 || got.Env[0] != "A=1" || got.User != "65532:65532" {
		t.Errorf("got %+v", got)
	}
	info, err := os.Stat(filepath.Join(got.Root, "manager"))
	if err != nil || info.Mode() != 0o755 {
		t.Errorf("the program: %v, %v; want no set-user-ID", info, err)
	}
	s.Close()
	if again, err := store.Get(t.Context(), host+"/op@"+digest.String()); err != nil || again.Root != got.Root {
		t.Errorf("without a network: %+v, %v", again, err)
	}
	if _, err := store.Get(t.Context(), host+"/op:v1"); err == nil {
		t.Error("a tag was not asked for again")
	}
	killed, busy := filepath.Join(store.Dir, ".unpacking-killed"), filepath.Join(store.Dir, ".unpacking-busy")
	old := time.Now().Add(-3 * budget)
	if err := errors.Join(os.Mkdir(killed, 0o755), os.Mkdir(busy, 0o755), os.Chtimes(killed, old, old)); err != nil {
		t.Fatal(err)
	}
	s2, host2 := serve(t, nil)
	defer s2.Close()
	push(t, host2+"/op:v2", imageOf(t, runtime.GOARCH, layerOf(t, file("b", "x"))))
	if _, err := store.Get(t.Context(), host2+"/op:v2"); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(busy); err != nil {
		t.Errorf("what another run unpacks: %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(store.Dir, ".unpacking-*")); err != nil || len(left) > 0 {
		t.Errorf("left: %q, %v", left, err)
	}
}

func TestGet_Refused(t *testing.T) {
	_, host := serve(t, nil)
	l := layerOf(t, file("a", "x"))
	push(t, host+"/other:1", imageOf(t, "s390x", l))
	push(t, host+"/index:1", mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: imageOf(t, "s390x", l), Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "s390x"}}}))
	push(t, host+"/both:1", mutate.AppendManifests(empty.Index,
		mutate.IndexAddendum{Add: imageOf(t, "s390x", l), Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "s390x"}}},
		mutate.IndexAddendum{Add: imageOf(t, runtime.GOARCH, l), Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: runtime.GOARCH}}}))
	// A registry whose layers are others than their digests say.
	content, err := layerOf(t, file("a", "y")).Compressed()
	if err != nil {
		t.Fatal(err)
	}
	another, err := io.ReadAll(content)
	if err != nil {
		t.Fatal(err)
	}
	_, liar := serve(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet || !strings.Contains(r.URL.Path, "/blobs/sha256:") {
				h.ServeHTTP(w, r)
				return
			}
			recorded := httptest.NewRecorder()
			h.ServeHTTP(recorded, r)
			body := recorded.Body.Bytes()
			if !bytes.HasPrefix(body, []byte("{")) { // not the configuration
				body = another
			}
			_, _ = w.Write(body)
		})
	})
	push(t, liar+"/op:1", imageOf(t, runtime.GOARCH, l))
	for image, want := range map[string]string{
		host + "/other:1": "it is for \"linux/s390x\", and this machine runs linux/" + runtime.GOARCH,
		host + "/index:1": "it is for \"linux/s390x\", and this machine runs linux/" + runtime.GOARCH,
		host + "/both:1":  "",
		host + "/none:1":  "pull the image " + host + "/none:1: ",
		host + "/op@sha256:" + strings.Repeat("0", 64): "NAME_UNKNOWN",
		liar + "/op:1": "what the registry sent does not fit its digest",
		"not an image": `the image "not an image"`,
	} {
		store := &RootFSStore{Dir: t.TempDir()}
		_, err := store.Get(t.Context(), image)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", image, err, want)
		}
		if have, _ := filepath.Glob(filepath.Join(store.Dir, "*")); want != "" && len(have) > 0 {
			t.Errorf("%s: %q is left of an image that is of no use", image, have)
		}
	}
}

func unpacked(t *testing.T, layers ...v1.Layer) (string, error) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "root")
	return dir, unpackRootFS(t.Context(), imageOf(t, runtime.GOARCH, layers...), dir)
}

// Layers lie over each other as in a container.
func TestUnpack(t *testing.T) {
	dir := func(name string) entry { return entry{name: name, kind: tar.TypeDir, mode: 0o555} }
	root, err := unpacked(t,
		layerOf(t, dir("etc"), file("etc/gone", "1"), file("etc/kept", "1"), dir("opt"), file("opt/old", "1"), dir("run"), entry{name: "var", kind: tar.TypeDir, mode: 0o755},
			entry{name: "var/run", link: "/run", kind: tar.TypeSymlink}, entry{name: "dev", kind: tar.TypeDir, mode: 0o755}, entry{name: "dev/sda", kind: tar.TypeBlock, mode: 0o666}),
		layerOf(t, file("etc/.wh.gone", ""), file("opt/new", "2"), file("opt/.wh..wh..opq", ""), file("var/run/pid", "2"), entry{name: "etc/hard", link: "etc/kept", kind: tar.TypeLink},
			entry{name: "etc/out", link: "/etc/passwd", kind: tar.TypeSymlink}, file("./a/b/c", "2")),
	)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"etc/kept": "1", "etc/hard": "1", "opt/new": "2", "run/pid": "2", "a/b/c": "2"} {
		if got, err := os.ReadFile(filepath.Join(root, name)); err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
	for _, name := range []string{"etc/gone", "opt/old", "dev/sda", "etc/.wh.gone", "opt/.wh..wh..opq"} {
		if _, err := os.Lstat(filepath.Join(root, name)); !os.IsNotExist(err) {
			t.Errorf("%s is there: %v", name, err)
		}
	}
	if to, err := os.Readlink(filepath.Join(root, "etc/out")); err != nil || to != "/etc/passwd" {
		t.Errorf("a link: %q, %v", to, err)
	}
}

// Nothing is written, linked or removed outside of the directory.
func TestUnpack_Escapes(t *testing.T) {
	outside := t.TempDir()
	secret := filepath.Join(outside, "secret")
	if err := os.WriteFile(secret, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := entry{name: "out", link: outside, kind: tar.TypeSymlink}
	up := entry{name: "up", link: strings.Repeat("../", 20) + outside[1:], kind: tar.TypeSymlink}
	for name, c := range map[string]struct {
		entries []entry
		want    string // of the error; "" if the image is taken
	}{
		"a name":                {[]entry{file("../../x", "1")}, "leads out of the image"},
		"an absolute name":      {[]entry{file(secret, "1")}, ""},
		"through a link":        {[]entry{link, file("out/secret", "1")}, ""},
		"through a link up":     {[]entry{up, file("up/secret", "1")}, ""},
		"a whiteout by a link":  {[]entry{link, file("out/.wh.secret", "")}, ""},
		"a hard link":           {[]entry{{name: "h", link: "../../" + secret, kind: tar.TypeLink}}, "leads out of the image"},
		"a hard link by a link": {[]entry{link, {name: "h", link: "out/secret", kind: tar.TypeLink}}, "no such file"},
		"over a link":           {[]entry{{name: "s", link: secret, kind: tar.TypeSymlink}, file("s", "1")}, ""},
		"links in a circle":     {[]entry{{name: "a", link: "/b", kind: tar.TypeSymlink}, {name: "b", link: "/a", kind: tar.TypeSymlink}, file("a/x", "1")}, "too many symbolic links"},
		"a file as a directory": {[]entry{file("a", "1"), file("a/b", "1")}, "is no directory"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := unpacked(t, layerOf(t, c.entries...))
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if got, err := os.ReadFile(secret); err != nil || string(got) != "mine" {
				t.Errorf("the file outside: %q, %v", got, err)
			}
		})
	}
}

func TestUnpack_Limits(t *testing.T) {
	for want, u := range map[string]unpacker{"unpacks to more than": {bytes: 4000, files: 10}, "has more than": {bytes: 1 << 20, files: 1}, "": {bytes: 1 << 20, files: 2}} {
		dir := t.TempDir()
		root, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		u.root = root
		err = u.layer(t.Context(), layerOf(t, file("a", strings.Repeat("x", 5000)), file("b", "x")))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("got %v, want %q", err, want)
		}
		if err := root.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A digest is compared where a layer ends, so that a layer of which only a part was read is refused: what
// fills it up behind its archive could stand for any other bytes.
func TestUnpack_FilledUp(t *testing.T) {
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	u := unpacker{root: root, bytes: 10_000, files: 10}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := errors.Join(w.WriteHeader(&tar.Header{Name: "a", Mode: 0o755, Size: 1}), func() error { _, err := w.Write([]byte("x")); return err }(), w.Close()); err != nil {
		t.Fatal(err)
	}
	b.Write(make([]byte, 20_000))
	if err := u.layer(t.Context(), static.NewLayer(b.Bytes(), types.OCIUncompressedLayer)); !errors.Is(err, errTooMuch) {
		t.Errorf("got %v, want %v", err, errTooMuch)
	}
}

// A layer that empties a directory again and again loses nothing of its own; a way of hundreds of levels is
// refused, and the unpacking ends with its context.
func TestUnpack_Endless(t *testing.T) {
	below, above := make([]entry, 20), make([]entry, 40)
	for i := range below {
		below[i] = file(fmt.Sprintf("d/%d", i), "")
	}
	for i := range above {
		above[i] = file(fmt.Sprintf("d/new%d", i), "")
		if i%2 == 1 {
			above[i] = file("d/.wh..wh..opq", "")
		}
	}
	root, err := unpacked(t, layerOf(t, below...), layerOf(t, above...))
	if err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(filepath.Join(root, "d")); err != nil || len(left) != len(above)/2 {
		t.Errorf("%d files are left, %v; want those of the upper layer", len(left), err)
	}
	if _, err := unpacked(t, layerOf(t, file(strings.Repeat("a/", mostLevels)+"x", ""))); err == nil || !strings.Contains(err.Error(), "levels") {
		t.Errorf("a deep name: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := unpackRootFS(ended, imageOf(t, runtime.GOARCH, layerOf(t, below...)), filepath.Join(t.TempDir(), "root")); !errors.Is(err, context.Canceled) {
		t.Errorf("after its context: %v", err)
	}
}

// A registry says what it likes of an image: an index that calls it another platform's, sizes that
// nothing has, thousands of platforms.
func TestGet_Lies(t *testing.T) {
	_, host := serve(t, nil)
	l := layerOf(t, file("a", "x"))
	as := func(img v1.Image, os, architecture string) mutate.IndexAddendum {
		return mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: os, Architecture: architecture}}}
	}
	push(t, host+"/lie:1", mutate.AppendManifests(empty.Index, as(imageOf(t, "s390x", l), "linux", runtime.GOARCH)))
	var many []mutate.IndexAddendum
	for i := range 200 {
		many = append(many, as(imageOf(t, "s390x", l), fmt.Sprintf("os%d\n::error::x", i), "mips"))
	}
	push(t, host+"/many:1", mutate.AppendManifests(empty.Index, many...))
	push(t, host+"/none:1", mutate.AppendManifests(empty.Index))
	_, sized := serve(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			name, size, found := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v2/"), "/manifests/")
			if !found {
				h.ServeHTTP(w, r)
				return
			}
			config, layer := size, "10"
			if name == "layer" {
				config, layer = "10", size
			}
			hash := "sha256:" + strings.Repeat("a", 64)
			w.Header().Set("Content-Type", string(types.OCIManifestSchema1))
			_, _ = fmt.Fprintf(w, `{"schemaVersion":2,"mediaType":%q,"config":{"digest":%q,"size":%s},"layers":[{"digest":%q,"size":%s}]}`, types.OCIManifestSchema1, hash, config, hash, layer)
		})
	})
	for image, want := range map[string]string{
		host + "/lie:1":              `it is for "linux/s390x"`,
		host + "/many:1":             "and 190 more, and this machine runs",
		host + "/none:1":             "an index without an image for any platform",
		sized + "/config:3000000000": "its configuration has a size of 3000000000 bytes",
		sized + "/config:-1":         "its configuration has a size of -1 bytes",
	} {
		_, err := (&RootFSStore{Dir: t.TempDir()}).Get(t.Context(), image)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") || len(err.Error()) > 1000 {
			t.Errorf("%s: got %v, want %q", image, err, want)
		}
	}
}
