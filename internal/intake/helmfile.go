package intake

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/policy"
	"github.com/nvidia/aicr-action/internal/bundle/statefile"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// helmfileForm is a helmfile.yaml that names the files of levels, each with its repositories and its
// releases. A release needs others of its level only.
type helmfileForm struct {
	tree   *tree
	levels []*helmfileLevel
}

type (
	helmfileLevel struct {
		file     string
		node     *yamlv3.Node
		releases []helmfileRelease // in the order in which their needs allow them
	}
	helmfileRelease struct {
		unit  unit
		needs []string // NAMESPACE/NAME
	}
)

// units: a level begins when all before it is installed, as if its releases needed those.
func (f *helmfileForm) units() (all []unit) {
	var before []string
	for _, l := range f.levels {
		var names []string
		for _, r := range l.releases {
			r.unit.needs = slices.Concat(r.unit.needs, before)
			all, names = append(all, r.unit), append(names, r.unit.name)
		}
		if len(names) > 0 {
			before = names
		}
	}
	return all
}

func (f *helmfileForm) place(in bundle.Input) bundle.Input { return in }

func readHelmfile(t *tree) (form, error) {
	f := &helmfileForm{tree: t}
	if _, ok := t.files[bundle.HelmfileRoot]; ok {
		return f, f.read(bundle.HelmfileRoot, true)
	}
	return nil, t.bad("", 0, "not a bundle for the lane %s: it has no %s%s", bundle.Helmfile, bundle.HelmfileRoot, guessNote(t.names()))
}

// read reads a file of releases, and, if it is the root, those that it names.
func (f *helmfileForm) read(file string, root bool) error {
	t := f.tree
	docs, err := t.documents(file)
	if err != nil || len(docs) != 1 {
		return cmp.Or(err, t.bad(file, 0, "want one document of helmfile"))
	}
	n := docs[0]
	if err := t.helmfileKeys(file, "", n); err != nil {
		return err
	}
	if children := yamlx.Find(n, "helmfiles"); children != nil {
		if !root {
			return t.bad(file, children.Line, "helmfiles in a file that another one names are not understood")
		}
		for _, child := range children.Content { // helmfile takes them before the file's own releases
			if err := f.child(file, child); err != nil {
				return err
			}
		}
	}
	return f.level(file, n)
}

func (f *helmfileForm) child(file string, child *yamlv3.Node) error {
	name := yamlx.Text(child, "path")
	if keys := yamlx.Keys(child); name == "" || len(keys) > 1 || path.Ext(name) != ".yaml" {
		return f.tree.bad(file, child.Line, "this entry of helmfiles is not understood; want path: FILE.yaml")
	}
	at, err := f.tree.inside(file, child.Line, "", name)
	if _, ok := f.tree.files[at]; err != nil || !ok {
		return cmp.Or(err, f.tree.bad(file, child.Line, "%s is not in the bundle", at))
	}
	return f.read(at, false)
}

// helmfileKeys refuses fields that are not in the list for their place.
func (t *tree) helmfileKeys(file, place string, n *yamlv3.Node) error {
	if n.Kind != yamlv3.MappingNode {
		return t.bad(file, n.Line, "this is not a map")
	}
	for _, key := range yamlx.Keys(n) {
		if !slices.Contains(policy.HelmfileFields()[place], key) {
			return t.bad(file, yamlx.LineOf(n, key), "field %s of helmfile is not understood, and may change what is installed", strings.TrimPrefix(place+"."+key, "."))
		}
	}
	return nil
}

func (f *helmfileForm) level(file string, n *yamlv3.Node) error {
	t, repositories := f.tree, map[string]string{}
	if list := yamlx.Find(n, "repositories"); list != nil {
		for _, r := range list.Content {
			if err := t.helmfileKeys(file, "repositories", r); err != nil {
				return err
			}
			url := yamlx.Text(r, "url")
			if yamlx.Text(r, "oci") == "true" {
				url = ociScheme + strings.TrimPrefix(url, ociScheme)
			}
			repositories[yamlx.Text(r, "name")] = url
		}
	}
	if d := yamlx.Find(n, "helmDefaults"); d != nil && t.helmfileKeys(file, "helmDefaults", d) != nil {
		return t.helmfileKeys(file, "helmDefaults", d)
	}
	level, releases := &helmfileLevel{file: file, node: n}, yamlx.Find(n, "releases")
	if releases == nil {
		return nil
	}
	for _, r := range releases.Content {
		release, err := f.release(file, r, repositories, yamlx.Find(n, "helmDefaults"))
		if err != nil {
			return err
		}
		level.releases = append(level.releases, release)
	}
	f.levels = append(f.levels, level)
	return level.sort(t)
}

