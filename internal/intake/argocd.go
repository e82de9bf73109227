package intake

import (
	"cmp"
	"context"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/argoapi"
	"github.com/nvidia/aicr-action/internal/bundle/policy"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// rootFile has the root Application.
const rootFile = "app-of-apps.yaml"

var childFile = regexp.MustCompile(`^[^/]+/(argocd/)?application\.yaml$`)

// application is an Application with the file that it is in.
type application struct {
	file string
	node *yamlv3.Node
	unit unit
	wave int
	// git: the bundle is in a Git repository, so that a second source can have the values.
	git bool
}

// applicationsForm is a root Application and a directory with an Application per release, or both for each half of a
// bundle that this program has split.
type applicationsForm struct {
	tree     *tree
	roots    []rootApplication
	children []application
}

// rootApplication is the root of a half, or of the whole bundle.
type rootApplication struct {
	half, file string
	node       *yamlv3.Node
}

// called is the root's name.
func (r rootApplication) called() string { return yamlx.Text(r.node, "metadata", "name") }

func (f *applicationsForm) units() []unit {
	var all []unit
	for _, a := range f.children {
		all = append(all, a.unit)
	}
	return all
}

func (f *applicationsForm) place(in bundle.Input) bundle.Input { return in }

func readApplications(t *tree, deployer string) (form, error) {
	dirs, err := t.rootDirs(deployer)
	if err != nil {
		return nil, err
	}
	if err := t.noSources(); err != nil {
		return nil, err
	}
	f := &applicationsForm{tree: t}
	for _, half := range dirs {
		root, err := t.rootApplication(half)
		if err != nil {
			return nil, err
		}
		for _, other := range f.roots {
			if other.called() == root.called() {
				return nil, t.bad(root.file, yamlx.LineOf(root.node, "metadata", "name"), "the root Application has the name of that in %s, %s", other.file, root.called())
			}
		}
		children, err := t.childApplications(root, deployer)
		if err != nil {
			return nil, err
		}
		f.roots, f.children = append(f.roots, root), append(f.children, children...)
	}
	return f, nil
}

// rootDirs are the directories with a root Application: the bundle's own, or those of the halves that --split makes.
func (t *tree) rootDirs(deployer string) ([]string, error) {
	var found []string
	for _, half := range halves {
		if _, ok := t.files[path.Join(half, rootFile)]; ok {
			found = append(found, half)
		}
	}
	_, whole := t.files[rootFile]
	switch {
	case whole: // whose root finds what it applies
		return []string{""}, nil
	case len(found) == 0:
		return nil, t.bad("", 0, "not a bundle for the lane %s: it has no %s%s", deployer, rootFile, guessNote(t.names()))
	case len(found) != len(halves):
		return nil, t.bad(path.Join(found[0], rootFile), 0, "the bundle is split into core and ops, and has only the half %s: copy all files of the bundle", found[0])
	}
	return found, nil
}

// rootApplication reads the root of a half, or of the whole bundle.
func (t *tree) rootApplication(half string) (rootApplication, error) {
	r := rootApplication{half: half, file: path.Join(half, rootFile)}
	docs, err := t.documents(r.file)
	if err != nil {
		return r, err
	}
	if len(docs) != 1 || yamlx.Text(docs[0], "kind") != "Application" {
		return r, t.bad(r.file, 0, "want one Application, the root")
	}
	r.node = docs[0]
	if err := t.applicationFields(r.file, r.node, false); err != nil {
		return r, err
	}
	if yamlx.Text(r.node, "spec", "source", "repoURL") == "" {
		return r, t.bad(r.file, yamlx.LineOf(r.node, "spec"), "the root Application has no spec.source.repoURL")
	}
	if dir := path.Clean(yamlx.Text(r.node, "spec", "source", "path")); half != "" && dir != half {
		return r, t.bad(r.file, yamlx.LineOf(r.node, "spec", "source", "path"), "the root Application of the half %s has the path %q; want %s, where its Applications are", half, dir, half)
	}
	return r, nil
}

// childApplications reads the Applications that a root applies, in the order of their waves.
func (t *tree) childApplications(root rootApplication, deployer string) (children []application, err error) {
	own := yamlx.Text(root.node, "spec", "source", "repoURL")
	for _, name := range t.names() {
		within := name
		if root.half != "" {
			var in bool
			if within, in = strings.CutPrefix(name, root.half+"/"); !in {
				continue
			}
		}
		if !childFile.MatchString(within) {
			continue
		}
		docs, err := t.documents(name)
		if err != nil {
			return nil, err
		}
		for _, doc := range docs {
			a := application{file: name, node: doc, git: bundle.ByGit(deployer)}
			if err := t.applicationFields(name, doc, false); err != nil {
				return nil, err
			}
			if err := a.read(t, own, func(line int) recipe.Origin { return t.at(name, line) }); err != nil {
				return nil, err
			}
			a.unit.half = root.half
			children = append(children, a)
		}
	}
	inWaves(children, t.places != nil)
	return children, nil
}

// inWaves sorts by wave; those of one wave keep the order of their files. AICR's bundles say by waves what
// depends on what; of others (laid) it is not known, since Argo CD waits for no Application that it has created.
func inWaves(children []application, laid bool) {
	slices.SortStableFunc(children, func(a, b application) int { return cmp.Compare(a.wave, b.wave) })
	var before, these []string
	for i := 0; i < len(children) && !laid; i++ {
		if i > 0 && children[i].wave != children[i-1].wave {
			before, these = these, nil
		}
		children[i].unit.needs, these = before, append(these, children[i].unit.name)
	}
}

// read reads the release that an Application stands for. own is the repository of the bundle
// itself.
func (a *application) read(t *tree, own string, place func(line int) recipe.Origin) error {
	n := a.node
	bad := func(line int, format string, args ...any) error { return t.bad(a.file, line, format, args...) }
	if yamlx.Text(n, "kind") != "Application" {
		return bad(n.Line, "kind %q is not understood here; want Application", yamlx.Text(n, "kind"))
	}
	u := &a.unit
	u.name, u.namespace, u.at = yamlx.Text(n, "metadata", "name"), yamlx.Text(n, "spec", "destination", "namespace"), place(n.Line)
	if ns := yamlx.Text(n, "metadata", "namespace"); ns != bundle.ArgoNamespace {
		return bad(yamlx.LineOf(n, "metadata", "namespace"), "Application %s is in the namespace %q; the lane looks in %s", u.name, ns, bundle.ArgoNamespace)
	}
	u.ref = result.Ref{Group: "argoproj.io", Kind: "Application", Namespace: bundle.ArgoNamespace, Name: u.name}
	var err error
	if wave := yamlx.Text(n, "metadata", "annotations", "argocd.argoproj.io/sync-wave"); wave != "" {
		if a.wave, err = strconv.Atoi(wave); err != nil {
			return bad(yamlx.LineOf(n, "metadata", "annotations"), "sync wave %q is not a number", wave)
		}
	}
	source := yamlx.Find(n, "spec", "source")
	if sources := yamlx.Find(n, "spec", "sources"); sources != nil {
		if !a.git {
			return bad(sources.Line, "Application %s has several sources; $values of another source work with Git only, and the lane pulls from an OCI registry. Make the bundle with an oci:// output, so that values are inline, or run it in the lane %s", u.name, bundle.ArgoCDGit)
		}
		if source, _ = a.sources(); source == nil {
			return bad(sources.Line, "the sources of Application %s are not understood: want that of a chart, and that of this bundle's repository, with ref", u.name)
		}
	}
	if source == nil {
		return bad(n.Line, "Application %s has no spec.source", u.name)
	}
	for _, key := range yamlx.Keys(source) {
		if !slices.Contains([]string{"repoURL", "targetRevision", "path", "chart", "helm"}, key) {
			return bad(yamlx.LineOf(source, key), "spec.source.%s of Application %s is not understood, and may change what is installed", key, u.name)
		}
	}
	if err := a.chart(t, source, own); err != nil {
		return err
	}
	return a.values(t, yamlx.Find(source, "helm"), own, place)
}

// sources gives the source of the chart, and the one that only has its values; nil if there are not
// these two.
func (a *application) sources() (chart, values *yamlv3.Node) {
	list := yamlx.Find(a.node, "spec", "sources")
	if list == nil || list.Kind != yamlv3.SequenceNode || len(list.Content) != 2 {
		return nil, nil
	}
	chart, values = list.Content[0], list.Content[1]
	if yamlx.Text(chart, "ref") != "" {
		chart, values = values, chart
	}
	if yamlx.Text(chart, "ref") != "" || yamlx.Text(values, "ref") == "" || len(yamlx.Keys(values)) != 3 || yamlx.Find(values, "targetRevision") == nil {
		return nil, nil
	}
	return chart, values
}

// localFiles reads the values files of a chart in the bundle, which are named from its directory, or
// with a slash in front from that of the bundle.
func (a *application) localFiles(t *tree, files *yamlv3.Node, _ string, into *valueSet) error {
	for _, item := range files.Content {
		dir, name := a.unit.dir, item.Value
		if rooted, ok := strings.CutPrefix(name, "/"); ok {
			dir, name = "", rooted
		}
		at, err := t.inside(a.file, item.Line, dir, name)
		if err != nil {
			return err
		}
		v, err := t.valuesFile(a.file, item.Line, at)
		if err != nil {
			return err
		}
		if path.Base(at) == clusterValues && len(v.values) > 0 {
			t.filledIn(v.whole)
		}
		into.over(v)
	}
	return nil
}

// valuesFiles reads the files that are named by the reference to the bundle's repository.
func (a *application) valuesFiles(t *tree, files *yamlv3.Node, own string, into *valueSet) error {
	_, values := a.sources()
	if values == nil {
		return t.bad(a.file, files.Line, "spec.source.helm.valueFiles of Application %s is not understood: want files of this bundle's repository, which is a source with ref", a.unit.name)
	}
	if repo := yamlx.Text(values, "repoURL"); repo != own {
		return t.bad(a.file, yamlx.LineOf(values, "repoURL"), "the values of Application %s are in the repository %s, which is not that of this bundle, %s", a.unit.name, repo, own)
	}
	for _, item := range files.Content {
		name, ok := strings.CutPrefix(item.Value, "$"+yamlx.Text(values, "ref")+"/")
		if !ok {
			return t.bad(a.file, item.Line, "values file %s of Application %s is not understood: want $%s/PATH, a file of this bundle", item.Value, a.unit.name, yamlx.Text(values, "ref"))
		}
		at, err := t.inside(a.file, item.Line, "", name)
		if err != nil {
			return err
		}
		v, err := t.valuesFile(a.file, item.Line, at)
		if err != nil {
			return err
		}
		into.over(v)
	}
	return nil
}

func (a *application) chart(t *tree, source *yamlv3.Node, own string) error {
	u, repo, dir := &a.unit, yamlx.Text(source, "repoURL"), yamlx.Text(source, "path")
	u.version = yamlx.Text(source, "targetRevision")
	switch {
	case yamlx.Text(source, "chart") != "" && !(strings.HasPrefix(repo, ociScheme) && path.Base(repo) == yamlx.Text(source, "chart")): // with that scheme, Argo CD takes repoURL for all of the artifact
		u.repo, u.chart = repo, yamlx.Text(source, "chart")
	case repo == own:
		at, err := t.inside(a.file, yamlx.LineOf(source, "path"), "", dir)
		if err != nil {
			return err
		}
		return t.localChart(u, at)
	case strings.HasPrefix(repo, ociScheme) && (dir == "" || path.Clean(dir) == "."):
		i := strings.LastIndex(repo, "/")
		u.repo, u.chart = repo[:i], repo[i+1:]
	default:
		return t.bad(a.file, yamlx.LineOf(source, "repoURL"), "source %s of Application %s is not understood: want a chart, an OCI artifact that is a chart, or a directory of this bundle, whose repository is %s", repo, u.name, own)
	}
	return nil
}

func (a *application) values(t *tree, helm *yamlv3.Node, own string, place func(line int) recipe.Origin) error {
	u := &a.unit
	for _, key := range yamlx.Keys(helm) {
		if !policy.HelmDefault(key, yamlx.Text(helm, key)) && !slices.Contains([]string{"releaseName", "valuesObject", "values", "parameters"}, key) && (!a.git && u.local == nil || key != "valueFiles") {
			return t.bad(a.file, yamlx.LineOf(helm, key), "spec.source.helm.%s of Application %s is not understood, and may change what is installed", key, u.name)
		}
	}
	if name := yamlx.Text(helm, "releaseName"); name != u.name {
		u.helmName = name
	}
	given, err := a.given(t, helm, own, place)
	if err != nil {
		return err
	}
	if u.local == nil || u.values.values == nil {
		u.values = valueSet{values: map[string]any{}, origins: t.noOrigins()}
	}
	u.values.over(given)
	if u.local != nil && (yamlx.Find(helm, "valueFiles") != nil || len(given.values) > 0) {
		u.withValues()
	}
	return nil
}

// given are the values that the Application gives its chart: those of files, its own, and its
// parameters, each over those before. The chart's own are not among them, since Helm changes an
// item of a list only where one of these has the list.
func (a *application) given(t *tree, helm *yamlv3.Node, own string, place func(line int) recipe.Origin) (valueSet, error) {
	all := valueSet{values: map[string]any{}, origins: t.noOrigins()}
	if files := yamlx.Find(helm, "valueFiles"); files != nil {
		read := a.valuesFiles
		if a.unit.local != nil {
			read = a.localFiles
		}
		if err := read(t, files, own, &all); err != nil {
			return all, err
		}
	}
	inline, at := yamlx.Find(helm, "valuesObject"), place
	if text := yamlx.Find(helm, "values"); inline == nil && text != nil && strings.TrimSpace(text.Value) != "" {
		docs, err := (&tree{name: t.name, files: map[string]bundle.File{a.file: {Content: []byte(text.Value)}}}).documents(a.file)
		if err != nil || len(docs) > 1 {
			return all, t.bad(a.file, text.Line, "spec.source.helm.values of Application %s are not one YAML document", a.unit.name)
		}
		if len(docs) == 1 {
			inline = docs[0]
			before := 0
			if text.Style&(yamlv3.LiteralStyle|yamlv3.FoldedStyle) == 0 { // it begins on the line of its key
				before = 1
			}
			at = func(line int) recipe.Origin { return place(text.Line + line - before) }
		}
	}
	v, err := valuesAt(inline, at)
	if err != nil {
		return all, t.bad(a.file, yamlx.LineOf(helm, "valuesObject"), "values of Application %s: %w", a.unit.name, err)
	}
	all.over(v)
	sets, wrong := argoapi.ApplyParameters(all.values, yamlx.Find(helm, "parameters"), a.unit.name, a.unit.namespace)
	if wrong != nil {
		return all, t.bad(a.file, wrong.Line, "Application %s: %w", a.unit.name, wrong)
	}
	for _, set := range sets {
		for _, path := range set.Paths {
			all.origins[path] = place(set.Line)
		}
	}
	return all, nil
}

// fit writes the cell's registry into the Applications.
func (f *applicationsForm) fit(_ context.Context, in bundle.Input, b *bundle.Bundle) error {
	var all []nullsApplication
	changed := map[string][]*yamlv3.Node{}
	for _, a := range f.children {
		node := yamlx.Clone(a.node)
		source := yamlx.Find(node, "spec", "source")
		if chart, values := (&application{node: node}).sources(); chart != nil {
			source = chart
			yamlx.Set(values, "repoURL", "!!str", in.RepoURL)
			yamlx.Set(values, "targetRevision", "!!str", in.TargetRevision)
		}
		argoapi.BringTo(node, &b.Expectation.Overrides)
		all = append(all, nullsApplication{Release: a.unit.name, Node: node, Source: source, At: func(line int) recipe.Origin { return f.tree.at(a.file, line) }})
		toRegistry(source, in, releaseOf(b, a.unit.name))
		changed[a.file] = append(changed[a.file], node)
	}
	var roots []rootApplication
	for _, r := range f.roots {
		if f.delivers(r, b) {
			roots = append(roots, r)
			nullsWarn(b, r.node, f.tree.at(r.file, 0), slices.DeleteFunc(slices.Clone(all), func(n nullsApplication) bool { return f.halfOf(n.Release) != r.half }))
		}
	}
	for _, r := range roots {
		root := yamlx.Clone(r.node)
		argoapi.BringTo(root, &b.Expectation.Overrides)
		source := yamlx.Find(root, "spec", "source")
		yamlx.Set(source, "repoURL", "!!str", in.RepoURL)
		yamlx.Set(source, "targetRevision", "!!str", in.TargetRevision)
		if path.Clean(yamlx.Text(source, "path")) == "." {
			yamlx.Set(source, "path", "!!str", ".")
		}
		changed[r.file] = []*yamlv3.Node{root}
		object, err := objectOf(root)
		if err != nil {
			return err
		}
		b.Foreign.Roots = append(b.Foreign.Roots, object)
	}
	files := map[string][]byte{}
	for name, docs := range changed {
		text, err := yamlx.Encode(docs)
		if err != nil {
			return err
		}
		files[name] = text
	}
	b.Files = f.tree.replaced(files)
	b.Expectation.Delivered = f.delivered(roots)
	return nil
}

// delivers reports whether a root has an Application of a release that is delivered: with a class, only its half is.
func (f *applicationsForm) delivers(root rootApplication, b *bundle.Bundle) bool {
	return root.half == "" || slices.ContainsFunc(b.Expectation.Releases, func(r bundle.Release) bool { return f.halfOf(r.Name) == root.half })
}

// halfOf is the half of the Application of a release.
func (f *applicationsForm) halfOf(release string) string {
	for _, a := range f.children {
		if a.unit.name == release {
			return a.unit.half
		}
	}
	return ""
}

// delivered are the roots and, behind them, the Applications of each.
func (f *applicationsForm) delivered(roots []rootApplication) (list []bundle.Delivered) {
	var behind []bundle.Delivered
	for _, r := range roots {
		of := slices.DeleteFunc(slices.Clone(f.children), func(a application) bool { return a.unit.half != r.half })
		all := applicationsDelivered(r.called(), of)
		for i := 1; i < len(all) && r.half != ""; i++ {
			all[i].Of = r.called()
		}
		list, behind = append(list, all[0]), append(behind, all[1:]...)
	}
	return append(list, behind...)
}

func applicationsDelivered(root string, children []application) []bundle.Delivered {
	list := []bundle.Delivered{{Ref: result.Ref{Group: "argoproj.io", Kind: "Application", Namespace: bundle.ArgoNamespace, Name: root}, Root: true}}
	for _, a := range children {
		chart, _ := a.sources()
		list = append(list, bundle.Delivered{Ref: a.unit.ref, ValuesSource: chart != nil})
	}
	return list
}

// toRegistry points the source of an Application to the cell's registry: to the bundle for a local
// chart, to the chart otherwise.
func toRegistry(source *yamlv3.Node, in bundle.Input, r bundle.Release) {
	if r.Local {
		yamlx.Set(source, "repoURL", "!!str", in.RepoURL)
		yamlx.Set(source, "targetRevision", "!!str", in.TargetRevision)
		yamlx.Set(source, "path", "!!str", r.PathOr(""))
		return
	}
	yamlx.Drop(source, "chart")
	yamlx.Set(source, "repoURL", "!!str", strings.TrimSuffix(in.ChartRepository, "/")+"/"+r.Chart)
	yamlx.Set(source, "targetRevision", "!!str", r.Tag())
	yamlx.Set(source, "path", "!!str", ".")
}

func releaseOf(b *bundle.Bundle, name string) bundle.Release {
	for _, r := range b.Expectation.Releases {
		if r.Name == name {
			return r
		}
	}
	return bundle.Release{}
}
