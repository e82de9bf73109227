package report

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/nvidia/aicr-action/internal/util/filesys"
)

// Files are where the forms of a report are written; a form without a name is left out.
type Files struct {
	Results  string // CTRF
	JUnit    string
	HTML     string
	Markdown string
	SARIF    string
}

// Any reports whether there is anything to write.
func (f Files) Any() bool { return f != Files{} }

// Write writes all forms. It replaces each file as a whole, so that a reader finds either the old
// or the new one, also after a kill. If one form cannot be written, it writes the others, and joins
// the errors.
func (f Files) Write(r *Report) error {
	var errs []error
	for _, form := range []struct {
		what, path string
		write      func(io.Writer) error
	}{
		{"the results", f.Results, r.WriteCTRF}, {"the JUnit report", f.JUnit, r.WriteJUnit},
		{"the HTML report", f.HTML, r.WriteHTML}, {"the summary", f.Markdown, r.WriteMarkdown}, {"the SARIF log", f.SARIF, r.WriteSARIF},
	} {
		if form.path == "" {
			continue
		}
		var b bytes.Buffer
		err := form.write(&b)
		if err == nil {
			err = ReplaceFile(form.path, b.Bytes())
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("write %s to %s: %w", form.what, form.path, err))
		}
	}
	return errors.Join(errs...)
}

// ReplaceFile writes a file in one move, and makes the directories above it. What is there and is
// no file, e.g. a pipe, is written to.
func ReplaceFile(path string, content []byte) error {
	if info, statErr := os.Stat(path); statErr == nil && !info.Mode().IsRegular() {
		if info.IsDir() {
			return errors.New("it is a directory; name a file")
		}
		return os.WriteFile(path, content, 0o644)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return filesys.WriteFile(path, content, 0o644) // readable by all users, as debug artifacts are
}

// CIFromEnv reads what GitHub Actions says about the job; it is empty elsewhere.
// https://docs.github.com/en/actions/reference/workflows-and-actions/variables
func CIFromEnv(getenv func(string) string) CI {
	if getenv("GITHUB_ACTIONS") != "true" {
		return CI{}
	}
	ci := CI{
		Repository: getenv("GITHUB_REPOSITORY"), Commit: getenv("GITHUB_SHA"), Branch: getenv("GITHUB_HEAD_REF"), Workflow: getenv("GITHUB_WORKFLOW"),
		RunID: getenv("GITHUB_RUN_ID"), Attempt: getenv("GITHUB_RUN_ATTEMPT"),
	}
	if ci.Branch == "" { // only pull requests have a head
		ci.Branch = getenv("GITHUB_REF_NAME")
	}
	if n, err := strconv.Atoi(getenv("GITHUB_RUN_NUMBER")); err == nil {
		ci.RunNumber = n
	}
	if server := getenv("GITHUB_SERVER_URL"); server != "" && ci.Repository != "" && ci.RunID != "" {
		ci.URL = server + "/" + ci.Repository + "/actions/runs/" + ci.RunID
		if ci.Attempt != "" {
			ci.URL += "/attempts/" + ci.Attempt
		}
	}
	return ci
}