func (f *helmfileForm) release(file string, n *yamlv3.Node, repositories map[string]string, defaults *yamlv3.Node) (helmfileRelease, error) {
	t := f.tree
	if err := t.helmfileKeys(file, "releases", n); err != nil {
		return helmfileRelease{}, err
	}
	r := helmfileRelease{unit: unit{name: yamlx.Text(n, "name"), namespace: yamlx.Text(n, "namespace"), version: yamlx.Text(n, "version"), at: t.at(file, n.Line), values: valueSet{values: map[string]any{}, origins: t.noOrigins()}}}
	u, err := &r.unit, error(nil)
	u.unawaited = cmp.Or(yamlx.Text(n, "wait"), yamlx.Text(defaults, "wait")) != "true"
	u.file, u.forces = file, cmp.Or(yamlx.Text(n, "forceConflicts"), yamlx.Text(defaults, "forceConflicts")) == "true"
	u.compared = cmp.Or(yamlx.Text(n, "disableValidation"), yamlx.Text(defaults, "disableValidation")) != "true" && yamlx.Text(n, "disableValidationOnInstall") != "true"
	if u.name == "" || u.namespace == "" {
		return r, t.bad(file, n.Line, "a release needs a name and a namespace")
	}
	if err := f.chart(u, file, yamlx.LineOf(n, "chart"), yamlx.Text(n, "chart"), repositories); err != nil {
		return r, err
	}
	if values := yamlx.Find(n, "values"); values != nil {
		for _, v := range values.Content {
			if v.Kind != yamlv3.ScalarNode || !slices.Contains([]string{".yaml", ".yml"}, path.Ext(v.Value)) {
				return r, t.bad(file, v.Line, "these values of release %s are not understood; want the name of a YAML file", u.name)
			}
			name, err := t.inside(file, v.Line, path.Dir(file), v.Value)
			if err != nil {
				return r, err
			}
			if u.local != nil && name == path.Join(u.dir, "values.yaml") {
				continue // the chart's own
			}
			more, err := t.valuesFile(file, v.Line, name)
			if err != nil {
				return r, err
			}
			if line := statefile.HelmfileReference(t.files[name].Content); line > 0 {
				return r, t.bad(name, line, "a value of release %s %s", u.name, statefile.NoReference)
			}
			u.values.over(more)
		}
	}
	u.withValues()
	if hooks := yamlx.Find(n, "hooks"); hooks != nil {
		if u.crdScript, err = f.hook(file, u.name, hooks); err != nil {
			return r, err
		}
	}
	if needs := yamlx.Find(n, "needs"); needs != nil {
		for _, need := range needs.Content {
			name := need.Value
			if !strings.Contains(name, "/") {
				name = u.namespace + "/" + name // as helmfile completes it
			}
			r.needs = append(r.needs, name)
			r.unit.needs = append(r.unit.needs, path.Base(name))
		}
	}
	return r, nil
}

// hook reads the hook of a release that AICR's bundles have: before it is installed, a script applies
// its CRDs. Other hooks may run any program.
func (f *helmfileForm) hook(file, release string, hooks *yamlv3.Node) (string, error) {
	var script *yamlv3.Node
	for _, h := range hooks.Content {
		events, args := yamlx.Find(h, "events"), yamlx.Find(h, "args")
		known := !slices.ContainsFunc(yamlx.Keys(h), func(key string) bool { return !slices.Contains([]string{"events", "command", "args", "showlogs"}, key) })
		if !known || script != nil || yamlx.Text(h, "command") != "bash" || events == nil || len(events.Content) != 1 || events.Content[0].Value != "presync" ||
			args == nil || len(args.Content) != 1 || path.Base(args.Content[0].Value) != crdScriptName {
			return "", f.tree.bad(file, h.Line, "releases.hooks: this hook of release %s runs a program, which may change what is installed, and is never run here: take the hook out in a copy (of hooks, only bash with a script %s at presync is understood)", release, crdScriptName)
		}
		script = args.Content[0]
	}
	if script == nil {
		return "", nil
	}
	return f.tree.crdScript(file, script.Line, path.Dir(file), script.Value)
}

