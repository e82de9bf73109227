package report

import (
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/sethvargo/go-githubactions"
)

// mostAnnotations is how many errors GitHub shows for one step of a job; it drops the rest without a word.
const mostAnnotations = 10

// Annotation is a remark on a line of a file, as GitHub shows it in a pull request.
type Annotation struct {
	// File is relative to the repository's root; empty if the cause is in no file of it.
	File           string
	Line           int
	Title, Message string
}

// Checkout says where the files are that annotations point at.
type Checkout struct {
	Root string // of the repository, GITHUB_WORKSPACE
	Dir  string // where the run was started, to which relative names in results belong
}

// Annotations makes one annotation per root cause, at most ten; if there are more causes the tenth says how many.
func (r *Report) Annotations(at Checkout) []Annotation {
	causes := r.causes()
	var all []Annotation
	for i, c := range causes {
		if i == mostAnnotations-1 && len(causes) > mostAnnotations {
			all = append(all, Annotation{Title: "AICR matrix", Message: fmt.Sprintf("%d more root causes are in the report", len(causes)-i)})
			break
		}
		a := Annotation{
			Title:   r.reasonText(c.Cells[0]) + " in " + plural(len(c.Cells), "cell"),
			Message: c.Text + "\ncells: " + cellNames(c.Cells, 8) + "\nrerun: " + c.Cells[0].Rerun,
		}
		if file, ok := at.relative(c.Place.File); ok {
			a.File, a.Line = file, c.Place.Line
		} else if c.Place.File != "" {
			a.Message = c.Place.String() + ": " + a.Message
		}
		all = append(all, a)
	}
	return all
}

// relative is a file's name in the repository, if it is there.
func (c Checkout) relative(file string) (string, bool) {
	if file == "" || c.Root == "" {
		return file, file != "" && !filepath.IsAbs(file) && filepath.IsLocal(file)
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(c.Dir, file)
	}
	rel, err := filepath.Rel(c.Root, file)
	if err != nil || !filepath.IsLocal(rel) {
		return "", false
	}
	return filepath.ToSlash(rel), true
}

// WriteAnnotations writes GitHub's workflow commands, one line each.
func WriteAnnotations(w io.Writer, all []Annotation) error {
	out := &errWriter{w: w}
	action := githubactions.New(githubactions.WithWriter(out))
	for _, a := range all {
		fields := map[string]string{"title": a.Title}
		if a.File != "" {
			fields["file"] = a.File
			fields["line"] = strconv.Itoa(a.Line)
		}
		action.WithFieldsMap(fields).Errorf("%s", strings.TrimSpace(a.Message))
	}
	return out.err
}

// errWriter keeps the first error of a writer, for callers that do not look.
type errWriter struct {
	w   io.Writer
	err error
}

func (e *errWriter) Write(p []byte) (int, error) {
	if e.err != nil {
		return 0, e.err
	}
	n, err := e.w.Write(p)
	e.err = err
	return n, err
}
