package report

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"testing"
)

// values calls do for every value in a JSON document, with its place and a function that replaces it.
func values(value any, path string, do func(path string, old any, set func(any))) {
	switch v := value.(type) {
	case map[string]any:
		for name, x := range v {
			do(path+"."+name, x, func(s any) { v[name] = s })
			values(x, path+"."+name, do)
		}
	case []any:
		for i, x := range v {
			do(path+"[]", x, func(s any) { v[i] = s })
			values(x, path+"[]", do)
		}
	}
}

// TestForgedResults replaces each value of a results file by one that no run writes: nothing, numbers
// beyond all measure, another type. Such a file is refused, or every report of it can be written.
func TestForgedResults(t *testing.T) {
	var b bytes.Buffer
	if err := full().WriteCTRF(&b); err != nil {
		t.Fatal(err)
	}
	var whole any
	if err := json.Unmarshal(b.Bytes(), &whole); err != nil {
		t.Fatal(err)
	}
	forged := []any{nil, -1, int64(math.MaxInt64), int64(math.MinInt64), 1e300, true, "", []any{}, []any{nil}, map[string]any{}, map[string]any{"": nil}}
	seen, read := map[string]bool{}, 0
	values(whole, "", func(path string, old any, set func(any)) {
		if seen[path] {
			return // the same field of another cell
		}
		seen[path] = true
		for _, value := range forged {
			set(value)
			raw, err := json.Marshal(whole)
			if err != nil {
				t.Fatal(err)
			}
			if r, err := parse(raw); err == nil {
				read++
				r.Code = codes4test
				wantWritten(t, path, value, r)
			}
		}
		set(old)
	})
	if read < 200 {
		t.Errorf("only %d forged files were read", read)
	}
}

// wantWritten: each report is written, and none is larger than what it is made of could make it.
func wantWritten(t *testing.T, path string, value any, r *Report) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("%s is %v: %v", path, value, p)
		}
	}()
	for what, write := range map[string]func(io.Writer) error{
		"terminal": r.WriteTerminal, "html": r.WriteHTML, "junit": r.WriteJUnit, "ctrf": r.WriteCTRF, "markdown": r.WriteMarkdown,
		"comment":     func(w io.Writer) error { return r.WriteComment(w, "https://github.com/o/r/actions/runs/9") },
		"annotations": func(w io.Writer) error { return WriteAnnotations(w, r.Annotations(Checkout{})) },
		"outputs": func(w io.Writer) error {
			all, err := r.Outputs()
			if err != nil {
				return err
			}
			return WriteOutputs(w, all)
		},
		"merged": func(w io.Writer) error { return merge(nil, r, full()).WriteCTRF(w) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Errorf("%s is %v: %s: %v", path, value, what, err)
		}
		if b.Len() > 1<<20 {
			t.Errorf("%s is %v: %s has %d bytes", path, value, what, b.Len())
		}
	}
}
