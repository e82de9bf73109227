package kind

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/kwok"
)

func testPlatform() *Platform {
	return &Platform{NodeImage: "kindest/node:v1.36.1@sha256:00", RegistryImage: "docker.io/library/registry:3.1.2@sha256:11", Version: "v1.36.1"}
}

// The list is what the manifests name, and no more: what a lane does not need is not in it. The
// versions are those of the stack.
func TestImages(t *testing.T) {
	mod, err := modfile.Parse("go.mod", kwok.StackMod, nil)
	if err != nil {
		t.Fatal(err)
	}
	version := map[string]string{}
	for _, r := range mod.Require {
		version[r.Mod.Path] = r.Mod.Version
	}
	base := []string{"kindest/node:v1.36.1@sha256:00", "docker.io/library/registry:3.1.2@sha256:11", "registry.k8s.io/kwok/kwok:" + version["sigs.k8s.io/kwok"]}
	argocd := []string{"public.ecr.aws/docker/library/redis:8.2.3-alpine", "quay.io/argoproj/argocd:" + version["github.com/argoproj/argo-cd/v3"]}
	flux := []string{
		"ghcr.io/fluxcd/helm-controller:" + version["github.com/fluxcd/helm-controller"], "ghcr.io/fluxcd/kustomize-controller:" + version["github.com/fluxcd/kustomize-controller"],
		"ghcr.io/fluxcd/source-controller:" + version["github.com/fluxcd/source-controller"], "ghcr.io/fluxcd/source-watcher:" + version["github.com/fluxcd/source-watcher/v2"],
	}
	for _, tc := range []struct {
		kinds []infra.ControllerKind
		want  []string
	}{
		{nil, base},
		{[]infra.ControllerKind{infra.ArgoCDControllers}, slices.Concat(base, argocd)},
		{[]infra.ControllerKind{infra.ApplicationSetControllers}, slices.Concat(base, argocd[1:])},
		{[]infra.ControllerKind{infra.FluxControllers}, slices.Concat(base, flux)},
		{controllerKinds(), slices.Concat(base, argocd, flux)},
	} {
		got, err := testPlatform().Images(tc.kinds...)
		if err != nil || len(got) == 0 || got[0] != base[0] {
			t.Fatalf("%v: got %q, %v; the node image comes first", tc.kinds, got, err)
		}
		slices.Sort(got)
		tc.want = slices.Sorted(slices.Values(tc.want))
		if !slices.Equal(got, tc.want) {
			t.Errorf("%v: got\n%s\nwant\n%s", tc.kinds, strings.Join(got, "\n"), strings.Join(tc.want, "\n"))
		}
	}
	if _, err := testPlatform().Images("nomad"); reason.Of(err) != reason.Internal {
		t.Errorf("unknown controllers: got %v", err)
	}
}