// chart fills in the chart: ./DIRECTORY of the bundle, REPOSITORY/NAME or oci://HOST/PATH/NAME.
func (f *helmfileForm) chart(u *unit, file string, line int, ref string, repositories map[string]string) error {
	switch alias, name, _ := strings.Cut(ref, "/"); {
	case strings.HasPrefix(ref, ociScheme):
		i := strings.LastIndex(ref, "/")
		u.repo, u.chart = ref[:i], ref[i+1:]
	case strings.HasPrefix(ref, "."):
		at, err := f.tree.inside(file, line, path.Dir(file), ref)
		if err != nil {
			return err
		}
		return f.tree.localChart(u, at)
	case repositories[alias] != "" && name != "":
		i := strings.LastIndex(name, "/") + 1
		u.repo, u.chart = strings.TrimSuffix(repositories[alias]+"/"+name[:i], "/"), name[i:]
	default:
		return f.tree.bad(file, line, "chart %q of release %s is not understood; want a directory of the bundle, or a chart of one of the repositories of this file", ref, u.name)
	}
	return nil
}

// sort puts each release after those that it needs.
func (l *helmfileLevel) sort(t *tree) error {
	sorted, done := []helmfileRelease{}, map[string]bool{}
	for len(sorted) < len(l.releases) {
		at := slices.IndexFunc(l.releases, func(r helmfileRelease) bool {
			return !done[r.key()] && !slices.ContainsFunc(r.needs, func(need string) bool { return !done[need] })
		})
		if at < 0 {
			for _, r := range l.releases {
				if !done[r.key()] {
					return t.bad(l.file, r.unit.at.Line, "release %s needs %s, of which one is not in this file or needs it in turn; helmfile refuses it", r.unit.name, strings.Join(r.needs, ", "))
				}
			}
			return t.bad(l.file, 0, "two releases have one name")
		}
		sorted, done[l.releases[at].key()] = append(sorted, l.releases[at]), true
	}
	l.releases = sorted
	return nil
}

func (r helmfileRelease) key() string { return r.unit.namespace + "/" + r.unit.name }

// fit writes the cell's registry into the files: all repositories are that one.
func (f *helmfileForm) fit(_ context.Context, in bundle.Input, b *bundle.Bundle) error {
	var err error
	others := map[string][]byte{}
	for _, l := range f.levels {
		node := yamlx.Clone(l.node)
		repository := strings.TrimPrefix(strings.TrimSuffix(in.ChartRepository, "/"), ociScheme)
		if list := yamlx.Find(node, "repositories"); list != nil && repository != "" {
			for _, r := range list.Content {
				yamlx.Set(r, "url", "!!str", repository)
				yamlx.Set(r, "oci", "!!bool", "true")
				yamlx.Set(r, "plainHttp", "!!bool", "true")
			}
		}
		for _, n := range yamlx.Find(node, "releases").Content {
			release := releaseOf(b, yamlx.Text(n, "name"))
			if release.Given.CRDScript != "" {
				yamlx.Drop(n, "hooks")
				b.Expectation.Overrides = append(b.Expectation.Overrides, fmt.Sprintf("bundle: the hook of release %s, which runs %s, was removed", release.Name, release.Given.CRDScript))
			}
			if release.Local || repository == "" {
				continue
			}
			alias, _, _ := strings.Cut(yamlx.Text(n, "chart"), "/")
			if strings.HasPrefix(yamlx.Text(n, "chart"), ociScheme) {
				alias = ociScheme + repository
				yamlx.Set(n, "plainHttp", "!!bool", "true")
			}
			yamlx.Set(n, "chart", "!!str", alias+"/"+release.Chart)
			yamlx.Set(n, "version", "!!str", release.ChartVersion)
		}
		if others[l.file], err = yamlx.Encode([]*yamlv3.Node{node}); err != nil {
			return err
		}
	}
	b.Files = f.tree.replaced(others)
	return nil
}
