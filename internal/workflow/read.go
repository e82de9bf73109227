package workflow

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/infra/addons"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/filesys"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// maxFile is the largest workflow or template that is read, in bytes.
const maxFile = 4 << 20

// Files returns the workflow files that the arguments name: files, and directories, of which every
// *.yaml and *.yml is taken by name.
func Files(args []string) ([]string, error) {
	var files []string
	for _, arg := range args {
		info, err := os.Stat(arg)
		if err != nil {
			return nil, reason.New(reason.Usage, "find workflow %s: %w", arg, err)
		}
		if !info.IsDir() {
			files = append(files, arg)
			continue
		}
		entries, err := os.ReadDir(arg)
		if err != nil {
			return nil, reason.New(reason.Usage, "list workflows in %s: %w", arg, err)
		}
		before := len(files)
		for _, e := range entries {
			if ext := filepath.Ext(e.Name()); !e.IsDir() && (ext == ".yaml" || ext == ".yml") {
				files = append(files, filepath.Join(arg, e.Name()))
			}
		}
		if len(files) == before {
			return nil, reason.New(reason.Usage, "no *.yaml or *.yml in %s", arg)
		}
	}
	return files, nil
}

// Read reads workflows. The problems are those of single tasks; Check finds those between tasks.
func Read(files []string) ([]*Workflow, Problems) {
	var all []*Workflow
	var problems Problems
	for _, file := range files {
		w, wrong := read(file)
		all, problems = append(all, w), append(problems, wrong...)
	}
	return all, problems
}

// fileFormat is a workflow as a file has it, and taskFormat one of its tasks.
type fileFormat struct {
	Name        string      `yaml:"name"`
	Description string      `yaml:"description"`
	Stages      []string    `yaml:"stages"`
	Schedulers  []string    `yaml:"schedulers"`
	Controllers []string    `yaml:"controllers"`
	HalfPlaced  *Duration   `yaml:"halfPlacedAtMost"`
	Tasks       []yaml.Node `yaml:"tasks"`
}

type taskFormat struct {
	ID          string    `yaml:"id"`
	Type        string    `yaml:"type"`
	Description string    `yaml:"description"`
	Params      yaml.Node `yaml:"params"`
}

// Format gives, for programs that describe the format, zero values of what a file and a task are
// read into, and of the params of each type of task. Their yaml tags are the names of fields.
func Format() (file, task any, params map[string]any) {
	params = map[string]any{}
	for _, name := range taskTypes() {
		params[name] = newParams(name)
	}
	return fileFormat{}, taskFormat{}, params
}

func read(file string) (*Workflow, Problems) {
	w := &Workflow{File: file}
	raw, err := filesys.File(file, maxFile)
	if err != nil {
		return w, Problems{{File: file, Text: err.Error()}}
	}
	docs, err := yamlx.Documents(raw)
	if err != nil {
		return w, located(file, yamlx.Problems(err))
	}
	if len(docs) != 1 || len(docs[0].Content) == 0 {
		return w, Problems{{File: file, Line: 1, Text: fmt.Sprintf("want one YAML document with name and tasks; there are %d", len(docs))}}
	}
	var f fileFormat
	if wrong := yamlx.DecodeNode(docs[0].Content[0], &f); len(wrong) > 0 {
		return w, located(file, wrong)
	}
	w.Name, w.Description, w.Stages, w.Schedulers, w.Controllers = f.Name, f.Description, f.Stages, f.Schedulers, f.Controllers
	line := func(field string) int { return max(lineOf(docs[0].Content[0], field), 1) }
	var problems Problems
	if f.HalfPlaced != nil {
		w.HalfPlacedAtMost, w.halfPlacedLine = *f.HalfPlaced, line("halfPlacedAtMost")
		if w.HalfPlacedAtMost <= 0 {
			problems = append(problems, Problem{File: file, Line: w.halfPlacedLine, Text: "halfPlacedAtMost: want a time of more than 0, since pods are bound one after the other"})
		}
	}
	known := func(field string, names, shipped []string) {
		for _, name := range names {
			if !slices.Contains(shipped, name) {
				problems = append(problems, Problem{File: file, Line: line(field), Text: fmt.Sprintf("%s: %q is none of %s", field, name, strings.Join(shipped, ", "))})
			}
		}
	}
	known("schedulers", w.Schedulers, addons.Shipped())
	known("controllers", w.Controllers, addons.Controllers())
	if w.Name == "" {
		problems = append(problems, Problem{File: file, Line: 1, Text: "name is required"})
	}
	for _, s := range w.Stages {
		if !slices.Contains(StageNames(), s) {
			problems = append(problems, Problem{File: file, Line: 1, Text: fmt.Sprintf("stages: %q is none of %s", s, strings.Join(StageNames(), ", "))})
		}
	}
	if len(f.Tasks) == 0 {
		problems = append(problems, Problem{File: file, Line: 1, Text: "tasks: there are none"})
	}
	for i := range f.Tasks {
		task, wrong := readTask(file, &f.Tasks[i])
		problems = append(problems, wrong...)
		if task != nil {
			w.Tasks = append(w.Tasks, task)
		}
	}
	return w, problems
}

func located(file string, problems []yamlx.Problem) Problems {
	var all Problems
	for _, p := range problems {
		all = append(all, Problem{File: file, Line: p.Line, Text: p.Text})
	}
	return all
}

func readTask(file string, n *yaml.Node) (*Task, Problems) {
	var f taskFormat
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.MappingNode {
		return nil, Problems{{File: file, Line: n.Line, Text: "a task is a mapping with id, type and params"}}
	}
	// Params is a node that is decoded later.
	wrong := yamlx.DecodeNode(n, &f)
	t := &Task{ID: f.ID, Type: f.Type, Description: f.Description, File: file, Line: n.Line}
	t.params = newParams(t.Type)
	switch {
	case t.ID == "":
		return nil, Problems{t.problem(0, "id is required")}
	case t.params == nil:
		return nil, Problems{t.problem(lineOf(n, "type"), "unknown type %q; there are: %s", t.Type, strings.Join(taskTypes(), ", "))}
	}
	params := &f.Params
	if params.Kind != 0 && params.Tag != "!!null" {
		wrong = append(wrong, yamlx.DecodeNode(params, t.params)...)
	}
	var problems Problems
	for _, p := range wrong {
		problems = append(problems, t.problem(p.Line, "%s", p.Text))
	}
	if len(problems) == 0 {
		problems = t.check(func(field string) int { return max(lineOf(params, field), t.Line) })
	}
	return t, problems
}

// lineOf returns the line of a field of a mapping; 0 if there is none of that name.
func lineOf(n *yaml.Node, field string) int {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == field {
			return n.Content[i].Line
		}
	}
	return 0
}
