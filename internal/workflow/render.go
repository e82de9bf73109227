package workflow

import (
	"context"
	"errors"
	"fmt"
	"go/constant"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/util/filesys"
	"github.com/nvidia/aicr-action/internal/util/texttemplate"
)

// The values of a template besides the task's own.
const (
	enumKey = "_ENUM_" // counts the objects of a type, from 1
	nameKey = "_NAME_" // the object's name, by nameFormat
)

// mostPods is the most pods of one object.
const mostPods = 1 << 20

// objectType is what registerObj registers.
type objectType struct {
	task   *Task
	params *registerParams
	// file is the path of the template.
	file                                   string
	template, nameTpl, podNameTpl, podsTpl *templateText
	// with executes them.
	with *texttemplate.Renderer
	// made counts objects over all tasks that submit this type.
	made int
}

// submission is what one submitObj submits.
type submission struct {
	task     *Task
	canExist bool
	objects  []*object
}

// object is one of its objects: the documents of its template, and which pods it has.
type object struct {
	name      string
	documents []*unstructured.Unstructured
	// podName matches the whole name of each of its pods; nil if the type has no podNameFormat.
	podName *regexp.Regexp
	// neverMatched says why no pod can have such a name, "" if one can.
	neverMatched string
	// pods is how many it has; 0 if the type has no podCount.
	pods int
	// warning is what is doubtful about it, "" for nothing.
	warning string
}

// namespace returns the pods' namespace.
func (o *object) namespace() string {
	for _, d := range o.documents {
		if d.GetNamespace() != "" {
			return d.GetNamespace()
		}
	}
	return "default"
}

