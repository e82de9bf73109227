package embedded

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/internal/util/sandbox"
)

// One controller may connect to the proxy and has its kubeconfig; the others of the deployer do
// not. Without a proxy nothing differs.
func TestAPIProxy_OneController(t *testing.T) {
	connect := append(make([]int, 0, 4), 1, 2)
	profile := &sandbox.Profile{Connect: connect, Bind: []int{3}}
	p := &apiProxy{kubeconfig: "proxy's", port: 9}
	opened := p.open(profile)
	if !slices.Equal(opened.Connect, []int{1, 2, 9}) || !slices.Equal(opened.Bind, []int{3}) {
		t.Errorf("opened: got %+v", opened)
	}
	if again := (&apiProxy{port: 8}).open(profile); !slices.Equal(profile.Connect, connect) || !slices.Equal(opened.Connect, []int{1, 2, 9}) || again.Connect[2] != 8 {
		t.Errorf("one profile has another's port: %+v, %+v, %+v", profile, opened, again)
	}
	if p.open(nil) != nil {
		t.Error("a process without a sandbox has got one")
	}
	var none *apiProxy
	if none.open(profile) != profile || none.or("cluster's") != "cluster's" || p.or("cluster's") != "proxy's" {
		t.Error("without a proxy something differs, or with one nothing")
	}
	none.close()
}

func TestAPIProxy_InResult(t *testing.T) {
	for _, plain := range []bool{false, true} {
		c := &cluster{platform: &Platform{PlainControllers: plain}}
		got := fmt.Sprint(c.Proxies(infra.ArgoCDControllers), c.Proxies(infra.FluxControllers))
		for _, part := range []string{"argocd-application-controller: ", "helm-controller: "} {
			if !strings.Contains(got, part) || strings.Contains(got, "directly") != plain || strings.Contains(got, "proxy:") == plain {
				t.Errorf("plain %v: got %s", plain, got)
			}
		}
	}
}

// A verdict with the proxies is not one without them.
func TestAPIProxy_InFingerprint(t *testing.T) {
	with, without := &Platform{Stack: &stack.Stack{}}, &Platform{Stack: &stack.Stack{}, PlainControllers: true}
	if with.Fingerprint() == without.Fingerprint() {
		t.Errorf("both are %s", with.Fingerprint())
	}
}
