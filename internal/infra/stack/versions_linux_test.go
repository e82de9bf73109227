package stack

import (
	"debug/elf"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/compression"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/kwok"
)

// Another version of Argo CD comes out of its image, with the programs beside it and the CRDs of its module,
// whatever is compiled; nothing else changes.
func TestWithArgoCD(t *testing.T) {
	log := fakeGo(t, goodBuild)
	m := newMakers(t)
	m.pushAll(t)
	program := elfProgram(t, ownMachine(), "")
	m.push(t, "quay.io/argoproj/argocd:v3.5.2", func(machine elf.Machine) []v1.Layer {
		own := elfProgram(t, machine, "") + "another one"
		return []v1.Layer{packedLayer(t, compression.GZip, executable("usr/local/bin/argocd", own), executable("usr/local/bin/helm", own), executable("usr/local/bin/kustomize", own))}
	})
	s := stackOf(t, m.origin(t, sourceAuto))
	if err := s.Build(t.Context(), &recorded{}, GroupHelm, GroupArgoCD); err != nil {
		t.Fatal(err)
	}
	other, err := s.WithArgoCD("3.5.2")
	if err != nil {
		t.Fatal(err)
	}
	if got := len(other.Missing(GroupHelm, GroupArgoCD)); got != 3 {
		t.Errorf("%d programs are missing, want 3: those of another version are there", got)
	}
	if err := other.Build(t.Context(), &recorded{}, GroupControlPlane, GroupHelm, GroupArgoCD); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"argocd", "helm", "kustomize"} {
		if contentOf(t, other.Bin(name)) != program+"another one" || contentOf(t, s.Bin(name)) != program {
			t.Errorf("%s is not the one of its version", name)
		}
	}
	if s.Identity() == other.Identity() || !strings.Contains(other.Identity(), "argocd=quay.io/argoproj/argocd:v3.5.2") {
		t.Errorf("got %s", other.Identity())
	}
	if _, err := os.Stat(other.CRDs(GroupArgoCD)); err != nil || other.CRDs(GroupArgoCD) == s.CRDs(GroupArgoCD) {
		t.Errorf("CRDs in %s: %v", other.CRDs(GroupArgoCD), err)
	}
	if foreign := other.Foreign(GroupArgoCD); len(foreign) != 2 || foreign[1].Name != "argocd" || foreign[1].Pinned {
		t.Errorf("got %+v, want argocd, which nothing pins", foreign)
	}
	absent, err := s.WithArgoCD("v3.5.3")
	if err != nil {
		t.Fatal(err)
	}
	if err := absent.Build(t.Context(), &recorded{}, GroupArgoCD); err == nil || !strings.Contains(err.Error(), "there is no version v3.5.3; the nearest is v3.5.2") {
		t.Errorf("a version that there is not: %v", err)
	}
	silent := m.origin(t, sourceAuto)
	silent.Mirror = "127.0.0.1:1"
	if other, err = stackOf(t, silent).WithArgoCD("v3.5.2"); err != nil {
		t.Fatal(err)
	}
	if err := other.Build(t.Context(), &recorded{}, GroupArgoCD); err == nil || !strings.Contains(err.Error(), "comes out of its image only, which cannot be had") {
		t.Errorf("without a registry: %v", err)
	}
	if raw, err := os.ReadFile(log); err == nil {
		t.Errorf("compiled %s", raw)
	}
	for version, want := range map[string]string{
		"2.14.1": "it has from v3.1.0", "v3.0.9": "it has from v3.1.0", "4.0.0": "versions before v4", "latest": "want a form such as", "3.5": "want a form such as",
	} {
		if _, err := s.WithArgoCD(version); reason.Of(err) != reason.Usage || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", version, err, want)
		}
	}
	if _, err := stackOf(t, m.origin(t, sourceModules)).WithArgoCD("3.5.2"); reason.Of(err) != reason.Usage || !strings.Contains(err.Error(), "--stack excludes them") {
		t.Errorf("with modules: %v", err)
	}
	if same, err := s.WithArgoCD(s.versions["github.com/argoproj/argo-cd/v3"]); err != nil || same.Bin("argocd") != s.Bin("argocd") {
		t.Errorf("the stack's own: %v", err)
	}
}

