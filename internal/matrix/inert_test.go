package matrix

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/gate"
	"github.com/nvidia/aicr-action/internal/matrix/lane/argocd"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// outsideOfCode is what a Markdown reader takes for more than text.
func outsideOfCode(page string) string {
	var kept []string
	fence := ""
	for _, line := range strings.Split(page, "\n") {
		ticks := line[:len(line)-len(strings.TrimLeft(line, "`"))]
		switch {
		case fence != "" && line == fence:
			fence = ""
		case fence == "" && len(ticks) >= 3 && !strings.Contains(line[len(ticks):], "`"):
			fence = ticks
		case fence == "":
			kept = append(kept, regexp.MustCompile("`[^`]*`").ReplaceAllString(line, ""))
		}
	}
	return strings.Join(kept, "\n")
}

// Text of a chart or a controller makes no image, link, tag or heading in summary.md.
func TestSummary_UntrustedText(t *testing.T) {
	evil := "![x](http://192.0.2.1/x) [a](javascript:alert(1)) <img src=x onerror=alert(1)>\n# head\n```\n# head\n```"
	verdict := result.Verdict{Status: result.Failed, Reason: reason.DeployFailed, Cause: evil, Details: []string{evil, "more " + evil}}
	rec := demoRecord(bundle.ArgoCDOCI, verdict)
	rec.Observed = &gate.ObservedRecord{
		Items:     []gate.ObservedItem{seen("Application", evil, "failed", evil)},
		Workloads: []gate.ObservedWorkload{{ID: evil, Problems: []string{evil}}},
	}
	rec.Notes, rec.Warnings = []string{evil}, []string{evil}
	path := filepath.Join(t.TempDir(), "summary.md")
	if err := os.WriteFile(path, []byte("written before\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := restateSummary(&rec.Result, path); err != nil {
		t.Fatal(err)
	}
	restated, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for what, page := range map[string]string{"summary": summary(rec, argocd.New(nil).Artifacts(), nil), "restated": string(restated)} {
		if text := outsideOfCode(page); strings.Contains(text, "](") || strings.Contains(text, "<img") || regexp.MustCompile(`(?m)^# head`).MatchString(text) {
			t.Errorf("%s: outside of code it has\n%s", what, text)
		}
		if !strings.Contains(page, "javascript:alert(1)") {
			t.Errorf("%s: what was said is not in it:\n%s", what, page)
		}
	}
}
