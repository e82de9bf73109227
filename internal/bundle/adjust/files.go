package adjust

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// files changes the files of a bundle that was made. The first fault is remembered, and is the error
// of done.
type files struct {
	bundle *bundle.Bundle
	err    error
}

func filesOf(b *bundle.Bundle) *files {
	b.Files = slices.Clone(b.Files)
	return &files{bundle: b}
}

func (f *files) fail(format string, args ...any) {
	if f.err == nil {
		f.err = fmt.Errorf(format, args...)
	}
}

func (f *files) index(path string) int {
	return slices.IndexFunc(f.bundle.Files, func(file bundle.File) bool { return file.Path == path })
}

// content is that of a file of the bundle.
func (f *files) content(path string) []byte {
	if i := f.index(path); i >= 0 {
		return f.bundle.Files[i].Content
	}
	f.fail("the bundle has no %s", path)
	return nil
}

func (f *files) replace(path string, content []byte) {
	if i := f.index(path); i >= 0 {
		f.bundle.Files[i].Content = content
	}
}

// add adds a YAML file.
func (f *files) add(path string, object any) {
	text, err := marshal(object)
	if err != nil {
		f.fail("%s: %w", path, err)
	}
	f.bundle.Files = append(f.bundle.Files, bundle.File{Path: path, Mode: 0o644, Content: text})
}

// edit changes the object of a YAML file that has one.
func (f *files) edit(path string, change func(map[string]any)) {
	f.editAll(path, func(o map[string]any) bool { change(o); return true })
}

// separator is between the documents of a file; within one, such a line is indented.
var separator = regexp.MustCompile(`(?m)^---\n`)

// editAll changes the objects of a YAML file; a file of which none is changed keeps its bytes.
func (f *files) editAll(path string, change func(map[string]any) bool) {
	var out bytes.Buffer
	changed := false
	for i, text := range separator.Split(string(f.content(path)), -1) {
		o := map[string]any{}
		if err := yaml.Unmarshal([]byte(text), &o); err != nil {
			f.fail("%s: %w", path, err)
			return
		}
		changed = change(o) || changed
		again, err := marshal(o)
		if err != nil {
			f.fail("%s: %w", path, err)
		}
		if i > 0 {
			out.WriteString("---\n")
		}
		out.Write(again)
	}
	if changed {
		f.replace(path, out.Bytes())
	}
}

// chartValues are the values of a component in the chart of its manifests.
func (f *files) chartValues(r bundle.Release) map[string]any {
	return f.valuesBelow(r.Name+"/chart/values.yaml", r.ValuesKey())
}

// valuesBelow are the values below a key of a file.
func (f *files) valuesBelow(path, key string) map[string]any {
	all := map[string]any{}
	if err := yaml.Unmarshal(f.content(path), &all); err != nil {
		f.fail("%s: %w", path, err)
	}
	own, _ := all[key].(map[string]any)
	return own
}

// swap replaces a text that a file has once.
func (f *files) swap(path, old, new string) {
	text := string(f.content(path))
	if n := strings.Count(text, old); n != 1 {
		f.fail("%s has %q %d times, and not once", path, old, n)
		return
	}
	f.replace(path, []byte(strings.Replace(text, old, new, 1)))
}

// addLast appends to the only line of a file that begins so.
func (f *files) addLast(path, begins, end string) {
	lines := strings.Split(string(f.content(path)), "\n")
	i := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, begins) })
	if i < 0 {
		f.fail("%s has no line %q", path, begins)
		return
	}
	lines[i] += end
	f.replace(path, []byte(strings.Join(lines, "\n")))
}

// done sorts the files and computes their checksums again.
func (f *files) done() error {
	if f.err != nil {
		return f.err
	}
	return f.bundle.Sum()
}

func marshal(v any) ([]byte, error) { return yaml.Marshal(v) }
