package stack

import (
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/compression"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/nvidia/aicr-action/internal/result/reason"
)

// fakeCosign is a double of cosign, as there is no Sigstore here: it notes how it was called, and refuses what has a
// text in its arguments.
func fakeCosign(t *testing.T, refuses string) (calls func() []string) {
	t.Helper()
	dir := t.TempDir()
	log := filepath.Join(dir, "calls")
	script := fmt.Sprintf("#!/bin/sh\necho \"$*\" >>%s\ncase \"$*\" in *%s*) echo 'Error: no signatures found' >&2; exit 10;; esac\n", log, refuses)
	if err := os.WriteFile(filepath.Join(dir, cosignProgram), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return func() []string {
		raw, _ := os.ReadFile(log)
		return strings.Split(strings.TrimSpace(string(raw)), "\n")
	}
}

// Each image is verified before it is unpacked, as the index that its tag names, and a program that was pulled without
// is pulled again.
func TestImages_Signatures(t *testing.T) {
	noGo(t)
	calls := fakeCosign(t, "nothing-of-this-name")
	m := newMakers(t)
	m.pushAll(t)
	o, progress := m.origin(t, sourceImages), &recorded{}
	if err := stackOf(t, o).Build(t.Context(), progress, GroupControlPlane); err != nil {
		t.Fatal(err)
	}
	if got := calls(); len(got) != 1 || got[0] != "" {
		t.Fatalf("cosign was asked without the flag: %q", got)
	}
	o = o.With(sourceImages)
	o.VerifySignatures = true
	s := stackOf(t, o)
	if err := s.Build(t.Context(), progress, GroupControlPlane); err != nil {
		t.Fatal(err)
	}
	all := strings.Join(calls(), "\n")
	want := "verify --certificate-identity krel-trust@k8s-releng-prod.iam.gserviceaccount.com --certificate-oidc-issuer https://accounts.google.com " + m.host + "/registry.k8s.io/etcd@sha256:"
	if len(calls()) != 5 || !strings.Contains(all, want) {
		t.Errorf("cosign was called with:\n%s\nwant 5 calls, and %s", all, want)
	}
	for _, p := range m.lock.Programs {
		if p.Program == "etcd" && strings.Contains(all, p.Digests[platform()]) {
			t.Error("the image of one platform was verified: makers sign the index")
		}
	}
	if r := s.recordOf("etcd"); r == nil || !strings.HasPrefix(r.SignedBy, "krel-trust@") {
		t.Errorf("the record of etcd: %+v", r)
	}
	if !strings.Contains(strings.Join(progress.lines, "\n"), "done, 0 MiB, signed by krel-trust@k8s-releng-prod.iam.gserviceaccount.com") {
		t.Errorf("progress: %q", progress.lines)
	}
}

// What is not signed as its maker signs is not unpacked, and not compiled in its place.
func TestImages_NotSigned(t *testing.T) {
	log := fakeGo(t, goodBuild)
	fakeCosign(t, "etcd@")
	m := newMakers(t)
	m.pushAll(t)
	o := m.origin(t, sourceAuto)
	o.VerifySignatures = true
	s := stackOf(t, o)
	err := s.Build(t.Context(), &recorded{}, GroupControlPlane)
	if reason.Of(err) != reason.StackBuildFailed || !strings.Contains(err.Error(), "no signatures found") || !strings.Contains(err.Error(), "krel-trust@") || !strings.Contains(err.Error(), "nothing of it was unpacked") {
		t.Errorf("got %v", err)
	}
	if _, compiled := os.Stat(log); compiled == nil || s.recordOf("etcd") != nil {
		t.Error("a program whose signature was refused is there, or was compiled")
	}
}

// An image whose tag has moved has no signature that could be found by it; one that nobody signs is taken, and named.
func TestImages_OtherSignatures(t *testing.T) {
	noGo(t)
	fakeCosign(t, "nothing-of-this-name")
	m := newMakers(t)
	m.pushAll(t)
	for i := range m.lock.Programs {
		if p := &m.lock.Programs[i]; p.Program == "etcd" {
			pinned := p.Digests
			m.push(t, p.Image, func(machine elf.Machine) []v1.Layer {
				return []v1.Layer{packedLayer(t, compression.GZip, executable("usr/local/bin/etcd", elfProgram(t, machine, "")), empties("moved"))}
			})
			p.Digests = pinned
		}
	}
	o := m.origin(t, sourceImages)
	o.VerifySignatures = true
	err := stackOf(t, o).Build(t.Context(), &recorded{}, GroupControlPlane)
	if reason.Of(err) != reason.StackBuildFailed || !strings.Contains(err.Error(), "any more, which images.lock pins") {
		t.Errorf("a tag that has moved: got %v", err)
	}
	for image, signed := range map[string]bool{"registry.k8s.io/etcd:3.6.8-0": true, "quay.io/argoproj/argocd:v3.5.7": true, "quay.io/argoproj/argocd-other:v1": false, "ghcr.io/fluxcd/source-controller:v1": true, "ghcr.io/helmfile/helmfile:v1.8.0": false} {
		if (signerOf(image) != nil) != signed {
			t.Errorf("%s: signed by %v", image, signerOf(image))
		}
	}
}

func TestCheckCosign(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if err := CheckCosign(); err == nil || !strings.Contains(err.Error(), "install cosign 2") {
		t.Errorf("got %v", err)
	}
}