// findTemplate looks for a template where Knavigator does, in the working directory, then beside
// the workflow and in each directory above.
func findTemplate(workflow, path string) (string, error) {
	if filepath.IsAbs(path) {
		_, err := os.Stat(path)
		return path, err
	}
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	abs, err := filepath.Abs(workflow)
	if err != nil {
		return "", err
	}
	for dir := filepath.Dir(abs); ; dir = filepath.Dir(dir) {
		if file := filepath.Join(dir, path); isFile(file) {
			return file, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("it is neither in the working directory nor in %s or a directory above", filepath.Dir(workflow))
		}
	}
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// templateNames are the allowed endings of template files. A workflow is untrusted text: it must
// not have any file of the machine read.
var templateNames = []string{".yaml", ".yml", ".tmpl", ".tpl"}

func newObjectType(t *Task, with *texttemplate.Renderer) (*objectType, error) {
	p := t.params.(*registerParams)
	if !slices.Contains(templateNames, filepath.Ext(p.Template)) {
		return nil, fmt.Errorf("template %s: a template is a file that ends in .yaml, .yml, .tmpl or .tpl; rename it", p.Template)
	}
	file, err := findTemplate(t.File, p.Template)
	if err != nil {
		return nil, fmt.Errorf("template %s: %w", p.Template, err)
	}
	raw, err := filesys.File(file, maxFile)
	if err != nil {
		return nil, fmt.Errorf("template %s: %w", p.Template, err)
	}
	o := &objectType{task: t, params: p, file: file, with: with}
	for _, part := range []struct {
		name, text string
		to         **templateText
	}{{"template", string(raw), &o.template}, {"nameFormat", p.NameFormat, &o.nameTpl}, {"podNameFormat", p.PodNameFormat, &o.podNameTpl}, {"podCount", p.PodCount, &o.podsTpl}} {
		if part.text == "" && part.name != "template" {
			continue
		}
		name := part.name
		if name == "template" {
			name = p.Template
		}
		source := texttemplate.Template{Name: name, Text: part.text, Most: maxFile}
		parsed, err := source.Parse()
		if err != nil {
			return nil, fmt.Errorf("%s does not parse: %w", part.name, err)
		}
		*part.to = &templateText{source, parsed}
	}
	return o, nil
}

// noValue is what a template prints for a missing value.
const noValue = "<no value>"

var (
	templateAction = regexp.MustCompile(`\{\{[^}]*\}\}`)
	templateKey    = regexp.MustCompile(`(?:^|[^A-Za-z0-9_\])"])\.([A-Za-z_][A-Za-z0-9_]*)`)
)

// missingValueError is a missing value that a template prints.
type missingValueError struct{ text string }

func (m *missingValueError) Error() string { return m.text }

// templateText is a template and its parsed form.
type templateText struct {
	source texttemplate.Template
	parsed *template.Template
}

// execute renders a template. A missing value that is printed is a *missingValueError, beside the
// text.
func (o *objectType) execute(t *templateText, values map[string]any) (string, error) {
	text, err := o.with.Execute(context.Background(), t.source, values) // the process has a limit of time
	if err != nil {
		return "", fmt.Errorf("it does not render: %w", err)
	}
	if !strings.Contains(text, noValue) {
		return text, nil
	}
	absent := map[string]bool{}
	missing := strings.Count(text, noValue)
	for _, action := range templateAction.FindAllString(t.parsed.Root.String(), -1) {
		for _, m := range templateKey.FindAllStringSubmatch(action, -1) {
			if _, ok := values[m[1]]; !ok && !absent[m[1]] {
				absent[m[1]] = o.printed(t, values, m[1], missing)
			}
		}
	}
	at := 1 + strings.Count(text[:strings.Index(text, noValue)], "\n")
	return text, &missingValueError{fmt.Sprintf("%s: line %d of its output lacks a value; params do not have: %s", t.source.Name, at, strings.Join(sorted(onlyTrue(absent)), ", "))}
}

func onlyTrue(set map[string]bool) map[string]bool {
	maps.DeleteFunc(set, func(_ string, is bool) bool { return !is })
	return set
}

// printed reports whether fewer values are missing with this one.
func (o *objectType) printed(t *templateText, values map[string]any, key string, missing int) bool {
	with := maps.Clone(values)
	if with == nil {
		with = map[string]any{}
	}
	with[key] = "x"
	text, err := o.with.Execute(context.Background(), t.source, with)
	return err == nil && strings.Count(text, noValue) < missing
}

// render makes the objects of a submitObj.
func (o *objectType) render(t *Task) (*submission, error) {
	p := t.params.(*submitParams)
	s := &submission{task: t, canExist: p.CanExist}
	count := 1
	if p.Count != nil {
		count = *p.Count
	}
	seen := map[string]bool{}
	for range count {
		o.made++
		one, err := o.renderOne(p.Params)
		if err != nil {
			return nil, err
		}
		for _, d := range one.documents {
			id := d.GroupVersionKind().String() + " " + infra.NamespacedName(d.GetNamespace(), d.GetName())
			if seen[id] {
				return nil, fmt.Errorf("count %d makes %s %s twice; its template needs the name {{.%s}}, and its RegisterObj a nameFormat with {{.%s}}", count, d.GetKind(), d.GetName(), nameKey, enumKey)
			}
			seen[id] = true
		}
		s.objects = append(s.objects, one)
	}
	return s, nil
}

func (o *objectType) renderOne(params map[string]any) (*object, error) {
	values := maps.Clone(params)
	if values == nil {
		values = map[string]any{}
	}
	values[enumKey] = o.made
	one := &object{}
	var err error
	if o.nameTpl != nil {
		if one.name, err = o.execute(o.nameTpl, values); err != nil {
			return nil, fmt.Errorf("nameFormat: %w", err)
		}
		values[nameKey] = one.name
	}
	text, err := o.execute(o.template, values)
	var absent *missingValueError
	if err != nil && !errors.As(err, &absent) {
		return nil, fmt.Errorf("template: %w", err)
	}
	if one.documents, err = infra.DecodeObjects([]byte(text)); err != nil {
		return nil, fmt.Errorf("template %s does not render to YAML: %w", o.params.Template, err)
	}
	if len(one.documents) == 0 {
		return nil, fmt.Errorf("template %s renders to nothing", o.params.Template)
	}
	for _, d := range one.documents {
		// Only the controller of a custom resource knows whether the text is fine; Kubernetes' own
		// kinds have no use for it.
		if absent != nil && scheme.Scheme.Recognizes(d.GroupVersionKind()) && strings.Contains(fmt.Sprint(d.Object), noValue) {
			return nil, fmt.Errorf("template: %w", absent)
		}
		if d.GetAPIVersion() == "" || d.GetKind() == "" || d.GetName() == "" {
			return nil, fmt.Errorf("template %s renders to an object without apiVersion, kind or metadata.name", o.params.Template)
		}
	}
	if absent != nil {
		one.warning = fmt.Sprintf("%s, and %q is in its place", absent.text, noValue)
	}
	if one.name == "" {
		one.name = one.documents[0].GetName()
	}
	return one, o.renderPods(one, values)
}

func (o *objectType) renderPods(one *object, values map[string]any) error {
	if o.podsTpl != nil {
		text, err := o.execute(o.podsTpl, values)
		if err != nil {
			return fmt.Errorf("podCount: %w", err)
		}
		if one.pods, err = number(text); err != nil {
			return fmt.Errorf("podCount: %w", err)
		}
	}
	if o.podNameTpl == nil {
		return nil
	}
	text, err := o.execute(o.podNameTpl, values)
	if err != nil {
		return fmt.Errorf("podNameFormat: %w", err)
	}
	text = strings.Trim(strings.TrimSpace(text), `"`)
	if one.podName, err = regexp.Compile("^(?:" + text + ")$"); err != nil {
		return fmt.Errorf("podNameFormat %q is no regular expression: %w", text, err)
	}
	one.neverMatched = one.neverMatches(text)
	return nil
}

// number evaluates a podCount, which may be a sum or a product.
func number(text string) (int, error) {
	text = strings.Trim(strings.TrimSpace(text), `"`)
	if len(text) > 100 {
		return 0, errors.New("it is no number")
	}
	v, err := types.Eval(token.NewFileSet(), nil, token.NoPos, text)
	if err == nil && v.Value != nil && v.Value.Kind() == constant.Int {
		if n, exact := constant.Int64Val(v.Value); exact && n >= 1 && n <= mostPods {
			return int(n), nil
		}
	}
	return 0, fmt.Errorf("%q is no number from 1 to %d", text, mostPods)
}
