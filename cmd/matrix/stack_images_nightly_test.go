//go:build nightly

package main

import (
	"archive/tar"
	"compress/gzip"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
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
	"github.com/google/go-containerregistry/pkg/v1/stream"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/kwok"
)

// layerOfPrograms has programs of this machine at their paths in an image.
func layerOfPrograms(t *testing.T, s *stack.Stack, paths map[string]string) v1.Layer {
	t.Helper()
	r, w := io.Pipe()
	go func() {
		archive := tar.NewWriter(w)
		for program, at := range paths {
			f, err := os.Open(s.Bin(program))
			if err != nil {
				_ = w.CloseWithError(err)
				return
			}
			info, err := f.Stat()
			if err == nil {
				err = archive.WriteHeader(&tar.Header{Name: strings.TrimPrefix(at, "/"), Typeflag: tar.TypeReg, Mode: 0o755, Size: info.Size()})
			}
			if err == nil {
				_, err = io.Copy(archive, f)
			}
			_ = f.Close()
			if err != nil {
				_ = w.CloseWithError(err)
				return
			}
		}
		_ = w.CloseWithError(archive.Close())
	}()
	return stream.NewLayer(r, stream.WithCompressionLevel(gzip.BestSpeed))
}

// pushStack fills a registry with the compiled programs, in the images and at the paths of images.lock,
// and returns a lock with their digests.
func pushStack(t *testing.T, host string, s *stack.Stack) []byte {
	t.Helper()
	lock, err := stack.ParseImagesLock(kwok.ImagesLock, "images.lock")
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]string{}
	for _, v := range s.Versions() {
		have[v.Name] = v.Version
	}
	for i := range lock.Programs {
		p := &lock.Programs[i]
		if p.In != "" || have[p.Program] != p.Version {
			continue
		}
		paths := map[string]string{p.Program: p.Path}
		for _, other := range lock.Programs {
			if other.In == p.Program {
				paths[other.Program] = other.Path
			}
		}
		img, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{OS: "linux", Architecture: runtime.GOARCH})
		if err != nil {
			t.Fatal(err)
		}
		if img, err = mutate.AppendLayers(img, layerOfPrograms(t, s, paths)); err != nil {
			t.Fatal(err)
		}
		ref, err := name.ParseReference(host + "/" + p.Image)
		if err != nil {
			t.Fatal(err)
		}
		if err := remote.Write(ref, img); err != nil {
			t.Fatal(err)
		}
		digest, err := img.Digest()
		if err != nil {
			t.Fatal(err)
		}
		p.Digests = map[string]string{"linux/" + runtime.GOARCH: digest.String()}
	}
	text, err := lock.Text()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A cache that is empty, and a machine without Go: the programs come out of images, and lanes pass.
func TestNightlyStackImages(t *testing.T) {
	paths, s := needStack(t)
	progress := cli.NewProgress(os.Stderr, os.Getenv)
	err := s.Build(t.Context(), progress, stack.GroupHelm4) // which Argo CD's image has too
	progress.Close()
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	mirror := strings.TrimPrefix(server.URL, "http://")
	text := pushStack(t, mirror, s)
	file := filepath.Join(t.TempDir(), "images.lock")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	bin, git := buildProgram(t), t.TempDir()
	for _, needed := range []string{"git", "nice"} { // and not go
		path, err := exec.LookPath(needed)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(git, needed)); err != nil {
			t.Fatal(err)
		}
	}
	p := newProgram(t, bin, host.Paths{Root: t.TempDir()})
	env := []string{"AICR_ACTION_STACK_MIRROR=" + mirror, "AICR_ACTION_STACK_LOCK=" + file, "PATH=" + git}
	results := filepath.Join(t.TempDir(), "out")
	started := time.Now()
	first := p.run(t, 5*time.Minute, env, "run", "eks-training", "--deployer", "helm", "--report", results)
	first.want(t, 0, "5 programs from images", "1 passed")
	t.Logf("the first green helm cell after %s", time.Since(started).Round(time.Second))
	report, err := os.ReadFile(filepath.Join(results, "kwok-results.json"))
	for _, differs := range []string{"kube-controller-manager", "kwok/kwok"} {
		if want := "program " + path.Base(differs) + ": from the image registry.k8s.io/" + differs + ":"; err != nil || !strings.Contains(string(report), want) {
			t.Errorf("the results do not name the program that differs, %s: %v", want, err)
		}
	}
	version := p.run(t, time.Minute, env, "version")
	version.want(t, 0, "built, from registry.k8s.io/etcd:3.6.8-0@sha256:")
	both := newProgram(t, bin, paths) // which has the compiled programs
	both.run(t, 20*time.Minute, env, "parity", "eks-training", "--stack", "images,modules", "--parallel", "2").want(t, 0, "IMAGES", "MODULES")
}
