package why

import (
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/testkit"
)

func TestLocate_TooLong(t *testing.T) {
	ch := &chart.Chart{Metadata: &chart.Metadata{Name: "b"}, Templates: []*chart.File{{Name: "templates/web.yaml", Data: []byte("a")}}, Files: []*chart.File{{Name: "files/big.json", Data: make([]byte, 700<<10)}, {Name: "README.md", Data: make([]byte, 3<<10)}}}
	ch.AddDependency(&chart.Chart{Metadata: &chart.Metadata{Name: "sub"}, Files: []*chart.File{{Name: "crds/crd.yaml", Data: make([]byte, 90<<10)}}})
	e := bundle.Expectation{Objects: []bundle.Object{{Component: "b", Release: "b", Chart: ch, Template: "b/templates/web.yaml", Object: testkit.Parsed(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}")}}}
	for cause, want := range map[string]string{
		`Release b: install chart b 1.0.0: create: failed to create: Secret "sh.helm.release.v1.b.v1" is invalid: data: Too long: may not be more than 1048576 bytes`:            "the largest files of chart b are files/big.json (700 KiB), charts/sub/crds/crd.yaml (90 KiB), README.md (3 KiB): leave out what no template reads",
		`HelmRelease c: failed to create: Secret "sh.helm.release.v1.c.v2" is invalid: data: Too long: may not be more than 1048576 bytes`:                                       "Helm keeps a release in one Secret",
		`Application b: CustomResourceDefinition b/w: CustomResourceDefinition.apiextensions.k8s.io "w" is invalid: metadata.annotations: Too long: may not be more than 262144`: "set the sync option ServerSideApply=true",
		`Release b: ConfigMap "c" is invalid: metadata.annotations: Too long: may not be more than 262144`:                                                                       "",
		`Release b: ConfigMap "c" is invalid: []: Too long: may not be more than 1048576 bytes`:                                                                                  "",
	} {
		all := []result.Finding{{Component: "b", Cause: cause}}
		Locate(nil, &bundle.Bundle{Expectation: e}, all)
		got := strings.Join(all[0].Story, "\n")
		said := strings.Contains(got, "Helm keeps") || strings.Contains(got, "Argo CD applies")
		if said != (want != "") || !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", cause, got, want)
		}
	}
}
