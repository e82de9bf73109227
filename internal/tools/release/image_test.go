package release

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/klauspost/compress/zstd"
)

// A registry of the test's own has the image of each platform afterwards, with the files of the
// release where the programs look for them; the same files make the same image.
func TestImage(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	key, err := StackKey()
	if err != nil {
		t.Fatal(err)
	}
	dir, _ := released(t)
	base := mutate.AppendManifests(empty.Index)
	for _, p := range platforms() {
		if p.OS != "linux" {
			continue
		}
		archive := archiveOf(t, "compiled for "+p.Arch, zstd.SpeedFastest)
		if err := os.WriteFile(filepath.Join(dir, StackArchive(key, p)), archive, 0o600); err != nil {
			t.Fatal(err)
		}
		config := &v1.ConfigFile{OS: p.OS, Architecture: p.Arch, Config: v1.Config{Env: []string{"SSL_CERT_FILE=/certs"}}}
		one, err := mutate.ConfigFile(empty.Image, config)
		if err != nil {
			t.Fatal(err)
		}
		base = mutate.AppendManifests(base, mutate.IndexAddendum{Add: one, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: p.OS, Architecture: p.Arch}}})
	}
	below, err := name.ParseReference(host + "/base:1")
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.WriteIndex(below, base); err != nil {
		t.Fatal(err)
	}
	image := Image{Version: packageVersion, Dir: dir, Base: below.String(), Ref: host + "/matrix:" + packageVersion}
	digest, err := image.Push(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if again, err := image.Push(t.Context()); err != nil || again != digest {
		t.Errorf("the second time: got %s, %v; want %s", again, err, digest)
	}
	ref, err := name.ParseReference(host + "/matrix@" + digest)
	if err != nil {
		t.Fatal(err)
	}
	for _, arch := range []string{"amd64", "arm64"} {
		made, err := remote.Image(ref, remote.WithPlatform(v1.Platform{OS: "linux", Architecture: arch}))
		if err != nil {
			t.Fatal(err)
		}
		config, err := made.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(config.Config.Env, " "); got != "SSL_CERT_FILE=/certs AICR_ACTION_CACHE=/var/cache/aicr-action" || config.Architecture != arch || config.Config.Entrypoint[0] != "/usr/local/bin/matrix" {
			t.Errorf("%s: got %+v", arch, config.Config)
		}
		files := filesOf(t, made)
		p := Platform{"linux", arch}
		for file, want := range map[string]string{
			"usr/local/bin/matrix": "the program " + Binary(packageVersion, p), "usr/local/bin/aicr": "the program " + aicrBinary(packageVersion, p),
			"var/cache/aicr-action/stack/bin/kwok": "compiled for " + arch,
		} {
			if files[file] != want {
				t.Errorf("%s: %s is %q, want %q; there are %q", arch, file, files[file], want, files)
			}
		}
	}
	if err := os.Remove(filepath.Join(dir, StackArchive(key, Platform{"linux", "arm64"}))); err != nil {
		t.Fatal(err)
	}
	if _, err := image.Push(t.Context()); err == nil || !strings.Contains(err.Error(), "linux/arm64") {
		t.Errorf("without a stack: got %v", err)
	}
}

func filesOf(t *testing.T, image v1.Image) map[string]string {
	t.Helper()
	r := mutate.Extract(image)
	defer func() { _ = r.Close() }()
	files := map[string]string{}
	for archive := tar.NewReader(r); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if _, err := io.Copy(&b, archive); err != nil {
			t.Fatal(err)
		}
		files[header.Name] = b.String()
	}
}
