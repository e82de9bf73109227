package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/report"
)

// An invalid file is named with its error, and the others are merged and reported nevertheless.
func TestMerge_InvalidFiles(t *testing.T) {
	all := sampleResults()
	good := resultsFile(t, all[:4])
	raw, err := os.ReadFile(resultsFile(t, all[4:]))
	if err != nil {
		t.Fatal(err)
	}
	whole := string(raw)
	_, tests, _ := strings.Cut(whole, `"tests": [`)
	first, _, _ := strings.Cut(tests, "\n   },\n")
	for name, test := range map[string]struct{ content, want string }{
		"empty":           {"", "the file is empty"},
		"truncated":       {whole[:len(whole)-100], "cut off after"},
		"another version": {strings.Replace(whole, `"aicrActionFormat": 1`, `"aicrActionFormat": 7`, 1), "version 7 of the format, and this program reads version 1"},
		"a cell twice":    {strings.Replace(whole, `"tests": [`, `"tests": [`+first+"},", 1), "appears twice"},
		"not text":        {"\x00\xff\x7fELF", "not a results file"},
		"another program": {`{"reportFormat":"CTRF","specVersion":"0.0.0","results":{"tool":{"name":"jest"},"tests":[]}}`, "another program (jest)"},
	} {
		t.Run(name, func(t *testing.T) {
			bad := filepath.Join(t.TempDir(), "shard-2.json")
			if err := os.WriteFile(bad, []byte(test.content), 0o644); err != nil {
				t.Fatal(err)
			}
			out := filepath.Join(t.TempDir(), "merged.json")
			invoke(t, nil, "merge", bad, good, "-o", out).want(t, 2, bad, test.want, "1 of 2 files merged")
			merged, err := report.Read(out)
			if err != nil || len(merged.Results) != 4 || len(merged.Unread) != 1 || !strings.Contains(merged.Unread[0], bad) || merged.Green() {
				t.Errorf("got %+v, %v; want 4 results, and the file that is missing", merged, err)
			}
			for _, format := range []string{"md", "html", "junit"} {
				r := invoke(t, nil, "report", bad, good, "--format", format)
				if r.code != 2 || !strings.Contains(r.stderr, bad) || !strings.Contains(r.stdout, "shard-2.json") || !strings.Contains(r.stdout, all[0].Recipe) {
					t.Errorf("%s: code %d\n%s\n%.500s", format, r.code, r.stderr, r.stdout)
				}
			}
		})
	}
}
