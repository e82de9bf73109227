package charts

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"sigs.k8s.io/yaml"
)

// derivedFile lists the charts that are made of others.
const derivedFile = "derived.yaml"

// Derivation is a simulated chart that is another one under a later name or in another version:
// what changed between the originals that concerns scheduling, CRDs or hooks, as data.
type Derivation struct {
	Name       string `json:"name"`
	Version    string `json:"version"`
	AppVersion string `json:"appVersion"`
	// From is the name of the chart that it is made of.
	From string `json:"from"`
	// Only are the beginnings of the paths of the files that it has; all files if there are none.
	Only []string `json:"only"`
	// Without are those of the files that it does not have.
	Without []string `json:"without"`
	// CRDsInTemplates: what is in crds/ there is in templates/ here, so that an upgrade has it too.
	CRDsInTemplates bool `json:"crdsInTemplates"`
	// CRDsOf is a chart whose templates, CRDs all of them, are in crds/ here.
	CRDsOf string `json:"crdsOf"`
	// Values are put over the other chart's.
	Values map[string]any `json:"values"`
}

// readDerived reads the derivations that a directory of simulated charts lists.
func readDerived(fsys fs.FS) ([]Derivation, error) {
	text, err := fs.ReadFile(fsys, derivedFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var doc struct {
		Charts []Derivation `json:"charts"`
	}
	if err == nil {
		err = yaml.UnmarshalStrict(text, &doc)
	}
	if err != nil {
		return nil, fmt.Errorf("%s of the simulated charts: %w", derivedFile, err)
	}
	return doc.Charts, nil
}

// make makes the chart from the other one, and from the one with the CRDs if there is any.
func (d *Derivation) make(from, crds *chart.Chart) (*chart.Chart, error) {
	metadata := *from.Metadata
	metadata.Name, metadata.Version = d.Name, d.Version
	metadata.Annotations = maps.Clone(metadata.Annotations)
	delete(metadata.Annotations, alsoVersions)
	if d.AppVersion != "" {
		metadata.AppVersion = d.AppVersion
	}
	if len(d.Only) > 0 || len(d.Without) > 0 { // its charts are files like others
		metadata.Dependencies = slices.DeleteFunc(slices.Clone(metadata.Dependencies), func(dep *chart.Dependency) bool { return !d.has("charts/" + dep.Name + "/") })
	}
	values, err := yaml.Marshal(chartutil.CoalesceTables(maps.Clone(d.Values), from.Values))
	if err != nil {
		return nil, err
	}
	text, err := yaml.Marshal(&metadata)
	if err != nil {
		return nil, err
	}
	files := []*loader.BufferedFile{{Name: "Chart.yaml", Data: text}, {Name: "values.yaml", Data: values}}
	for _, f := range from.Raw {
		name := f.Name
		if name == "Chart.yaml" || name == "values.yaml" || !d.has(name) {
			continue
		}
		if d.CRDsInTemplates {
			if i := strings.LastIndex(name, "crds/"); i >= 0 && strings.HasSuffix(name, ".yaml") && !strings.HasSuffix(name, "Chart.yaml") {
				name = "templates/" + name[i+len("crds/"):]
			} else if strings.HasPrefix(name, "charts/") {
				continue
			}
		}
		files = append(files, &loader.BufferedFile{Name: name, Data: f.Data})
	}
	if crds != nil {
		for _, f := range crds.Templates {
			if strings.HasSuffix(f.Name, ".yaml") {
				files = append(files, &loader.BufferedFile{Name: "crds/" + path.Base(f.Name), Data: f.Data})
			}
		}
	}
	return loader.LoadFiles(files)
}

// has reports whether the chart has the other one's file.
func (d *Derivation) has(file string) bool {
	begins := func(list []string) bool {
		return slices.ContainsFunc(list, func(prefix string) bool { return strings.HasPrefix(file, prefix) })
	}
	return (len(d.Only) == 0 || begins(d.Only)) && !begins(d.Without)
}
