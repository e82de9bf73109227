package workflow

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/util/texttemplate"
)

// Plan is workflows without errors: every reference is valid, and every object is rendered.
type Plan struct {
	Workflows []*Workflow
	// Warnings are doubtful points that are no errors.
	Warnings Problems

	submissions map[*Task]*submission // of submitObj tasks
	refs        map[*Task]*submission // of tasks that refer to one
	schedulers  []schedulerUse
}

// schedulerUse is a scheduler that objects of a task request.
type schedulerUse struct {
	name string
	task *Task
}

// Check follows the references of workflows in the order in which they run, and renders every
// object. What one file registers, the next may use. A task id may be used again; a reference means
// the last one before.
func Check(workflows []*Workflow) (*Plan, Problems) {
	p := &Plan{Workflows: workflows, submissions: map[*Task]*submission{}, refs: map[*Task]*submission{}}
	var problems Problems
	types := map[string]*objectType{}
	submitted := map[string]*submission{}
	with := &texttemplate.Renderer{}
	defer with.Close()
	for w, flow := range workflows {
		for i, t := range flow.Tasks {
			if err := p.check(t, with, types, submitted); err != nil {
				text := err.Error()
				if ref := reference(t); ref != "" && isMissing(err) {
					text += laterTask(workflows, w, i, ref)
				}
				problems = append(problems, t.problem(0, "%s", text))
			}
		}
	}
	return p, problems
}

type missing struct{ text string }

func (m *missing) Error() string { return m.text }

func isMissing(err error) bool {
	var m *missing
	return errors.As(err, &m)
}

func (p *Plan) check(t *Task, with *texttemplate.Renderer, types map[string]*objectType, submitted map[string]*submission) error {
	switch params := t.params.(type) {
	case *registerParams:
		registered, err := newObjectType(t, with)
		types[t.ID] = registered // also if it is nil: what refers to it is not at fault
		return err
	case *submitParams:
		registered, ok := types[params.RefTaskID]
		if !ok {
			return &missing{fmt.Sprintf("refTaskId %q: no RegisterObj before it has that id%s", params.RefTaskID, thereAre(types))}
		}
		submitted[t.ID] = nil
		if registered == nil {
			return nil
		}
		s, err := registered.render(t)
		if err != nil {
			return err
		}
		submitted[t.ID], p.submissions[t] = s, s
		for _, w := range []string{s.objects[0].warning, s.objects[0].neverMatched} {
			if w != "" {
				p.Warnings = append(p.Warnings, t.problem(0, "%s", w))
			}
		}
		for _, name := range schedulersOf(s) {
			p.schedulers = append(p.schedulers, schedulerUse{name, t})
		}
		return nil
	}
	ref := reference(t)
	if ref == "" {
		return nil
	}
	s, ok := submitted[ref]
	if !ok {
		return &missing{fmt.Sprintf("refTaskId %q: no SubmitObj before it has that id%s", ref, thereAre(submitted))}
	}
	p.refs[t] = s
	return checkUse(t, s)
}

// checkUse reports whether a task can work on what was submitted.
func checkUse(t *Task, s *submission) error {
	if s == nil {
		return nil
	}
	first := s.objects[0]
	switch params := t.params.(type) {
	case *stateParams:
		if params.Index >= len(first.documents) {
			return fmt.Errorf("index %d: the template of %s has %d documents, counted from 0", params.Index, s.task.ID, len(first.documents))
		}
	case *checkPodParams:
		if first.podName == nil || first.pods == 0 {
			return fmt.Errorf("the objects of %s have no pods to check: their RegisterObj needs podNameFormat and podCount", s.task.ID)
		}
		if first.neverMatched != "" {
			return errors.New(first.neverMatched)
		}
	}
	return nil
}

// reference returns the refTaskId of a task, "" if it has none.
func reference(t *Task) string {
	switch p := t.params.(type) {
	case *submitParams:
		return p.RefTaskID
	case *stateParams:
		return p.RefTaskID
	case *checkPodParams:
		return p.RefTaskID
	case *deleteParams:
		return p.RefTaskID
	}
	return ""
}

func thereAre[T any](known map[string]T) string {
	if len(known) == 0 {
		return ""
	}
	return "; there are: " + strings.Join(slices.Sorted(maps.Keys(known)), ", ")
}

// laterTask returns the hint for a reference to a task that runs later.
func laterTask(workflows []*Workflow, w, i int, ref string) string {
	for ; w < len(workflows); w, i = w+1, -1 {
		for _, t := range workflows[w].Tasks[min(i+1, len(workflows[w].Tasks)):] {
			if t.ID == ref {
				return fmt.Sprintf(". A later task has it: %s:%d (%s)", t.File, t.Line, t.Type)
			}
		}
	}
	return ""
}

// schedulersOf returns the schedulers that objects request in the field schedulerName, at any
// depth.
func schedulersOf(s *submission) []string {
	found := map[string]bool{}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for key, child := range v {
				if name, ok := child.(string); ok && key == "schedulerName" && name != "" {
					found[name] = true
				}
				walk(child)
			}
		case []any:
			for _, child := range v {
				walk(child)
			}
		}
	}
	for _, o := range s.objects {
		for _, d := range o.documents {
			walk(d.Object)
		}
	}
	return sorted(found)
}

// MissingSchedulers returns the tasks whose objects request a scheduler that does not run.
func (p *Plan) MissingSchedulers(running []string) Problems {
	running = append([]string{corev1.DefaultSchedulerName}, running...)
	var all Problems
	for _, use := range p.schedulers {
		if !slices.Contains(running, use.name) {
			all = append(all, use.task.problem(0, "its objects ask for the scheduler %q, which does not run in this cluster; there are: %s", use.name, strings.Join(running, ", ")))
		}
	}
	return all
}

// Stages returns the KWOK stages that the workflows request, sorted: in their own field, or by the
// label of a stage on what they submit. KWOK's chart installs these stages in every cluster, so that
// Knavigator's workflows have only the label.
func (p *Plan) Stages() []string {
	labelled := map[string]bool{}
	for _, s := range p.submissions {
		for _, o := range s.objects {
			for _, d := range o.documents {
				stagesOf(d.Object, labelled)
			}
		}
	}
	for _, name := range p.names(func(w *Workflow) []string { return w.Stages }) {
		labelled[name] = true
	}
	return sorted(labelled)
}

// Schedulers returns the shipped schedulers that the workflows request, sorted.
func (p *Plan) Schedulers() []string {
	return p.names(func(w *Workflow) []string { return w.Schedulers })
}

// Controllers returns the shipped controllers that the workflows request, sorted.
func (p *Plan) Controllers() []string {
	return p.names(func(w *Workflow) []string { return w.Controllers })
}

// names returns what the workflows have in a field, sorted, each once.
func (p *Plan) names(of func(*Workflow) []string) []string {
	names := map[string]bool{}
	for _, w := range p.Workflows {
		for _, name := range of(w) {
			names[name] = true
		}
	}
	return sorted(names)
}

func sorted(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }
