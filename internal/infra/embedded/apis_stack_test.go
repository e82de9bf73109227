package embedded

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/action"
	"k8s.io/client-go/discovery"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

var updateAPIs = flag.Bool("update", false, "write internal/bundle/apis/api-versions.txt anew")

const apisFile = "../../bundle/apis/api-versions.txt"

// The APIs that charts see when a bundle is rendered are those that the API server serves: what
// Helm and what Argo CD read from its discovery, on a fresh cluster and with the CRDs of the
// deployers' controllers.
func TestAPIVersions(t *testing.T) {
	c := startClusters(t, "apis")[0]
	s := realStack(t)
	if err := s.Build(t.Context(), logProgress{t}, stack.GroupHelm, stack.GroupArgoCD, stack.GroupFlux); err != nil {
		t.Fatal(err)
	}
	before := discovered(t, c)
	live := bundle.APIs{Server: before}
	for _, with := range []struct {
		group stack.Group
		into  *[]bundle.API
	}{{stack.GroupArgoCD, &live.ArgoCD}, {stack.GroupFlux, &live.Flux}} {
		names, err := c.clients.ApplyCRDs(t.Context(), s.CRDs(with.group))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.clients.WaitCRDs(t.Context(), names, time.Minute); err != nil {
			t.Fatal(err)
		}
		testkit.Eventually(t, "the discovery of the CRDs of "+string(with.group), time.Minute, func() wait.Result {
			*with.into = slices.DeleteFunc(discovered(t, c), func(a bundle.API) bool { return slices.Contains(before, a) })
			kinds := 0
			for _, a := range *with.into {
				if strings.Count(a.Name, "/") == 2 && !strings.HasSuffix(a.Name, "/Scale") {
					kinds++
				}
			}
			if kinds < len(names) {
				return wait.NotYet("%d of %d kinds", kinds, len(names))
			}
			return wait.Done()
		})
		before = append(before, *with.into...)
	}
	if *updateAPIs {
		if err := os.WriteFile(apisFile, []byte(apisText(s.KubeVersion(), live)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(apisFile)
	if err != nil {
		t.Fatal(err)
	}
	if want := apisText(s.KubeVersion(), live); string(have) != want {
		t.Errorf("internal/bundle/apis/api-versions.txt is not what the stack's API server serves; run this test with -update and read the difference. Served:\n%s", want)
	}
}

// discovered are the APIs as Helm finds them, and which of them Argo CD would pass on.
func discovered(t *testing.T, c *testCluster) []bundle.API {
	t.Helper()
	set, err := action.GetVersionSet(c.clients.Discovery)
	if err != nil {
		t.Fatal(err)
	}
	_, lists, err := c.clients.Discovery.ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	watched := map[string]bool{}
	for _, list := range discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "watch"}}, lists) {
		for _, r := range list.APIResources {
			watched[list.GroupVersion], watched[list.GroupVersion+"/"+r.Kind] = true, true
		}
	}
	var apis []bundle.API
	for _, name := range set {
		apis = append(apis, bundle.API{Name: name, Watched: watched[name]})
	}
	return apis
}

func apisText(version string, apis bundle.APIs) string {
	var b strings.Builder
	b.WriteString("# Kubernetes " + version + "\n# What its API server serves. Generated: go test ./internal/infra/embedded -run TestAPIVersions -update\n" +
		"# \"-\": nothing to list and watch, so Argo CD does not tell Helm of it.\n")
	for _, section := range []struct {
		name string
		apis []bundle.API
	}{{"server", apis.Server}, {"argocd", apis.ArgoCD}, {"flux", apis.Flux}} {
		b.WriteString("\n[" + section.name + "]\n")
		var lines []string
		for _, a := range section.apis {
			line := a.Name
			if !a.Watched {
				line += " -"
			}
			lines = append(lines, line)
		}
		slices.Sort(lines)
		b.WriteString(strings.Join(lines, "\n") + "\n")
	}
	return b.String()
}
