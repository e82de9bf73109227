package stack

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/kwok"
)

// Another control plane is compiled from its own list, into its own directory, once; the rest stays
// the stack's.
func TestWithKubernetes(t *testing.T) {
	log := fakeGo(t, goodBuild)
	paths := host.Paths{Root: t.TempDir()}
	s := newStack(t, paths)
	minors, err := s.Minors(kwok.Kubernetes)
	if err != nil || !slices.Equal(minors, []string{"1.34", "1.35", "1.36", "1.37"}) {
		t.Fatalf("got %v, %v", minors, err)
	}
	other, err := s.WithKubernetes(paths, kwok.Kubernetes, "1.34")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(other.KubeVersion(), "v1.34.") || other.Identity() == s.Identity() || !strings.HasPrefix(s.KubeVersion(), "v1.36.") {
		t.Errorf("got %s in %s, and the stack has %s", other.KubeVersion(), other.Identity(), s.KubeVersion())
	}
	for range 2 {
		if err := other.Build(t.Context(), &recorded{}, GroupControlPlane); err != nil {
			t.Fatal(err)
		}
	}
	if got := len(calls(t, log)); got != len(GroupControlPlane.Parts()) || len(other.Missing(GroupControlPlane)) > 0 {
		t.Errorf("go build ran %d times, and %v is missing", got, other.Missing(GroupControlPlane))
	}
	if missing := s.Missing(GroupControlPlane); len(missing) != len(GroupKubernetes.Parts()) {
		t.Errorf("the stack lacks %v, want only its own control plane", missing)
	}
	if other.Bin("etcd") != s.Bin("etcd") || filepath.Dir(other.Bin("kube-scheduler")) == filepath.Dir(s.Bin("kube-scheduler")) {
		t.Errorf("got etcd at %s, kube-scheduler at %s", other.Bin("etcd"), other.Bin("kube-scheduler"))
	}
	for _, v := range other.Versions() {
		if want := s.Version(v.Module); v.Name == "kube-apiserver" && v.Version != other.KubeVersion() || v.Name == "etcd" && v.Version != want {
			t.Errorf("got %+v", v)
		}
	}
	if same, err := s.WithKubernetes(paths, kwok.Kubernetes, "1.36"); same != s || err != nil {
		t.Errorf("the stack's own: got %v, %v", same, err)
	}
	_, err = s.WithKubernetes(paths, kwok.Kubernetes, "1.12")
	if reason.Of(err) != reason.Usage || !strings.Contains(err.Error(), "there is no control plane of Kubernetes 1.12; choose one of 1.34, 1.35, 1.36, 1.37") {
		t.Errorf("got %v", err)
	}
}
