package stack

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"encoding/binary"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/compression"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/kwok"
)

// elfProgram is the least that is a program for a processor; needs is its loader, or empty if it is
// static.
func elfProgram(t testing.TB, machine elf.Machine, needs string) string {
	t.Helper()
	const head, segment = 64, 56
	h := elf.Header64{Type: uint16(elf.ET_EXEC), Machine: uint16(machine), Version: 1, Phoff: head, Ehsize: head, Phentsize: segment, Phnum: 1, Shentsize: 64}
	copy(h.Ident[:], "\x7fELF\x02\x01\x01")
	p := elf.Prog64{Type: uint32(elf.PT_LOAD), Off: head + segment, Filesz: uint64(len(needs) + 1), Memsz: uint64(len(needs) + 1)}
	if needs != "" {
		p.Type = uint32(elf.PT_INTERP)
	}
	var b bytes.Buffer
	for _, part := range []any{h, p, []byte(needs + "\x00")} {
		if err := binary.Write(&b, binary.LittleEndian, part); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

func ownMachine() elf.Machine { return machines()["linux/"+runtime.GOARCH] }

// packed is an entry of a layer.
type packed struct {
	name, content, link string
	kind                byte
	mode                int64
}

func executable(name, content string) packed {
	return packed{name: name, content: content, kind: tar.TypeReg, mode: 0o755}
}

func symlink(name, to string) packed { return packed{name: name, link: to, kind: tar.TypeSymlink} }
func hardlink(name, to string) packed {
	return packed{name: name, link: to, kind: tar.TypeLink, mode: 0o755}
}
func directory(name string) packed { return packed{name: name, kind: tar.TypeDir, mode: 0o755} }
func empties(name string) packed   { return packed{name: name, kind: tar.TypeReg, mode: 0o644} }

func tarOf(t testing.TB, entries ...packed) []byte {
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
	return raw.Bytes()
}

func packedLayer(t testing.TB, with compression.Compression, entries ...packed) v1.Layer {
	t.Helper()
	raw := tarOf(t, entries...)
	l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(raw)), nil }, tarball.WithCompression(with))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func imageFor(t testing.TB, architecture string, layers ...v1.Layer) v1.Image {
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
	if img, err = mutate.ConfigFile(img, config); err != nil {
		t.Fatal(err)
	}
	return img
}

// makers is a registry in this process that has the makers' images, by their whole names.
type makers struct {
	server *httptest.Server
	host   string
	lock   *ImagesLock

	mu    sync.Mutex
	asked []string // paths of GET requests
	// answer, if set, may answer in place of the registry.
	answer func(w http.ResponseWriter, r *http.Request) bool
}

func newMakers(t testing.TB) *makers {
	t.Helper()
	lock, err := ParseImagesLock(kwok.ImagesLock, lockName)
	if err != nil {
		t.Fatal(err)
	}
	m := &makers{lock: lock}
	real := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	m.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.mu.Lock()
		if r.Method == http.MethodGet {
			m.asked = append(m.asked, r.URL.Path)
		}
		answer := m.answer
		m.mu.Unlock()
		if answer == nil || !answer(w, r) {
			real.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(m.server.Close)
	m.host = strings.TrimPrefix(m.server.URL, "http://")
	return m
}

func (m *makers) answering(answer func(w http.ResponseWriter, r *http.Request) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.answer = answer
}

// blobs counts the GET requests for a blob.
func (m *makers) blobs(digest string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for _, p := range m.asked {
		if strings.HasSuffix(p, "/blobs/"+digest) {
			n++
		}
	}
	return n
}

// push has the registry serve an image for both platforms as an index, and pins it for every program
// in it.
func (m *makers) push(t testing.TB, image string, of func(machine elf.Machine) []v1.Layer) {
	t.Helper()
	ref, err := name.ParseReference(m.host + "/" + image)
	if err != nil {
		t.Fatal(err)
	}
	digests := map[string]string{}
	var all []mutate.IndexAddendum
	for _, platform := range slices.Sorted(maps.Keys(machines())) {
		architecture := strings.TrimPrefix(platform, "linux/")
		img := imageFor(t, architecture, of(machines()[platform])...)
		digest, err := img.Digest()
		if err != nil {
			t.Fatal(err)
		}
		digests[platform] = digest.String()
		all = append(all, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: architecture}}})
	}
	if err := remote.WriteIndex(ref, mutate.AppendManifests(empty.Index, all...)); err != nil {
		t.Fatal(err)
	}
	for i := range m.lock.Programs {
		if m.lock.Programs[i].Image == image {
			m.lock.Programs[i].Digests = digests
		}
	}
}

// pushAll makes the images of the stack's groups, in their makers' layouts.
func (m *makers) pushAll(t testing.TB) (base v1.Layer) {
	t.Helper()
	base = packedLayer(t, compression.GZip, directory("etc"), executable("bin/sh", elfProgram(t, elf.EM_X86_64, "/lib/ld.so")))
	s := newStack(t, host.Paths{Root: t.TempDir()})
	for _, p := range m.lock.Programs {
		part := partNamed(p.Program)
		if p.Image == "" || p.Version != s.versions[part.Module] || !slices.ContainsFunc(Groups(), func(g Group) bool { return slices.Contains(g.Parts(), part) }) {
			continue
		}
		m.push(t, p.Image, func(machine elf.Machine) []v1.Layer {
			program := elfProgram(t, machine, "")
			own := packedLayer(t, compression.ZStd, directory("usr/local/bin"), executable(strings.TrimPrefix(p.Path, "/"), program))
			if p.Program != "argocd" {
				return []v1.Layer{base, own}
			}
			return []v1.Layer{
				base, packedLayer(t, compression.GZip, executable("usr/local/bin/helm", program), executable("usr/local/bin/kustomize", program)), own,
				packedLayer(t, compression.GZip, symlink("usr/local/bin/argocd-server", "/usr/local/bin/argocd")),
			}
		})
	}
	return base
}

// origin is one of this registry.
func (m *makers) origin(t testing.TB, source Source) *Origin {
	t.Helper()
	return &Origin{Source: source, Lock: m.lock, Mirror: m.host, Dir: filepath.Join(t.TempDir(), "images"), Manifests: kwok.Files}
}

// stackOf has its programs from there.
func stackOf(t testing.TB, o *Origin) *Stack {
	t.Helper()
	s := newStack(t, host.Paths{Root: t.TempDir()})
	s.From(o)
	return s
}

// noGo takes the go command away.
func noGo(t *testing.T) { t.Setenv("PATH", t.TempDir()) }

func contentOf(t *testing.T, file string) string {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
