package reports

import (
	"io"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/report"
	"github.com/nvidia/aicr-action/internal/result"
)

// Print prints what a run ends with. Width is that of the terminal, in columns; 0 for no
// limit. Explain adds what is the same in every run.
func Print(w io.Writer, results []result.Result, format string, width int, explain bool) error {
	if format == "json" {
		return cli.PrintJSON(w, map[string]any{"results": results})
	}
	r := &report.Report{Meta: report.Meta{Code: cli.CodeInReport, Replay: HowToReplay, Width: width, Explain: explain}, Results: results}
	return r.WriteTerminal(cli.NewInertWriter(w))
}
