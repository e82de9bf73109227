package operator

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

var dashboard = judge.Check{
	ID: "MX664", Name: "dashboard-is-no-json", Needs: judge.Rendered, Kinds: judge.KindsOf("", "ConfigMap"),
	Title: "A dashboard of Grafana is JSON",
	Why: "Grafana's sidecar copies the files of ConfigMaps with the label grafana_dashboard " +
		"(https://github.com/grafana/helm-charts/tree/main/charts/grafana#sidecar-for-dashboards). One that cannot be read is a line in Grafana's log, and nothing else.",
	Fix:  "Correct the JSON. A template that is rendered by Helm needs quotes and commas, too.",
	Says: "has a dashboard that is no JSON: %s: %s", Then: "Grafana does not show it",
	Run: func(s *judge.Scope) {
		for _, o := range s.Rendered(judge.KindsOf("", "ConfigMap")...) {
			c := facts.As[corev1.ConfigMap](s.Index, o)
			if _, labelled := o.Object.GetLabels()["grafana_dashboard"]; c == nil || !labelled {
				continue
			}
			for _, key := range slices.Sorted(maps.Keys(c.Data)) {
				var board map[string]any
				if err := json.Unmarshal([]byte(c.Data[key]), &board); strings.HasSuffix(key, ".json") && err != nil {
					s.Report(o, fmt.Sprintf("data[%q]", key), key, readJSON(c.Data[key], err))
				}
			}
		}
	},
}

// readJSON is an error about JSON with the line that it is about.
func readJSON(text string, err error) string {
	at := int64(0)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		at = min(syntax.Offset, int64(len(text)))
	}
	if at == 0 {
		return err.Error()
	}
	return fmt.Sprintf("line %d: %v", strings.Count(text[:at], "\n")+1, err)
}
