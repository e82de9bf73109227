package aicrcli

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"log"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// entry is an entry of an archive; without content it is of the type.
type entry struct {
	name, content string
	kind          byte
}

func packed(t *testing.T, zipped bool, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	var out io.WriteCloser = struct {
		io.Writer
		io.Closer
	}{&b, io.NopCloser(nil)}
	if zipped {
		out = gzip.NewWriter(&b)
	}
	w := tar.NewWriter(out)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Mode: 0o755, Size: int64(len(e.content)), Typeflag: e.kind}
		if e.kind == tar.TypeSymlink {
			h.Linkname = "/etc/passwd"
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(e.content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

type layer struct {
	media, title string
	content      []byte
}

// served is a registry with an artifact of these layers.
func served(t *testing.T, tags []string, layers ...layer) string {
	t.Helper()
	s := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(s.Close)
	host := strings.TrimPrefix(s.URL, "http://")
	image := mutate.MediaType(empty.Image, types.OCIManifestSchema1)
	for _, l := range layers {
		add := mutate.Addendum{Layer: static.NewLayer(l.content, types.MediaType(l.media))}
		if l.title != "" {
			add.Annotations = map[string]string{titleAnnotation: l.title}
		}
		var err error
		if image, err = mutate.Append(image, add); err != nil {
			t.Fatal(err)
		}
	}
	for _, tag := range tags {
		ref, err := name.ParseReference(host+"/aicr/"+tag, name.Insecure)
		if err != nil {
			t.Fatal(err)
		}
		if err := remote.Write(ref, image); err != nil {
			t.Fatal(err)
		}
	}
	return host
}

// What was pushed is unpacked as the program that pushed it had it: packed with or without
// compression, as a chart in a directory of its own, or file by file.
func TestUnpack(t *testing.T) {
	const tgz, plain = "application/vnd.oci.image.layer.v1.tar+gzip", "application/vnd.oci.image.layer.v1.tar"
	for name, layers := range map[string][]layer{
		"an archive":                 {{tgz, "", packed(t, true, entry{"./", "", tar.TypeDir}, entry{"./a.yaml", "a", tar.TypeReg}, entry{"d/", "", tar.TypeDir}, entry{"d/b.yaml", "b", tar.TypeReg})}},
		"one without compression":    {{plain, "bundle", packed(t, false, entry{"a.yaml", "a", tar.TypeReg}, entry{"d/b.yaml", "b", tar.TypeReg})}},
		"in a directory, as a chart": {{"application/vnd.cncf.helm.chart.content.v1.tar+gzip", "", packed(t, true, entry{"x/a.yaml", "a", tar.TypeReg}, entry{"x/d/b.yaml", "b", tar.TypeReg})}},
		"file by file":               {{"text/yaml", "a.yaml", []byte("a")}, {"text/yaml", "d/b.yaml", []byte("b")}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "bundle")
			if err := UnpackPushed(t.Context(), served(t, []string{"x:v1"}, layers...), "v1", dir, PushLimits{10, 100}); err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, file := range []string{"a.yaml", "d/b.yaml"} {
				text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(file)))
				if err != nil {
					t.Fatal(err)
				}
				got += string(text)
			}
			if got != "ab" {
				t.Errorf("got %q", got)
			}
			if left, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(left) != 1 {
				t.Errorf("beside the directory: %v, %v", left, err)
			}
		})
	}
}

// What leads out of an artifact, what has no limit, and what is not clear, is refused, and nothing is
// left of it.
func TestUnpack_Refused(t *testing.T) {
	const tgz = "application/vnd.oci.image.layer.v1.tar+gzip"
	file := entry{"a", "a", tar.TypeReg}
	var many []entry
	for i := range 11 {
		many = append(many, entry{fmt.Sprintf("f%d", i), "", tar.TypeReg})
	}
	for name, tc := range map[string]struct {
		tags  []string
		layer layer
		want  string
	}{
		"a name that leads out": {[]string{"x:v1"}, layer{tgz, "", packed(t, true, entry{"../a", "a", tar.TypeReg})}, `"../a" leads out of the artifact`},
		"an absolute name":      {[]string{"x:v1"}, layer{tgz, "", packed(t, true, entry{"/etc/a", "a", tar.TypeReg})}, `"/etc/a" leads out of the artifact`},
		"a title that does":     {[]string{"x:v1"}, layer{"text/plain", "../a", []byte("a")}, `"../a" leads out of the artifact`},
		"a link":                {[]string{"x:v1"}, layer{tgz, "", packed(t, true, entry{"a", "", tar.TypeSymlink})}, "a is no file and no directory"},
		"a file twice":          {[]string{"x:v1"}, layer{tgz, "", packed(t, true, file, file)}, "file exists"},
		"too many files":        {[]string{"x:v1"}, layer{tgz, "", packed(t, true, many...)}, "too many files"},
		"too many bytes":        {[]string{"x:v1"}, layer{tgz, "", packed(t, true, entry{"a", strings.Repeat("a", 101), tar.TypeReg})}, "too many bytes"},
		"no archive":            {[]string{"x:v1"}, layer{"text/plain", "", []byte("a")}, "neither an archive nor a file with a name"},
		"another tag":           {[]string{"x:v2", "x:v3"}, layer{tgz, "", packed(t, true, file)}, "aicr/x has the tags v2, v3, and not v1"},
		"two repositories":      {[]string{"x:v1", "y:v1"}, layer{tgz, "", packed(t, true, file)}, "the registry has 2 repositories, want one"},
		"nothing":               {nil, layer{tgz, "", packed(t, true, file)}, "the registry has 0 repositories, want one"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "bundle")
			err := UnpackPushed(t.Context(), served(t, tc.tags, tc.layer), "v1", dir, PushLimits{10, 100})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			if left, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(left) != 0 {
				t.Errorf("left: %v, %v", left, err)
			}
		})
	}
}

// The registry is in this program's memory: what pushes without end is refused at a limit.
func TestRegistry_Bounded(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	host, _, stop, err := serve(l, 5<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	push := func(text string) error {
		image, err := mutate.AppendLayers(empty.Image, static.NewLayer([]byte(strings.Repeat(text, 2<<20)), types.OCILayer))
		if err != nil {
			t.Fatal(err)
		}
		ref, err := name.NewTag(host+"/aicr/a:"+text, name.Insecure)
		if err != nil {
			t.Fatal(err)
		}
		return remote.Write(ref, image, remote.WithRetryBackoff(remote.Backoff{Steps: 1}))
	}
	if err := push("a"); err != nil {
		t.Fatalf("what fits: %v", err)
	}
	if first, second := push("b"), push("c"); first == nil && second == nil {
		t.Error("6 MiB were taken by a registry for 5")
	}
}
