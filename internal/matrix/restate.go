package matrix

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/util/mdtext"
)

// The prefixes of the names of cells' directories, by the verdict when the cell ended.
const (
	logsPrefix  = "kwok-logs-"
	debugPrefix = "kwok-debug-"
)

// artifactsRestate updates the artifacts of a cell that had passed by itself to its new verdict: cell.json
// must not say passed for a failed cell, and people look for a failure's artifacts under its name.
// A write error joins the verdict's details and never replaces it.
func artifactsRestate(r *result.Result) {
	if r.Artifacts == "" {
		return
	}
	if err := restateArtifacts(r); err != nil {
		line := fmt.Sprintf("the artifacts in %s still say that the cell passed: %v", r.Artifacts, err)
		r.Details = append(r.Details, line)
		if last := len(r.Findings) - 1; last >= 0 {
			r.Findings[last].Story = append(slices.Clone(r.Findings[last].Story), line)
		}
	}
}

func restateArtifacts(r *result.Result) error {
	dir, name := filepath.Split(r.Artifacts)
	if rest, ok := strings.CutPrefix(name, logsPrefix); ok {
		to := filepath.Join(dir, debugPrefix+rest)
		if err := os.Rename(r.Artifacts, to); err != nil {
			return err
		}
		r.Artifacts = to
	}
	file := filepath.Join(r.Artifacts, "cell.json")
	raw, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	// cell.json has more fields than a Result. Only the Result's fields are replaced.
	var doc, now map[string]any
	own, err := json.Marshal(r)
	if err := errors.Join(err, json.Unmarshal(raw, &doc), json.Unmarshal(own, &now)); err != nil {
		return fmt.Errorf("renew %s: %w", file, err)
	}
	for key, value := range now {
		doc[key] = value
	}
	raw, err = json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(file, append(raw, '\n'), 0o644), restateSummary(r, filepath.Join(r.Artifacts, "summary.md")))
}

// restateSummary puts the new verdict before a page that was written when the cell ended.
func restateSummary(r *result.Result, path string) error {
	page, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s failed: %s\n\n%s\n", r.Cell, r.Reason, mdtext.Fence(r.Cause, ""))
	if len(r.Details) > 0 {
		b.WriteString(mdtext.Fence(strings.Join(r.Details, "\n"), ""))
	}
	fmt.Fprintf(&b, "\nRun both lanes again: %s\n\nBy itself the cell had passed. What was written of it then:\n\n", mdtext.Code(r.Rerun))
	return os.WriteFile(path, append([]byte(b.String()), page...), 0o644)
}
