// Package texttemplate executes untrusted Go templates in a separate process, because a template
// has loops and can produce text without end. A template may see only its values.
package texttemplate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"text/template"
	"time"

	"github.com/nvidia/aicr-action/internal/util/confined"
	"github.com/nvidia/aicr-action/internal/util/reexec"
)

// execution is the name of the process.
const execution = "executing templates"

// Hidden returns the hidden command that a Renderer starts.
func Hidden() []reexec.Command {
	return []reexec.Command{{Name: execution, Run: func(args []string) error {
		register()
		return confined.Serve(args, answer)
	}}}
}

// arithmetic are the functions that a template may call besides Go's own, which read nothing but
// their arguments.
func arithmetic() template.FuncMap {
	return template.FuncMap{
		"mul": func(a, b int) int { return a * b },
		"div": func(a, b int) (int, error) {
			if b == 0 {
				return 0, errors.New("division by zero")
			}
			return a / b, nil
		},
	}
}

// Template is a text with its name in errors.
type Template struct {
	Name, Text string
	// Strict makes a value that is not there an error; otherwise "<no value>" is printed.
	Strict bool
	// Arithmetic adds the functions mul and div.
	Arithmetic bool
	// Helmfile, if not nil, makes it a template of helmfile, whatever Strict and Arithmetic are.
	Helmfile *Helmfile
	// ApplicationSet, if not nil, makes it one of an ApplicationSet of Argo CD, likewise.
	ApplicationSet *ApplicationSet
	// Most is how long the result may be, in bytes.
	Most int
}

// Parse finds what is wrong with the template's text, and executes nothing.
func (t Template) Parse() (*template.Template, error) {
	return t.parse(new([]string))
}

func (t Template) parse(asked *[]string) (*template.Template, error) {
	if t.Helmfile != nil {
		return t.Helmfile.parse(t.Text, asked)
	}
	if t.ApplicationSet != nil {
		return t.ApplicationSet.parse(t.Text)
	}
	parsed := template.New(t.Name)
	if t.Arithmetic {
		parsed = parsed.Funcs(arithmetic())
	}
	if t.Strict {
		parsed = parsed.Option("missingkey=error")
	}
	return parsed.Parse(t.Text)
}

// Renderer executes templates in a process that it starts when it is first needed. Close it.
type Renderer struct {
	once   bool
	worker confined.Worker[question, result]
}

// Close ends the process, if there is one.
func (r *Renderer) Close() { r.worker.Close() }

// Execute gives the template's text with these values: what YAML can have. Errors are the
// template's own words, those of a limit, or ctx's.
func (r *Renderer) Execute(ctx context.Context, t Template, values map[string]any) (string, error) {
	text, _, err := r.Ask(ctx, t, values)
	return text, err
}

// Ask is Execute, and gives the names of the variables of the environment that the template asked
// for. It got empty ones.
func (r *Renderer) Ask(ctx context.Context, t Template, values map[string]any) (text string, asked []string, err error) {
	if !r.once {
		register()
		r.worker.Name, r.worker.Limits, r.once = execution, confined.Limits{Time: 10 * time.Second, Memory: 512 << 20}, true
	}
	got, err := r.worker.Ask(ctx, question{Template: t, Values: values})
	if limit := (*confined.LimitError)(nil); errors.As(err, &limit) {
		return "", nil, fmt.Errorf("%s: %w; no template needs that: look for a loop that never ends, or a text that grows", t.Name, err)
	}
	if err != nil {
		return "", nil, err
	}
	if got.Err != "" {
		return "", nil, errors.New(got.Err)
	}
	return got.Text, got.Asked, nil
}

type question struct {
	Template Template
	Values   map[string]any
}

type result struct {
	Text, Err string
	Asked     []string
}

func answer(q question) (r result) {
	defer func() {
		if failed := recover(); failed != nil {
			r = result{Err: fmt.Sprintf("%s: %v", q.Template.Name, failed)}
		}
	}()
	var asked []string
	parsed, err := q.Template.parse(&asked)
	if err != nil {
		return result{Err: err.Error()}
	}
	text := &limited{most: q.Template.Most}
	if err := parsed.Execute(text, withEmpty(q.Values)); err != nil {
		return result{Err: err.Error()}
	}
	return result{Text: text.String(), Asked: asked}
}

// limited ends a template that prints without end.
type limited struct {
	bytes.Buffer
	most int
}

func (l *limited) Write(p []byte) (int, error) {
	if l.Len()+len(p) > l.most {
		return 0, fmt.Errorf("it becomes longer than %d MiB", l.most>>20)
	}
	return l.Buffer.Write(p)
}