// writeArchive writes a file as `docker save` does, with images of these names.
func writeArchive(t *testing.T, names ...string) string {
	t.Helper()
	manifests := []map[string]any{}
	for _, n := range names {
		manifests = append(manifests, map[string]any{"Config": "c", "RepoTags": []string{n}})
	}
	raw, err := json.Marshal(manifests)
	if err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for name, content := range map[string][]byte{"blob": []byte("x"), "manifest.json": raw} {
		if err := errors.Join(w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content))}), func() error { _, err := w.Write(content); return err }()); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "images.tar")
	if err := os.WriteFile(file, buf.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestArchiveImages(t *testing.T) {
	got, err := archiveImages(writeArchive(t, "registry:3.1.2", "quay.io/argoproj/argocd:v3", "docker.io/library/a:1"))
	if err != nil || strings.Join(got, " ") != "a:1 quay.io/argoproj/argocd:v3 registry:3.1.2" {
		t.Errorf("got %q, %v", got, err)
	}
	for name, content := range map[string]string{"empty": "", "text": "this is no archive\n" + strings.Repeat("x", 1024)} {
		file := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := archiveImages(file); err == nil || !strings.Contains(err.Error(), "matrix images save") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestEnsureImages(t *testing.T) {
	none := errors.New("No such image")
	want := []string{"docker.io/library/registry:3@sha256:11", "quay.io/argoproj/argocd:v3"}
	t.Run("all are there", func(t *testing.T) {
		f := &fakeEngine{}
		if err := f.engine().EnsureImages(t.Context(), nil, "", want); err != nil || f.called("pull")+f.called("load") != 0 {
			t.Errorf("got %v, %q", err, f.calls)
		}
	})
	t.Run("pulled by digest, and tagged", func(t *testing.T) {
		f := &fakeEngine{errors: map[string]error{"image inspect": none}}
		if err := f.engine().EnsureImages(t.Context(), nil, "", want); err != nil || f.called("pull --quiet "+want[0]) != 1 || f.called("tag "+want[0]+" docker.io/library/registry:3") != 1 || f.called("tag") != 1 {
			t.Errorf("got %v, %q", err, f.calls)
		}
	})
	t.Run("no network", func(t *testing.T) {
		f := &fakeEngine{errors: map[string]error{"image inspect": none, "pull": errors.New("dial tcp: no route to host")}}
		if err := f.engine().EnsureImages(t.Context(), nil, "", want); reason.Of(err) != reason.ImageMissing || !strings.Contains(err.Error(), "--kind-images") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("an archive without one", func(t *testing.T) {
		f := &fakeEngine{errors: map[string]error{"image inspect": none}}
		err := f.engine().EnsureImages(t.Context(), nil, writeArchive(t, "registry:3"), want)
		if reason.Of(err) != reason.ImageMissing || !strings.Contains(err.Error(), "does not have quay.io/argoproj/argocd:v3. It has: registry:3") || f.called("load")+f.called("pull") != 0 {
			t.Errorf("got %v, %q", err, f.calls)
		}
	})
	t.Run("an archive with all is loaded, and nothing pulled", func(t *testing.T) {
		f := &fakeEngine{errors: map[string]error{"image inspect": none}}
		err := f.engine().EnsureImages(t.Context(), nil, writeArchive(t, "registry:3", "quay.io/argoproj/argocd:v3"), want)
		if f.called("load") != 1 || f.called("pull") != 0 || reason.Of(err) != reason.ImageMissing || !strings.Contains(err.Error(), "another architecture") { // the fake never has one
			t.Errorf("got %v, %q", err, f.calls)
		}
	})
	t.Run("a full disk", func(t *testing.T) {
		f := &fakeEngine{errors: map[string]error{"image inspect": none, "load": errors.New("write /blob: no space left on device")}}
		err := f.engine().EnsureImages(t.Context(), nil, writeArchive(t, "registry:3", "quay.io/argoproj/argocd:v3"), want)
		if reason.Of(err) != reason.NoSpace {
			t.Errorf("got %v", err)
		}
	})
}

func TestImageNames(t *testing.T) {
	for image, want := range map[string][2]string{
		"docker.io/library/registry:3@sha256:11": {"docker.io/library/registry:3", "registry:3"},
		"kindest/node:v1":                        {"kindest/node:v1", "kindest/node:v1"},
		"docker.io/kindest/node:v1":              {"docker.io/kindest/node:v1", "kindest/node:v1"},
		"localhost:5000/a@sha256:11":             {"localhost:5000/a@sha256:11", "localhost:5000/a@sha256:11"},
		"localhost:5000/a:1":                     {"localhost:5000/a:1", "localhost:5000/a:1"},
	} {
		if untilDigest(image) != want[0] || familiar(image) != want[1] {
			t.Errorf("%s: got %s, %s", image, untilDigest(image), familiar(image))
		}
	}
}

// Karpenter runs beside clusters of processes only, which is said before there is anything.
func TestNeeds_Karpenter(t *testing.T) {
	err := testPlatform().Needs(t.Context(), infra.KarpenterProgram)
	if reason.Of(err) != reason.Usage || !strings.Contains(err.Error(), "has groups (spec.groups)") || !strings.Contains(err.Error(), "leave out --platform") {
		t.Errorf("got %v", err)
	}
}
