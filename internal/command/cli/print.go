package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"golang.org/x/term"
	"sigs.k8s.io/yaml"
)

// PrintJSON is the form of every -o json. It is inert, as Inert is.
func PrintJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(inertJSON{w})
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// PrintYAML prints what PrintJSON would, as YAML. It is inert, as Inert is: a mark in a string has
// a backslash.
func PrintYAML(w io.Writer, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber() // so that integers stay what they are
	var plain any
	if err := decoder.Decode(&plain); err != nil {
		return err
	}
	out, err := yaml.Marshal(inertStrings(plain))
	if err != nil {
		return err
	}
	_, err = w.Write(out)
	return err
}

// inertStrings makes every string in a value as JSON has it inert, keys included.
func inertStrings(v any) any {
	switch v := v.(type) {
	case string:
		return Inert(v)
	case []any:
		for i := range v {
			v[i] = inertStrings(v[i])
		}
	case map[string]any:
		inert := make(map[string]any, len(v))
		for key, child := range v {
			inert[Inert(key)] = inertStrings(child)
		}
		return inert
	}
	return v
}

// Width is the number of columns of the terminal that w is: COLUMNS, if it is a number above 0, or
// what the terminal says; 0 if w is no terminal.
func (a *App) Width(w io.Writer) int {
	if n, err := strconv.Atoi(a.Getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	if f, ok := patientFile(w); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
			return columns
		}
	}
	return 0
}

// columnGap is how many blanks are between two columns of a table.
const columnGap = 3

// escape is the byte tabwriter.Escape, which is no rune.
const escape = "\xff"

// Table puts the cells of each row into columns that are as wide as their widest cell. A row may be
// shorter than others; lines have no blanks at their end, and the last one ends with a newline.
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
