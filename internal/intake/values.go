package intake

import (
	"path"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/recipe"
)

func (t *tree) noOrigins() map[string]recipe.Origin { return map[string]recipe.Origin{} }

// valuesFile reads a file of values. Script and line name it.
func (t *tree) valuesFile(from string, line int, name string) (valueSet, error) {
	if _, ok := t.files[name]; !ok {
		return valueSet{}, t.bad(from, line, "values file %s is not in the bundle", name)
	}
	docs, err := t.documents(name)
	if err != nil {
		return valueSet{}, err
	}
	var root *yamlv3.Node
	if len(docs) > 1 {
		return valueSet{}, t.bad(name, docs[1].Line, "a second document: Helm reads one")
	}
	if len(docs) == 1 {
		root = docs[0]
	}
	v, err := valuesAt(root, func(line int) recipe.Origin { return t.at(name, line) })
	if err != nil {
		return v, t.bad(name, 0, "%w", err)
	}
	if v.whole.File == "" {
		v.whole = t.at(name, 1)
	}
	return v, nil
}

// localChart makes the unit one of a chart in the bundle, with the chart's own values.
func (t *tree) localChart(u *unit, dir string) error {
	if _, ok := t.files[path.Join(dir, "Chart.yaml")]; !ok {
		return &recipe.FileError{File: u.at.File, Line: u.at.Line, Err: &notAChart{dir}}
	}
	var err error
	if u.local, err = t.chart(dir); err != nil {
		return err
	}
	u.dir = dir
	if _, ok := t.files[path.Join(dir, "values.yaml")]; ok {
		u.values, err = t.valuesFile(dir, 0, path.Join(dir, "values.yaml"))
	}
	return err
}

type notAChart struct{ dir string }

func (e *notAChart) Error() string {
	return "the directory " + e.dir + " of the bundle has no Chart.yaml; the lanes take charts only"
}
