package report

import (
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/sethvargo/go-githubactions"

	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/lists"
	"github.com/nvidia/aicr-action/internal/util/mdtext"
)

// mostAnnotations is how many errors GitHub shows for one step of a job; it drops the rest without
// a word.
const mostAnnotations = 10

// Annotation is a remark on a line of a file, as GitHub shows it in a pull request.
type Annotation struct {
	// File is relative to the repository's root; empty if the cause is in no file of it.
	File           string
	Line           int
	Title, Message string
	// Warning: nothing has failed, but nothing has been checked either.
	Warning bool
}

// Checkout says where the files are that annotations point at.
type Checkout struct {
	Root string // of the repository, GITHUB_WORKSPACE
	Dir  string // where the run was started, to which relative names in results belong
}

// Annotations makes one annotation per root cause, and one per reason for which cells came to no
// verdict; at most ten. If there are more the tenth says how many.
func (r *Report) Annotations(at Checkout) []Annotation {
	all := r.annotations(at)
	if more := len(all) - mostAnnotations + 1; more > 1 {
		all = append(all[:mostAnnotations-1], Annotation{Title: "AICR matrix", Message: fmt.Sprintf("%d more root causes are in the report", more)})
	}
	return all
}

// annotations are all of them.
func (r *Report) annotations(at Checkout) []Annotation {
	var all []Annotation
	for _, c := range r.causes() {
		first := c.Cells[0]
		text := clip(c.Text, 2500)
		if lines := advice(storyLines(c.Story), c.Text); len(lines) > 0 {
			text += "\n" + clip(strings.TrimSpace(lines[0]), 500)
		}
		text += "\ncells: " + cellNames(c.Cells, 8)
		if known := standing(c.Cells); known != "" {
			text += "\nbefore: " + known
		}
		if first.Rerun != "" {
			text += "\nrerun: " + first.Rerun
		}
		if command := first.Upload.Command(); command != "" {
			text += "\ndebug artifacts: " + command
		}
		a := at.annotation(c.Place, text)
		a.Title = r.reasonText(first) + " in " + lists.Count(len(c.Cells), "cell")
		all = append(all, a)
	}
	return append(all, r.unfinished()...)
}

// unfinished has an annotation per reason for which cells did not run, or not to their end.
func (r *Report) unfinished() []Annotation {
	var order []reason.Reason
	cells := map[reason.Reason][]*result.Result{}
	for i := range r.Results {
		c := &r.Results[i]
		if c.Status != result.NotRun && c.Status != result.Interrupted {
			continue
		}
		if cells[c.Reason] == nil {
			order = append(order, c.Reason)
		}
		cells[c.Reason] = append(cells[c.Reason], c)
	}
	var all []Annotation
	for _, why := range order {
		first := cells[why][0]
		all = append(all, Annotation{
			Title: r.reasonText(first) + ": " + lists.Count(len(cells[why]), "cell") + " without a verdict", Message: oneLine(first.Cause) + "\ncells: " + cellNames(cells[why], 8),
		})
	}
	return all
}

// ErrorAnnotation is the annotation for a run that ended before there were cells. If the error, or
// one that it wraps, knows a line of a file in one of the directories of recipes, it is put there.
func ErrorAnnotation(title string, err error, recipes []string, at Checkout) Annotation {
	a := at.annotation(inRecipes(recipes, result.PlaceOf(err)), clip(err.Error(), 3000))
	a.Title = title
	return a
}

// annotation puts a message on its place or, if that is not in the repository, names it in the
// text.
func (c Checkout) annotation(p result.Place, message string) Annotation {
	if file, ok := c.relative(p.File); ok {
		return Annotation{File: file, Line: p.Line, Message: message}
	}
	if p.File != "" && !strings.Contains(message, p.String()) {
		message = p.String() + ": " + message
	}
	return Annotation{Message: message}
}

// clip leaves room for the cells and the command in the 4096 characters to which the runner cuts a
// message. What is wrong is said at a text's beginning or, behind a long value, at its end.
func clip(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most/2]) + " … " + string(runes[len(runes)-most/2:])
	}
	return text
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
		write := action.WithFieldsMap(fields).Errorf
		if a.Warning {
			write = action.WithFieldsMap(fields).Warningf
		}
		write("%s", strings.TrimSpace(a.Message))
	}
	return out.err
}

// errWriter keeps the first error of a writer, for callers that ignore the errors of single writes.
type errWriter struct {
	w   io.Writer
	err error
}

// Write never fails: the library that writes commands panics at an error.
func (e *errWriter) Write(p []byte) (int, error) {
	if e.err == nil {
		_, e.err = io.WriteString(e.w, mdtext.Visible(string(p)))
	}
	return len(p), nil
}
