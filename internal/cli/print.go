package cli

import (
	"encoding/json"
	"io"
	"strings"
	"text/tabwriter"
)

// PrintJSON is the form of every -o json. It is inert, as Inert is.
func PrintJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(inertJSON{w})
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// columnGap is how many blanks are between two columns of a table.
const columnGap = 3

// escape is the byte tabwriter.Escape, which is no rune.
const escape = "\xff"

// Table puts the cells of each row into columns that are as wide as their widest cell. A row may be shorter than others; lines have no
// blanks at their end, and the last one ends with a newline.
func Table(rows [][]string) string {
	width := 0
	for _, row := range rows {
		width = max(width, len(row))
	}
	var b strings.Builder
	// Cells are escaped: a tab or a newline in a message is no border of a cell.
	w := tabwriter.NewWriter(&b, 0, 0, columnGap, ' ', tabwriter.StripEscape)
	for _, row := range rows {
		for i := range width { // all rows have all columns: a row without one would end it for those below
			cell := ""
			if i < len(row) {
				cell = strings.ToValidUTF8(row[i], "\uFFFD") // no byte of valid text is the escape
			}
			if i > 0 {
				_, _ = io.WriteString(w, "\t")
			}
			_, _ = io.WriteString(w, escape+cell+escape)
		}
		_, _ = io.WriteString(w, "\n")
	}
	_ = w.Flush() // a strings.Builder takes everything
	lines := strings.Split(b.String(), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return strings.Join(lines, "\n")
}
