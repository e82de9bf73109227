package stack

import (
	"debug/elf"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/compression"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/kwok"
)

func hostPaths(root string) host.Paths { return host.Paths{Root: root} }
func hostPathsOf(s *Stack) host.Paths  { return hostPaths(filepath.Dir(filepath.Dir(s.Dir))) }
func lockOf(t *testing.T, l *ImagesLock) string {
	t.Helper()
	raw, err := l.Text()
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// The lock that ships is as it would be written, and has an image of every program of the stack and of
// helmfile in the versions of the parts lists.
func TestImagesLock(t *testing.T) {
	l, err := ParseImagesLock(kwok.ImagesLock, lockName)
	if err != nil {
		t.Fatal(err)
	}
	if lockOf(t, l) != string(kwok.ImagesLock) {
		t.Error("kwok/stack/images.lock is not as `matrix stack lock` writes it")
	}
	paths := hostPaths(t.TempDir())
	s := newStack(t, paths)
	stacks := []*Stack{s}
	minors, err := s.Minors(kwok.Kubernetes)
	if err != nil {
		t.Fatal(err)
	}
	for _, minor := range minors {
		other, err := s.WithKubernetes(paths, kwok.Kubernetes, minor)
		if err != nil {
			t.Fatal(err)
		}
		if other.kubernetes != nil {
			stacks = append(stacks, other.kubernetes)
		}
	}
	helmfile, err := NewHelmfile(paths, kwok.HelmfileMod, kwok.HelmfileSum)
	if err != nil {
		t.Fatal(err)
	}
	schedulers, err := NewSchedulers(paths, kwok.SchedulersMod, kwok.SchedulersSum)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range append(stacks, helmfile, schedulers) {
		for _, g := range s.groups {
			for _, p := range g.Parts() {
				if found, why := l.find(p, s.versions, "linux/amd64"); found == nil {
					t.Errorf("%s: %s; change the version in kwok/stack/images.lock, or run `matrix stack lock`", p.Name, why)
				}
			}
		}
	}
}

func TestImagesLock_ByHand(t *testing.T) {
	const good = "programs:\n- image: registry.k8s.io/etcd:3.6.8-0\n  path: /usr/local/bin/etcd\n  program: etcd\n  version: v3.6.8\n"
	digest := "sha256:" + strings.Repeat("0", 64)
	if _, err := ParseImagesLock([]byte(good+"  digests: {linux/amd64: "+digest+"}\n"), "x"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, new, want string }{
		{"programs", "program", "unknown field"},
		{"  path", "  pfad", "unknown field"},
		{"path: /usr/local/bin/etcd", "path: usr/local/bin/etcd", "want the whole path"},
		{"path: /usr/local/bin/etcd", "path: /usr/../bin/etcd", "want the whole path"},
		{"program: etcd", "program: ../etcd", "no name of a program"},
		{"program: etcd", "program: .etcd", "no name of a program"},
		{"version: v3.6.8", "version: v3.6.9", "is not one of the version v3.6.9"},
		{"version: v3.6.8", "version: latest", "want a form such as v1.2.3"},
		{"3.6.8-0", "3.6.80", "is not one of the version v3.6.8"},
		{"registry.k8s.io/etcd:3.6.8-0", "registry.k8s.io/etcd", "the image"},
		{"registry.k8s.io/etcd:3.6.8-0", "registry.k8s.io/etcd@" + digest, "the image"},
		{"version: v3.6.8\n", "version: v3.6.8\n  digests: {linux/amd64: sha256:12}\n", "want sha256: with 64"},
		{"version: v3.6.8\n", "version: v3.6.8\n  digests: {amd64: " + digest + "}\n", "of one of linux/amd64, linux/arm64"},
		{"version: v3.6.8\n", "version: v3.6.8\n- {program: x, in: argocd, path: /x}\n", "argocd\", which is not in the list"},
		{"version: v3.6.8\n", "version: v3.6.8\n- {program: x, in: etcd, path: /x, version: v1.0.0}\n", "of its own"},
		{"programs:\n", "programs:\n" + strings.TrimPrefix(good, "programs:\n"), "twice"},
	} {
		_, err := ParseImagesLock([]byte(strings.Replace(good, c.old, c.new, 1)), "my.lock")
		if reason.Of(err) != reason.SettingsInvalid || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "read my.lock") {
			t.Errorf("%s: got %v, want %q", c.new, err, c.want)
		}
	}
}

// The lock is renewed for the versions of the parts lists, with the digests of both platforms, and only
// if every program is found and runs by itself.
func TestRelock(t *testing.T) {
	m := newMakers(t)
	m.pushAll(t)
	pinned := lockOf(t, &ImagesLock{slices.DeleteFunc(slices.Clone(m.lock.Programs), func(p LockedProgram) bool { return p.In == "" && p.Digests == nil })})
	old, err := ParseImagesLock([]byte(strings.NewReplacer("3.6.8", "3.5.1").Replace(string(kwok.ImagesLock))), "old")
	if err != nil {
		t.Fatal(err)
	}
	o := m.origin(t, sourceAuto)
	o.Lock = old
	s := newStack(t, hostPaths(t.TempDir()))
	renewed, err := o.Relock(t.Context(), &recorded{}, s)
	if err != nil {
		t.Fatal(err)
	}
	if got := lockOf(t, renewed); got != pinned {
		t.Errorf("got\n%s\nwant\n%s", got, pinned)
	}
	m.push(t, "registry.k8s.io/kwok/kwok:v0.8.0", func(machine elf.Machine) []v1.Layer {
		return []v1.Layer{packedLayer(t, compression.GZip, executable("usr/bin/kwok", elfProgram(t, machine, "")))}
	})
	m.answering(func(w http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/etcd/manifests/3.6.8-0") {
			w.WriteHeader(http.StatusNotFound)
			return true
		}
		if strings.HasSuffix(r.URL.Path, "/etcd/tags/list") {
			_, _ = w.Write([]byte(`{"tags": ["3.5.0-0", "3.6.8-1"]}`))
			return true
		}
		return false
	})
	_, err = o.Relock(t.Context(), &recorded{}, s)
	for _, want := range []string{"there is no version 3.6.8-0; the nearest is 3.6.8-1", "registry.k8s.io/kwok/kwok:v0.8.0 for linux/arm64", "has no /usr/local/bin/kwok; it has /usr/bin/kwok"} {
		if reason.Of(err) != reason.StackBuildFailed || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
