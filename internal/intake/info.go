package intake

import (
	"cmp"
	"path"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/charts/catalog"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// infoFile is the index that AICR's CLI writes into a bundle since it is at 1.0: who made it for what,
// and its releases in the order of deployment.
const infoFile = "bundle-info.yaml"

// checkInfo holds the bundle against its index, where it has one. What reads a bundle by its index
// would deploy something else than the bundle's own files do, if the index is wrong about a release.
func (b *Bundle) checkInfo(row formRow) error {
	t := b.tree
	if _, ok := t.files[infoFile]; !ok {
		return nil
	}
	docs, err := t.documents(infoFile)
	if err != nil {
		return err
	}
	if len(docs) != 1 || yamlx.Text(docs[0], "kind") != "BundleInfo" {
		return t.bad(infoFile, 0, "want one document of the kind BundleInfo, the index of the bundle")
	}
	info := docs[0]
	if v := yamlx.Text(info, "apiVersion"); v != "aicr.run/v1" {
		b.warnings = append(b.warnings, t.at(infoFile, yamlx.LineOf(info, "apiVersion")).String()+": apiVersion is "+v+", and the one that is known is aicr.run/v1, by which the file was read")
	}
	if made := yamlx.Text(info, "build", "deployer"); made != "" && !slices.Contains(row.infoNames(), made) {
		return t.bad(infoFile, yamlx.LineOf(info, "build", "deployer"), "the bundle was made for the deployer %s, and the lane %s takes those for %s; run it in its own lane", made, b.deployer.Name(), strings.Join(row.infoNames(), " or "))
	}
	for _, key := range []string{"entrypoint", "provenance"} {
		if name := yamlx.Text(info, "layout", key); name != "" && !t.has("", name) {
			b.warnings = append(b.warnings, t.at(infoFile, yamlx.LineOf(info, "layout", key)).String()+": layout."+key+" is "+name+", which the bundle does not have")
		}
	}
	releases := yamlx.Find(info, "layout", "releases")
	if releases == nil || releases.Kind != yamlv3.SequenceNode {
		return t.bad(infoFile, yamlx.LineOf(info, "layout"), "it has no list layout.releases")
	}
	units := b.form.units()
	var listed, names, deployed []string
	for _, r := range releases.Content {
		names = append(names, yamlx.Text(r, "name"))
	}
	for _, u := range units {
		deployed = append(deployed, u.name)
	}
	front := prefixOf(names, deployed) // a name of the index may be that of the folder
	for _, r := range releases.Content {
		name := yamlx.Text(r, "name")
		if name != "" {
			name = front + name
		}
		if slices.Contains(listed, name) {
			return t.bad(infoFile, r.Line, "release %s is listed twice", name)
		}
		if err := t.checkListed(r, name, units); err != nil {
			return err
		}
		listed = append(listed, name)
	}
	var order []string
	for _, u := range units {
		if !slices.Contains(listed, u.name) {
			return t.bad(infoFile, releases.Line, "the bundle deploys the release %s (%s), which is not among the releases here", u.name, u.at)
		}
		order = append(order, u.name)
	}
	if row.cli == "" && !slices.Equal(order, listed) { // the other deployers order by waves and dependencies
		b.warnings = append(b.warnings, t.at(infoFile, releases.Line).String()+": the releases are in another order than that in which the bundle installs them")
	}
	return nil
}

// infoNames are the names that AICR's CLI has for a deployer.
func (r formRow) infoNames() []string {
	if r.cli == "" {
		return []string{"helm", "helmfile"}
	}
	return []string{r.cli}
}

// checkListed holds a release of the index against the files of the bundle.
func (t *tree) checkListed(r *yamlv3.Node, name string, units []unit) error {
	bad := func(key, format string, args ...any) error {
		return t.bad(infoFile, yamlx.LineOf(r, key), "release "+name+" "+format, args...)
	}
	if name == "" {
		return t.bad(infoFile, r.Line, "a release has no name")
	}
	dir := yamlx.Text(r, "path")
	if dir != "" && !t.has("", dir) {
		return bad("path", "is said to be in %s, which the bundle does not have", dir)
	}
	if file := yamlx.Text(r, "manifest"); file != "" && !t.has("", file) && !t.has(dir, file) {
		return bad("manifest", "is said to have the manifest %s, which the bundle does not have", file)
	}
	i := slices.IndexFunc(units, func(u unit) bool { return u.name == name })
	if i < 0 {
		var names []string
		for _, u := range units {
			names = append(names, u.name)
		}
		return bad("name", "is not one that the bundle deploys; it deploys %s", strings.Join(names, ", "))
	}
	u := units[i]
	if said := yamlx.Text(r, "namespace"); said != "" && said != u.namespace {
		return bad("namespace", "is said to be in the namespace %s, and the bundle installs it in %s (%s)", said, u.namespace, u.at)
	}
	charts, versions := []string{u.chart}, []string{u.version}
	if u.local != nil {
		charts, versions = []string{u.local.Name()}, []string{u.local.Metadata.Version}
		for _, d := range u.local.Metadata.Dependencies { // the chart that it wraps
			charts, versions = append(charts, d.Name), append(versions, d.Version)
		}
	}
	if said := yamlx.Text(r, "chart"); said != "" && !slices.Contains(charts, path.Base(said)) {
		return bad("chart", "is said to have the chart %s, and the bundle installs %s (%s)", said, charts[len(charts)-1], u.at)
	}
	if said := yamlx.Text(r, "version"); said != "" && !slices.ContainsFunc(versions, func(v string) bool { return catalog.SameVersion(v, said) }) {
		return bad("version", "is said to have the version %s, and the bundle installs %s (%s)", said, cmp.Or(u.version, versions[len(versions)-1]), u.at)
	}
	return nil
}

// has reports whether the bundle has a file or directory of this name.
func (t *tree) has(dir, name string) bool {
	name = path.Join(dir, name)
	if _, ok := t.files[name]; ok || name == "." {
		return true
	}
	for file := range t.files {
		if strings.HasPrefix(file, name+"/") {
			return true
		}
	}
	return false
}
