package cli

import (
	"testing"

	"github.com/nvidia/aicr-action/internal/charts"
	"github.com/nvidia/aicr-action/internal/charts/catalog"
)

// The network operator's chart is found in the versions that AICR's recipes for kind name. No other
// simulated chart is found in a version that it was not written for.
func TestSimulatedCharts(t *testing.T) {
	for _, test := range []struct {
		source, chart, version, from string
	}{
		{Simulated, "network-operator", "25.10.0", Simulated},
		{Simulated, "network-operator", "25.1.0", Simulated},
		{Simulated, "network-operator", "26.1.0", ""},
		{Simulated, "cert-manager", "v9.9.9", ""},
		{charts.AnyVersionName, "cert-manager", "v1.17.2", charts.AnyVersionName},
		{charts.AnyVersionName, "cert-manager", "v9.9.9", charts.AnyVersionName + " (v1.17.2 in place of v9.9.9)"},
		{charts.AnyVersionName, "no-such-chart", "1.0.0", ""},
	} {
		source, err := (&App{}).Charts([]string{test.source}, "")
		if err != nil {
			t.Fatal(err)
		}
		ch, from, err := source.Load(t.Context(), catalog.Ref{Name: test.chart, Version: test.version})
		if test.from == "" {
			if err == nil {
				t.Errorf("%s: %s %s was found: %s", test.source, test.chart, test.version, from)
			}
			continue
		}
		if err != nil || from != test.from || ch.Metadata.Version != test.version {
			t.Errorf("%s: %s %s: from %q, %v", test.source, test.chart, test.version, from, err)
		}
	}
}