// Another release of a minor version comes out of images; etcd and KWOK stay.
func TestWithKubernetes_Release(t *testing.T) {
	noGo(t)
	m := newMakers(t)
	m.pushAll(t)
	for _, name := range []string{"kube-apiserver", "kube-scheduler", "kube-controller-manager"} {
		for _, version := range []string{"v1.35.1", "v1.36.0"} {
			m.push(t, "registry.k8s.io/"+name+":"+version, func(machine elf.Machine) []v1.Layer {
				return []v1.Layer{packedLayer(t, compression.GZip, executable("usr/local/bin/"+name, elfProgram(t, machine, "")))}
			})
		}
	}
	s := stackOf(t, m.origin(t, sourceAuto))
	for _, version := range []string{"1.35.1", "v1.36.0"} {
		other, err := s.WithKubernetes(hostPaths(t.TempDir()), kwok.Kubernetes, version)
		if err != nil {
			t.Fatal(err)
		}
		if err := other.Build(t.Context(), &recorded{}, GroupControlPlane); err != nil {
			t.Fatal(err)
		}
		if want := "v" + strings.TrimPrefix(version, "v"); other.KubeVersion() != want || len(other.Missing(GroupControlPlane)) > 0 || !strings.Contains(other.Identity(), "kube-scheduler:"+want) {
			t.Errorf("got %s, %v is missing, %s", other.KubeVersion(), other.Missing(GroupControlPlane), other.Identity())
		}
		if other.Bin("etcd") != s.Bin("etcd") {
			t.Error("another etcd")
		}
	}
	if _, err := s.WithKubernetes(hostPaths(t.TempDir()), kwok.Kubernetes, "1.33.4"); reason.Of(err) != reason.Usage || !strings.Contains(err.Error(), "choose one of 1.34, 1.35, 1.36, 1.37") {
		t.Errorf("outside of the range: %v", err)
	}
}

// Another version of Flux is the controllers that its own module names, out of their images, with the CRDs of their modules.
func TestWithFlux(t *testing.T) {
	log := fakeGo(t, goodBuild)
	m := newMakers(t)
	m.pushAll(t)
	s := stackOf(t, m.origin(t, sourceAuto))
	bases := filepath.Join(filepath.Dir(log), "module", "manifests", "bases")
	write := func(name, text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Join(bases, name), 0o755), os.WriteFile(filepath.Join(bases, name, "kustomization.yaml"), []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	same := "helm-controller" // which did not change
	for _, p := range GroupFlux.Parts() {
		version := "v1.4.7"
		if p.Name == same {
			version = s.versions[p.Module]
		} else {
			m.push(t, "ghcr.io/fluxcd/"+p.Name+":"+version, func(machine elf.Machine) []v1.Layer {
				return []v1.Layer{packedLayer(t, compression.GZip, executable("usr/local/bin/"+p.Name, elfProgram(t, machine, "")+"another one"))}
			})
		}
		write(p.Name, "resources:\n- https://github.com/fluxcd/"+p.Name+"/releases/download/"+version+"/"+p.Name+".crds.yaml\n")
	}
	other, err := s.WithFlux(t.Context(), "2.8.2")
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Build(t.Context(), &recorded{}, GroupFlux); err != nil {
		t.Fatal(err)
	}
	for _, p := range GroupFlux.Parts() {
		if got := strings.HasSuffix(contentOf(t, other.Bin(p.Name)), "another one"); got != (p.Name != same) {
			t.Errorf("%s: another version: %t", p.Name, got)
		}
	}
	if _, err := os.Stat(other.CRDs(GroupFlux)); err != nil || other.CRDs(GroupFlux) == s.CRDs(GroupFlux) || s.Identity() == other.Identity() {
		t.Errorf("CRDs in %s: %v; %s", other.CRDs(GroupFlux), err, other.Identity())
	}
	for version, want := range map[string]string{"v2.6.4": "it has from v2.7.0", "1.2.3": "it has from v2.7.0", "3.0.0": "versions before v3", "latest": "want a form such as", "2.8": "want a form such as"} {
		if _, err := s.WithFlux(t.Context(), version); reason.Of(err) != reason.Usage || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", version, err, want)
		}
	}
	if _, err := stackOf(t, m.origin(t, sourceModules)).WithFlux(t.Context(), "2.8.2"); reason.Of(err) != reason.Usage || !strings.Contains(err.Error(), "--stack excludes them") {
		t.Errorf("with modules: %v", err)
	}
	write("source-watcher", "resources: []\n")
	if _, err := s.WithFlux(t.Context(), "2.8.2"); reason.Of(err) != reason.Usage || !strings.Contains(err.Error(), "its manifests name no version of source-watcher") {
		t.Errorf("without a version: %v", err)
	}
	for version, strict := range map[string]bool{"v2.8.2": false, "2.9.0": true, "v2.10.1": true} {
		if IsStrictFlux(version) != strict {
			t.Errorf("%s: strict: %t", version, !strict)
		}
	}
}
