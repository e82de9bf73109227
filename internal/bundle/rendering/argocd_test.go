package rendering

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"

	"github.com/nvidia/aicr-action/internal/charts/render"
)

// Argo CD runs the hooks of upgrades at its first sync too, and its own annotation comes before
// Helm's (gitops-engine, pkg/sync/hook).
func TestRelease_ArgoCD(t *testing.T) {
	const job = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j, annotations: {%s}}\n"
	for annotations, want := range map[string][2]bool{ // helm, Argo CD
		"a: b":                       {true, true},
		"helm.sh/hook: pre-install":  {true, true},
		"helm.sh/hook: pre-upgrade":  {false, true},
		"helm.sh/hook: post-upgrade": {false, true},
		"helm.sh/hook: test":         {false, false},
		"helm.sh/hook: pre-rollback": {false, false},
		"helm.sh/hook: test, argocd.argoproj.io/hook: PostSync":        {false, true},
		"helm.sh/hook: pre-upgrade, argocd.argoproj.io/hook: Skip":     {false, false},
		"helm.sh/hook: pre-install, argocd.argoproj.io/hook: SyncFail": {true, true},
		"argocd.argoproj.io/hook: 'PreSync,SyncFail'":                  {true, true},
	} {
		c := &chart.Chart{Metadata: &chart.Metadata{APIVersion: "v2", Name: "c", Version: "1.0.0"}, Templates: []*chart.File{{Name: "templates/a.yaml", Data: fmt.Appendf(nil, job, annotations)}}}
		renderer := &render.Renderer{}
		defer renderer.Close()
		for i, argocd := range []bool{false, true} {
			got, err := Release(t.Context(), renderer, render.Request{Chart: c, Name: "c", Namespace: "c", KubeVersion: "v1.36.1"}, argocd)
			if err != nil {
				t.Fatal(err)
			}
			if made := len(got.Objects) == 1; made != want[i] || got.ArgoDiffers != (want[0] != want[1]) {
				t.Errorf("%s, Argo CD %v: %d objects, want one: %v; differs: %v", annotations, argocd, len(got.Objects), want[i], got.ArgoDiffers)
			}
		}
	}
}

// One that only Argo CD runs may be missing, and one of the name of another object is that.
func TestRelease_ArgoCDUpgrade(t *testing.T) {
	c := &chart.Chart{Metadata: &chart.Metadata{APIVersion: "v2", Name: "c", Version: "1.0.0"}, Templates: []*chart.File{{Name: "templates/a.yaml", Data: []byte(`apiVersion: v1
kind: ServiceAccount
metadata: {name: a, annotations: {helm.sh/hook: pre-install}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: a, annotations: {helm.sh/hook: pre-upgrade}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: j, annotations: {helm.sh/hook: pre-upgrade}}
`)}}}
	renderer := &render.Renderer{}
	defer renderer.Close()
	got, err := Release(t.Context(), renderer, render.Request{Chart: c, Name: "c", Namespace: "c", KubeVersion: "v1.36.1"}, true)
	if err != nil {
		t.Fatal(err)
	}
	var objects []string
	for _, o := range got.Objects {
		objects = append(objects, fmt.Sprintf("%s hook=%v ephemeral=%v %s", o.GetName(), o.Hook, o.Ephemeral, o.Template))
	}
	want := []string{"a hook=true ephemeral=false c/templates/a.yaml", "j hook=true ephemeral=true c/templates/a.yaml"}
	if !slices.Equal(objects, want) {
		t.Errorf("got %q, want %q", objects, want)
	}
}

func TestPhasesInArgoCD(t *testing.T) {
	for _, c := range []struct {
		own, helm, want string
		sync            bool
	}{
		{"PreSync, PostSync", "pre-install", "PreSync,PostSync", true},
		{"SyncFail", "pre-install", "SyncFail", false},
		{"PreSink", "post-install,post-upgrade", "PostSync,PostSync", true},
		{"presync", "", "", false},
		{"", "test", "", false},
		{"", "pre-rollback, pre-upgrade", "PreSync", true},
	} {
		a := map[string]string{ArgoHook: c.own, HelmHook: c.helm}
		if got := strings.Join(PhasesInArgoCD(a), ","); got != c.want || RunsAtSync(a) != c.sync {
			t.Errorf("%s, %s: got %q, %v, want %q, %v", c.own, c.helm, got, RunsAtSync(a), c.want, c.sync)
		}
	}
}
