package publish

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	ggcr "github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/registry"

	"github.com/nvidia/aicr-action/internal/bundle"
	chartarchive "github.com/nvidia/aicr-action/internal/charts/archive"
	"github.com/nvidia/aicr-action/internal/charts/catalog"
)

func newRegistry(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(ggcr.New(ggcr.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

// goldenBundle is the bundle of a deployer as the golden files of package bundle have it.
func goldenBundle(t *testing.T, deployer string) *bundle.Bundle {
	t.Helper()
	b := &bundle.Bundle{Deployer: deployer}
	dir := os.DirFS(filepath.Join("../testdata/golden", deployer))
	err := fs.WalkDir(dir, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := fs.ReadFile(dir, path)
		b.Files = append(b.Files, bundle.File{Path: path, Mode: 0o644, Content: raw})
		return err
	})
	if err != nil || len(b.Files) == 0 {
		t.Fatalf("the golden bundle of %s: %d files, %v", deployer, len(b.Files), err)
	}
	return b
}

func content(b *bundle.Bundle, path string) string {
	for _, f := range b.Files {
		if f.Path == path {
			return string(f.Content)
		}
	}
	return ""
}

func pull(t *testing.T, ref string) (v1.Image, *v1.Manifest) {
	t.Helper()
	parsed, err := name.ParseReference(ref, name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	img, err := remote.Image(parsed)
	if err != nil {
		t.Fatal(err)
	}
	m, err := img.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	return img, m
}

func TestPublishBundle(t *testing.T) {
	host := newRegistry(t)
	b := goldenBundle(t, bundle.ArgoCDOCI)
	ref := host + "/aicr/demo:1a2b3c4-argocd-oci"
	pushed, err := PublishBundle(context.Background(), b, "oci://"+ref, Own())
	if err != nil {
		t.Fatal(err)
	}
	digest := pushed.Digest
	if pushed.URL != "oci://"+host+"/aicr/demo" || pushed.Tag != "1a2b3c4-argocd-oci" {
		t.Errorf("published at %s:%s", pushed.URL, pushed.Tag)
	}
	img, m := pull(t, ref)
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if d, _ := img.Digest(); d.String() != digest {
		t.Errorf("digest %s, registry has %s", digest, d)
	}
	if len(m.Layers) != 1 || m.Layers[0].MediaType != "application/vnd.oci.image.layer.v1.tar+gzip" {
		t.Errorf("layers %+v", m.Layers)
	}
	if m.MediaType != "application/vnd.oci.image.manifest.v1+json" || m.Config.MediaType != "application/vnd.oci.image.config.v1+json" {
		t.Errorf("media types %s and %s", m.MediaType, m.Config.MediaType)
	}
	for key, want := range map[string]string{
		"org.opencontainers.image.created":  "1970-01-01T00:00:00Z",
		"org.opencontainers.image.revision": "1a2b3c4-argocd-oci",
		"org.opencontainers.image.source":   "oci://" + host + "/aicr/demo",
	} {
		if m.Annotations[key] != want {
			t.Errorf("annotation %s is %q, want %q", key, m.Annotations[key], want)
		}
	}
	layers, err := img.Layers()
	if err != nil {
		t.Fatal(err)
	}
	compressed, err := layers[0].Compressed()
	if err != nil {
		t.Fatal(err)
	}
	zipped, err := io.ReadAll(compressed)
	if err != nil {
		t.Fatal(err)
	}
	diffID, err := uncompressedDigest(zipped)
	if err != nil || len(config.RootFS.DiffIDs) != 1 || config.RootFS.DiffIDs[0] != diffID {
		t.Errorf("the image's config says %v, the layer is %s (%v)", config.RootFS.DiffIDs, diffID, err)
	}
	got := untar(t, bytes.NewReader(zipped))
	for _, f := range b.Files {
		if got[f.Path] != string(f.Content) {
			t.Errorf("%s did not come back", f.Path)
		}
		delete(got, f.Path)
	}
	for path := range got {
		t.Errorf("%s came from nowhere", path)
	}
	again, err := PublishBundle(context.Background(), goldenBundle(t, bundle.ArgoCDOCI), ref, Own())
	if err != nil || again.Digest != digest {
		t.Errorf("the second time: %s, %v", again.Digest, err)
	}
}

// Flux's own library makes the artifact, with every file and the layer that flux-root.yaml selects.
// Its bytes do not depend on the time, the directory or the umask.
func TestPublishFluxArtifact(t *testing.T) {
	host := newRegistry(t)
	ref := host + "/aicr/demo:1a2b3c4-flux-oci"
	b := goldenBundle(t, bundle.FluxOCI)
	pushed, err := PublishBundle(context.Background(), b, ref, Own())
	if err != nil {
		t.Fatal(err)
	}
	img, m := pull(t, ref)
	if d, _ := img.Digest(); d.String() != pushed.Digest || pushed.URL != "oci://"+host+"/aicr/demo" || pushed.Tag != "1a2b3c4-flux-oci" {
		t.Errorf("published %+v, registry has %s", pushed, d)
	}
	if len(m.Layers) != 1 || !strings.Contains(content(b, "flux-root.yaml"), "mediaType: "+string(m.Layers[0].MediaType)+"\n") {
		t.Fatalf("the layers %+v are not what flux-root.yaml selects", m.Layers)
	}
	if m.Config.MediaType != "application/vnd.cncf.flux.config.v1+json" || m.Annotations["org.opencontainers.image.created"] != "1970-01-01T00:00:00Z" ||
		m.Annotations["org.opencontainers.image.source"] != pushed.URL || m.Annotations["org.opencontainers.image.revision"] != pushed.Tag {
		t.Errorf("config %s, annotations %v", m.Config.MediaType, m.Annotations)
	}
	layers, err := img.Layers()
	if err != nil {
		t.Fatal(err)
	}
	compressed, err := layers[0].Compressed()
	if err != nil {
		t.Fatal(err)
	}
	got := untar(t, compressed)
	for _, f := range b.Files {
		if got[f.Path] != string(f.Content) {
			t.Errorf("%s did not come back", f.Path)
		}
		delete(got, f.Path)
	}
	for path := range got {
		t.Errorf("%s came from nowhere", path)
	}
	defer syscall.Umask(syscall.Umask(0o077))
	t.Setenv("TMPDIR", t.TempDir())
	again, err := PublishBundle(context.Background(), goldenBundle(t, bundle.FluxOCI), ref, Own())
	if err != nil || again != pushed {
		t.Errorf("the second time: %+v, %v; want %+v", again, err, pushed)
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func untar(t *testing.T, r io.Reader) map[string]string {
	t.Helper()
	zr, err := gzip.NewReader(r)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	tr := tar.NewReader(zr)
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.ModTime.Unix() != 0 || h.Uid != 0 || h.Uname != "" {
			t.Errorf("%s carries a time or an owner: %+v", h.Name, h)
		}
		if h.Typeflag == tar.TypeReg {
			data, err := io.ReadAll(tr)
			if err != nil {
				t.Fatal(err)
			}
			files[h.Name] = string(data)
		}
	}
}

func TestPublishErrors(t *testing.T) {
	b := goldenBundle(t, bundle.ArgoCDOCI)
	ctx := context.Background()
	if _, err := PublishBundle(ctx, b, "oci://127.0.0.1:5500/aicr/demo", Own()); err == nil || !strings.Contains(err.Error(), "no tag") {
		t.Errorf("no tag: %v", err)
	}
	if _, err := PublishBundle(ctx, b, "127.0.0.1:1/aicr/demo:x", Own()); err == nil || !strings.Contains(err.Error(), "127.0.0.1:1/aicr/demo:x") {
		t.Errorf("no registry: %v", err)
	}
	host := newRegistry(t)
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := PublishBundle(cancelled, b, host+"/aicr/demo:b", Own()); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	flux := goldenBundle(t, bundle.FluxOCI)
	if _, err := PublishBundle(cancelled, flux, host+"/aicr/demo:b", Own()); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled, with Flux's library: %v", err)
	}
	if _, err := PublishBundle(ctx, flux, "127.0.0.1:1/aicr/demo:x", Own()); err == nil || !strings.Contains(err.Error(), "127.0.0.1:1/aicr/demo:x") {
		t.Errorf("no registry, with Flux's library: %v", err)
	}
	if _, err := PushChart(ctx, &chart.Chart{}, host, Own()); err == nil {
		t.Error("a chart without metadata was pushed")
	}
}

func helmClient(t *testing.T) *registry.Client {
	t.Helper()
	c, err := registry.NewClient(registry.ClientOptPlainHTTP(), registry.ClientOptWriter(io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A cell's registry takes pushes of everybody: what the user has for logins is not read, and no program
// of it is started, which may fail, ask or wait.
func TestPush_OwnRegistry(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(`{"credsStore": "of-the-user"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	helper := filepath.Join(dir, "docker-credential-of-the-user")
	if err := os.WriteFile(helper, []byte("#!/bin/sh\ntouch "+filepath.Join(dir, "asked")+"\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("DOCKER_CONFIG", dir)
	t.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	host := newRegistry(t)
	push := func(to Target) (err error) {
		for _, d := range []string{bundle.ArgoCDOCI, bundle.FluxOCI} {
			_, bad := PublishBundle(t.Context(), goldenBundle(t, d), host+"/aicr/"+d+":x", to)
			err = errors.Join(err, bad)
		}
		return err
	}
	if err := push(Own()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "asked")); err == nil {
		t.Error("the user's program for logins was started")
	}
	if _ = push(Target{PlainHTTP: true}); t.Failed() {
		return
	}
	if _, err := os.Stat(filepath.Join(dir, "asked")); err != nil {
		t.Errorf("for another registry it is: %v", err)
	}
}

func TestPushChart(t *testing.T) {
	host := newRegistry(t)
	web, _, err := catalog.FromFS(os.DirFS("../testdata/charts"), "dir:../testdata/charts").Load(context.Background(), catalog.Ref{Name: "web", Version: "v1.4.0"})
	if err != nil {
		t.Fatal(err)
	}
	pushed, err := PushChart(context.Background(), web, "oci://"+host+"/charts/", Own())
	if err != nil {
		t.Fatal(err)
	}
	ref := host + "/charts/web:v1.4.0"
	_, m := pull(t, ref)
	if len(m.Layers) != 1 || m.Layers[0].MediaType != chartLayerMediaType || m.Config.MediaType != chartConfigMediaType {
		t.Errorf("manifest %+v", m)
	}
	got, err := helmClient(t).Pull(ref)
	if err != nil {
		t.Fatal(err)
	}
	if got.Manifest.Digest != pushed.Digest || got.Chart.Meta.Name != "web" || got.Chart.Meta.Version != "v1.4.0" {
		t.Errorf("Helm pulled %+v", got.Chart.Meta)
	}
	back, err := loader.LoadArchive(bytes.NewReader(got.Chart.Data))
	if err != nil {
		t.Fatal(err)
	}
	if len(back.CRDObjects()) != 1 || len(back.Templates) != len(web.Templates) || len(back.Raw) != len(web.Raw) {
		t.Errorf("the chart came back with %d CRDs, %d templates, %d files", len(back.CRDObjects()), len(back.Templates), len(back.Raw))
	}
	again, err := PushChart(context.Background(), chartarchive.Clone(web), host+"/charts", Own())
	if err != nil || again != pushed {
		t.Errorf("the second time: %+v, %v; want %+v", again, err, pushed)
	}
	if !pushed.Is("oci://"+host+"/charts/web", "v1.4.0") || pushed.Is("oci://"+host+"/charts/web", "v1.4.1") || pushed.Is("oci://"+host+"/aicr/web", "v1.4.0") {
		t.Errorf("%+v is not what it says", pushed)
	}
}

// Helm's own client must find what this package pushes by a tag with a +, and a chart that was
// never a file must be pushed too.
func TestPushChart_InMemory(t *testing.T) {
	host := newRegistry(t)
	ch := &chart.Chart{
		Metadata:  &chart.Metadata{APIVersion: "v2", Name: "made", Version: "1.0.0+build.5"},
		Templates: []*chart.File{{Name: "templates/a.yaml", Data: []byte("a: b")}},
		Files:     []*chart.File{{Name: "crds/c.yaml", Data: []byte("c: d")}},
	}
	pushed, err := PushChart(context.Background(), ch, host+"/charts", Own())
	if err != nil {
		t.Fatal(err)
	}
	if again, err := PushChart(context.Background(), ch, host+"/charts", Own()); err != nil || again != pushed || !again.Is("oci://"+host+"/charts/made", "1.0.0+build.5") {
		t.Errorf("the second time: %+v, %v", again, err)
	}
	got, err := helmClient(t).Pull(host + "/charts/made:1.0.0+build.5")
	if err != nil {
		t.Fatal(err)
	}
	back, err := loader.LoadArchive(bytes.NewReader(got.Chart.Data))
	if err != nil || len(back.CRDObjects()) != 1 || len(back.Templates) != 1 {
		t.Errorf("came back as %+v, %v", back, err)
	}
}

func TestPushWrapper(t *testing.T) {
	host := newRegistry(t)
	b := goldenBundle(t, bundle.ArgoCDHelmOCI)
	ch, err := b.Chart("")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := PushChart(context.Background(), ch, host+"/aicr", Own()); err != nil {
		t.Fatal(err)
	}
	tags, err := helmClient(t).Tags(host + "/aicr/demo") // only semantic versions
	if err != nil || len(tags) != 1 || tags[0] != ch.Metadata.Version {
		t.Errorf("Helm sees the tags %q, %v", tags, err)
	}
	got, err := helmClient(t).Pull(host + "/aicr/demo:" + ch.Metadata.Version)
	if err != nil {
		t.Fatal(err)
	}
	files := untar(t, bytes.NewReader(got.Chart.Data))
	for _, f := range b.Files {
		if files["demo/"+f.Path] != string(f.Content) {
			t.Errorf("%s did not come back as it was", f.Path)
		}
	}
}
