package operator

import (
	"encoding/csv"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// exporterMetrics is the file of the DCGM exporter's metrics: the GPU Operator mounts the key of that name.
const exporterMetrics = "dcgm-metrics.csv"

var exporterMetricsRefused = judge.Check{
	ID: "MX667", Name: "exporter-metrics-refused", Needs: judge.Rendered, Kinds: judge.KindsOf("", "ConfigMap"), Gives: reason.WorkloadFailed,
	Title: "The DCGM exporter reads its metrics",
	Why: "The exporter reads three fields of each line, the field of DCGM, the type of the metric and its help, and ends with an error at a line that has more or fewer, or another type " +
		"(https://github.com/NVIDIA/dcgm-exporter#changing-metrics). A comma in the help makes two fields of it, unless there are quotes around it.",
	Fix:  "Correct the line: FIELD, TYPE, \"HELP\".",
	Says: "has metrics for the DCGM exporter that it cannot read: %s", Then: "the exporter ends with an error on each node with GPUs",
	Run: func(s *judge.Scope) {
		for _, o := range s.Rendered(judge.KindsOf("", "ConfigMap")...) {
			c := facts.As[corev1.ConfigMap](s.Index, o)
			if c == nil || c.Data[exporterMetrics] == "" {
				continue
			}
			if err := readMetrics(c.Data[exporterMetrics]); err != nil {
				s.Report(o, fmt.Sprintf("data[%q]", exporterMetrics), err)
			}
		}
	},
}

// readMetrics reads a file of metrics as the exporter does (ReadCSVFile and extractCounters of its package counters). Fields of
// profiling are left out where a node does not collect them, so that their types do not count.
func readMetrics(text string) error {
	r := csv.NewReader(strings.NewReader(text))
	r.Comment = '#'
	all, err := r.ReadAll()
	if err != nil {
		return err
	}
	for i, fields := range all {
		for j := range fields {
			fields[j] = strings.Trim(fields[j], " ")
		}
		switch {
		case len(fields) == 1 && fields[0] == "" || strings.HasPrefix(fields[0], "#"):
		case len(fields) != 3:
			return fmt.Errorf("entry %d has %d fields: %s", i+1, len(fields), strings.Join(fields, ", "))
		case strings.HasPrefix(fields[0], "DCGM_FI_DEV_") && !slices.Contains([]string{"gauge", "counter", "histogram", "summary", "label"}, fields[1]):
			return fmt.Errorf("entry %d, %s: no metric is of the type %q", i+1, fields[0], fields[1])
		}
	}
	return nil
}
