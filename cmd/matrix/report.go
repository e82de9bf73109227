package main

import (
	"encoding/json"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/nvidia/aicr-action/internal/matrix"
	"github.com/nvidia/aicr-action/internal/report"
)

// printJSON is the form of every -o json.
func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// printResults prints what a run ends with.
func printResults(w io.Writer, results []matrix.Result, format string) error {
	if format == "json" {
		return printJSON(w, map[string]any{"results": results})
	}
	r := &report.Report{Meta: report.Meta{Code: codeInReport, Replay: replayCommand}, Results: results}
	return r.WriteTerminal(w)
}

func columns(rows [][]string) string {
	var widths []int
	for _, row := range rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		var line strings.Builder
		for i, c := range row {
			line.WriteString(c)
			if i < len(row)-1 {
				line.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c)+3))
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String()
}
