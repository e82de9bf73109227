//go:build nightly

package main

import (
	"archive/tar"
	"bytes"
	"io"
	"log"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/testkit/testskip"
	"github.com/nvidia/aicr-action/internal/util/sandbox"
)

// pushProgram pushes an image in which this test binary has a path.
func pushProgram(t *testing.T, to, path string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	binary, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	var raw bytes.Buffer
	w := tar.NewWriter(&raw)
	if err := w.WriteHeader(&tar.Header{Name: path, Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(binary))}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(binary); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(raw.Bytes())), nil })
	if err != nil {
		t.Fatal(err)
	}
	img, err := mutate.AppendLayers(empty.Image, l)
	if err != nil {
		t.Fatal(err)
	}
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", runtime.GOARCH
	if img, err = mutate.ConfigFile(img, config); err != nil {
		t.Fatal(err)
	}
	ref, err := name.ParseReference(to)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(ref, img); err != nil {
		t.Fatal(err)
	}
}

// TestNightlyProgramImage: an image without a file runs by itself, as the root of its pods'
// processes. One whose program is not where the recipe says is red (F157).
func TestNightlyProgramImage(t *testing.T) {
	t.Parallel()
	if err := sandbox.CanRoot(); err != nil {
		testskip.Missing(t, "%v", err)
	}
	paths, _ := needStack(t)
	p := newProgram(t, buildProgram(t), paths)
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	host := strings.TrimPrefix(server.URL, "http://")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for path, code := range map[string]int{"app": 0, "elsewhere": 1} {
		image := host + "/" + path + ":1"
		pushProgram(t, image, path)
		dir := ownRecipe(t, port)
		file := filepath.Join(dir, "components/app/manifests/app.yaml")
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, bytes.ReplaceAll(text, []byte("registry.example.com/own:1"), []byte(image)), 0o644); err != nil {
			t.Fatal(err)
		}
		ran := p.run(t, 10*time.Minute, []string{"AICR_ACTION_RECIPES_DIR="}, "run", "own", "--recipes-dir", dir, "--deployer", "helm", "--program", image, "-o", "json")
		ran.want(t, code)
		want := "what it has itself (sha256:"
		if code != 0 {
			want = "the image has no program /app"
		}
		testkit.WantText(t, path, ran.stdout.String(), want)
	}
	ran := p.run(t, time.Minute, []string{"AICR_ACTION_RECIPES_DIR="}, "run", "own", "--recipes-dir", ownRecipe(t, port), "--deployer", "helm", "--program", host+"/none:1")
	ran.want(t, 26)
	testkit.WantText(t, "an image that the registry does not have", ran.stderr.String(), "pull the image "+host+"/none:1")
}
