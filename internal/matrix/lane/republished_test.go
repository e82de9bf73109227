package lane

import (
	"testing"

	"helm.sh/helm/v3/pkg/chart"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// Only other content under the same version counts, and Argo CD's caches depend on where the chart is from.
func TestInArgoCD(t *testing.T) {
	made := func(version, text string, local bool) *bundle.Bundle {
		c := &chart.Chart{Metadata: &chart.Metadata{APIVersion: "v2", Name: "web", Version: version}, Raw: []*chart.File{{Name: "templates/x.yaml", Data: []byte(text)}}}
		c.Templates = c.Raw
		return &bundle.Bundle{Installs: []bundle.Install{{Chart: c, Release: bundle.Release{Name: "b", Component: "b", Chart: "web", ChartVersion: version, Local: local}}}}
	}
	for name, tc := range map[string]struct {
		before, now *bundle.Bundle
		source      string
		warn, note  bool
	}{
		"a Helm repository": {made("1.0.0", "a", false), made("1.0.0", "b", false), "https://charts.example.com", true, false},
		"an OCI registry":   {made("1.0.0", "a", false), made("1.0.0", "b", false), "oci://example.com/charts", false, true},
		"another version":   {made("1.0.0", "a", false), made("1.1.0", "b", false), "https://charts.example.com", false, false},
		"the same content":  {made("1.0.0", "a", false), made("1.0.0", "a", false), "https://charts.example.com", false, false},
		"the bundle's own":  {made("1.0.0", "a", true), made("1.0.0", "b", true), "", false, false},
		"a new component":   {&bundle.Bundle{}, made("1.0.0", "b", false), "https://charts.example.com", false, false},
		"the only delivery": {nil, made("1.0.0", "b", false), "https://charts.example.com", false, false},
	} {
		r := &recipe.Result{ComponentRefs: []recipe.ComponentRef{{Name: "b", Source: tc.source}}}
		warnings, notes := InArgoCD(tc.before, tc.now, r)
		if (len(warnings) == 1) != tc.warn || (len(notes) == 1) != tc.note {
			t.Errorf("%s: got %q and %q", name, warnings, notes)
			continue
		}
		if tc.warn {
			testkit.WantText(t, name, warnings[0], "chart web 1.0.0 (component b) has other content than before under the same version", tc.source, "argocd app get b --hard-refresh")
		}
	}
}
