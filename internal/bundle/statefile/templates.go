package statefile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/nvidia/aicr-action/internal/bundle/checkout"
	"github.com/nvidia/aicr-action/internal/util/texttemplate"
)

const (
	mostRendered = 10 << 20 // bytes that a template may become
	mostReadable = 1 << 20  // bytes of a file that readFile of a template finds
)

// data is what a template sees.
func (r *Reader) data(env environment) map[string]any {
	values := env.merged()
	return map[string]any{
		"Environment": map[string]any{"Name": r.name(), "KubeContext": "", "Values": merge(nil, env.values)},
		"Values":      values, "StateValues": values, "Namespace": "", "KubeContext": "", "Chart": "",
	}
}

// evaluate evaluates a template of a file.
func (r *Reader) evaluate(ctx context.Context, name, text string, data map[string]any) (string, error) {
	with := &texttemplate.Helmfile{Dir: path.Dir(name)}
	if needsFiles.MatchString(text) {
		if err := r.gather(); err != nil {
			return "", err
		}
		with.Files = r.readable
	}
	made, asked, err := r.templates.Ask(ctx, texttemplate.Template{Name: name, Text: text, Most: mostRendered, Helmfile: with}, data)
	for _, variable := range asked {
		if !slices.Contains(r.asked, variable) {
			r.asked = append(r.asked, variable)
			r.Note("the variable %s, which a template reads from the environment, is empty", variable)
		}
	}
	if m := inError.FindStringSubmatch(fmt.Sprint(err)); m != nil {
		line, _ := strconv.Atoi(m[1])
		err = &templateError{line, strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(m[2]), `executing "helmfile" at `), ": ")}
	}
	return made, err
}

// templateError is what is wrong with a template, at a line of it from 1.
type templateError struct {
	line int
	text string
}

func (e *templateError) Error() string { return e.text }

// lineOf is the line that an error of a template names; 1 without one.
func lineOf(err error) int {
	var t *templateError
	if errors.As(err, &t) && t.line > 0 {
		return t.line
	}
	return 1
}

// inError has the line in an error of Go's templates, and the rest.
var inError = regexp.MustCompile(`(?s)^template: [^:]+:(\d+)(?::\d+)?: (.*)$`)

// needsFiles finds the functions that read a file, or that run another text, which may. The files go to
// the process of templates with each template that has one of them.
var needsFiles = regexp.MustCompile(`\b(?:readFile|readDir|isFile|isDir|tpl|include|template)\b`)

// gather reads the files that functions of a template can read.
func (r *Reader) gather() error {
	if r.readable != nil {
		return nil
	}
	all, err := r.Repo.Walk(".", func(dir string) bool { return path.Base(dir) == ".git" })
	if err != nil {
		return err
	}
	r.readable = map[string]string{}
	size := 0
	for _, name := range all {
		content, err := r.Repo.Read(name)
		if err != nil || len(content) > mostReadable || bytes.IndexByte(content, 0) >= 0 {
			continue // a template that reads it gets an error
		}
		if size += len(content); size > checkout.MostBytes {
			return fmt.Errorf("the repository has more than %d MiB of text, which templates of helmfile might read", checkout.MostBytes>>20)
		}
		r.readable[name] = string(content)
	}
	return nil
}
