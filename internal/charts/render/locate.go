package render

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// What Kustomize's errors say, as far as it leads to a place.
var (
	unknownField = regexp.MustCompile(`unknown field "([^"]+)"`)
	identity     = regexp.MustCompile(`(?:unique target for patch|already registered id:|no matches for Id|find a match for) *([A-Za-z0-9]+)\.[^/\s]*/([^.\s\[]+)`)
	missingPath  = regexp.MustCompile(`(?:missing path|path): "?(/[^\s:"]+)`)
	noReplicas   = regexp.MustCompile(`resource with name (\S+) does not match a config`)
	noBase       = regexp.MustCompile(`(ConfigMap|Secret) (\S+) does not exist, and a generator`)
	atLine       = regexp.MustCompile(`line (\d+)`)
)

// LocateInKustomization finds the file of a build that an error of Build is about, and the line in it, 0 if that is
// not known. Without a file that the error leads to, it is the kustomization that is built.
func LocateInKustomization(in KustomizationInput, err error) (file string, line int) {
	text := err.Error()
	named := in.named(text)
	for _, name := range named {
		_, problem := yamlx.Documents(in.Files[name])
		if problem != nil && isYAML(name) {
			return name, yamlx.Problems(problem)[0].Line
		}
	}
	if m := unknownField.FindStringSubmatch(text); m != nil {
		for _, name := range slices.Concat(named, in.kustomizations()) {
			if at := in.find(name, func(n *yamlv3.Node) bool { return yamlx.Find(n, m[1]) != nil }, m[1]); at > 0 {
				return name, at
			}
		}
	}
	if m := identity.FindStringSubmatch(text); m != nil {
		files, again := in.names(), strings.Contains(text, "already registered")
		if again && len(named) > 0 {
			files = named[:1]
		}
		if name, at := in.patchOrObject(m[1], m[2], again, files); at > 0 {
			return name, at
		}
	}
	if m := noBase.FindStringSubmatch(text); m != nil {
		for _, name := range in.kustomizations() {
			if at := in.entry(name, strings.ToLower(m[1][:1])+m[1][1:]+"Generator", m[2]); at > 0 {
				return name, at
			}
		}
	}
	if m := noReplicas.FindStringSubmatch(text); m != nil {
		for _, name := range in.kustomizations() {
			if at := in.entry(name, "replicas", m[1]); at > 0 {
				return name, at
			}
		}
	}
	if m := missingPath.FindStringSubmatch(text); m != nil {
		for _, name := range slices.Concat(named, in.kustomizations(), in.names()) {
			if at := lineWith(in.Files[name], m[1]); at > 0 && isYAML(name) {
				return name, at
			}
		}
	}
	if len(named) > 0 {
		if m := atLine.FindStringSubmatch(text); m != nil && len(named) == 1 {
			line, _ = strconv.Atoi(m[1])
		}
		return named[0], line
	}
	for _, name := range in.kustomizations() {
		if path.Dir(name) == path.Clean(in.Dir) {
			return name, 0
		}
	}
	return "", 0
}

func isYAML(name string) bool { return path.Ext(name) == ".yaml" || path.Ext(name) == ".yml" }

// names are the files, sorted.
func (in KustomizationInput) names() []string {
	var all []string
	for name := range in.Files {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// kustomizations are the files of kustomizations, that which is built first.
func (in KustomizationInput) kustomizations() []string {
	var all []string
	for _, name := range in.names() {
		if base := strings.ToLower(strings.TrimSuffix(path.Base(name), path.Ext(name))); base == "kustomization" {
			all = append(all, name)
		}
	}
	slices.SortStableFunc(all, func(a, b string) int {
		own := func(name string) int {
			if path.Dir(name) == path.Clean(in.Dir) {
				return 0
			}
			return 1
		}
		return own(a) - own(b)
	})
	return all
}

// named are the files that a text names, from the end of the text: what is named last is what the rest
// is about. A name may be that from the directory of a kustomization.
func (in KustomizationInput) named(text string) []string {
	var all []string
	words := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" '\"`:;,()[]\n\t", r) })
	slices.Reverse(words)
	for _, word := range words {
		word = strings.Trim(word, ".")
		if !strings.ContainsAny(word, "./") {
			continue
		}
		dirs := []string{"."}
		for _, k := range in.kustomizations() {
			dirs = append(dirs, path.Dir(k))
		}
		for _, dir := range dirs {
			name := path.Join(dir, word)
			if _, ok := in.Files[name]; ok && !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	return all
}

// find is the line of a key in the first document of a file for which is holds; 0 if there is none.
func (in KustomizationInput) find(name string, is func(*yamlv3.Node) bool, key string) int {
	docs, err := yamlx.Documents(in.Files[name])
	if err != nil {
		return 0
	}
	for _, d := range docs {
		if len(d.Content) == 1 && is(d.Content[0]) {
			return yamlx.LineOf(d.Content[0], key)
		}
	}
	return 0
}

// entry is the line of the entry for a name in a list of a kustomization; 0 if it has none.
func (in KustomizationInput) entry(file, field, name string) int {
	docs, err := yamlx.Documents(in.Files[file])
	if err != nil || len(docs) == 0 {
		return 0
	}
	list := yamlx.Find(docs[0].Content[0], field)
	for i := 0; list != nil && i < len(list.Content); i++ {
		if yamlx.Text(list.Content[i], "name") == name {
			return list.Content[i].Line
		}
	}
	return 0
}

// patchOrObject finds the patch for an object, or, with object, the last document of files that is one:
// the second of two with one name.
func (in KustomizationInput) patchOrObject(kind, name string, object bool, files []string) (file string, line int) {
	is := func(n *yamlv3.Node) bool {
		return yamlx.Text(n, "kind") == kind && yamlx.Text(n, "metadata", "name") == name
	}
	if !object {
		for _, k := range in.kustomizations() {
			if at := in.inlinePatch(k, is); at > 0 {
				return k, at
			}
		}
	}
	for _, f := range files {
		docs, err := yamlx.Documents(in.Files[f])
		if err != nil || !isYAML(f) {
			continue
		}
		for _, d := range docs {
			if len(d.Content) == 1 && is(d.Content[0]) {
				file, line = f, yamlx.LineOf(d.Content[0], "metadata", "name")
			}
		}
	}
	return file, line
}

// inlinePatch is the line of a patch that is a text in a kustomization; 0 if there is none.
func (in KustomizationInput) inlinePatch(file string, is func(*yamlv3.Node) bool) int {
	docs, err := yamlx.Documents(in.Files[file])
	if err != nil || len(docs) == 0 || len(docs[0].Content) != 1 {
		return 0
	}
	for _, key := range []string{"patches", "patchesStrategicMerge", "patchesJson6902"} {
		list := yamlx.Find(docs[0].Content[0], key)
		for i := 0; list != nil && i < len(list.Content); i++ {
			text := list.Content[i]
			if n := yamlx.Find(text, "patch"); n != nil {
				text = n
			}
			inner, err := yamlx.Documents([]byte(text.Value))
			if err == nil && slices.ContainsFunc(inner, func(d *yamlv3.Node) bool { return len(d.Content) == 1 && is(d.Content[0]) }) {
				return list.Content[i].Line
			}
		}
	}
	return 0
}

// lineWith is the first line of a file that has a text; 0 if none has.
func lineWith(content []byte, text string) int {
	return 1 + slices.IndexFunc(strings.Split(string(content), "\n"), func(line string) bool { return strings.Contains(line, text) })
}
