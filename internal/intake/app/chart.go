package app

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"strings"

	"github.com/Masterminds/semver/v3"
	yamlv3 "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/nvidia/aicr-action/internal/bundle/checkout"
	"github.com/nvidia/aicr-action/internal/charts/archive"
	"github.com/nvidia/aicr-action/internal/charts/catalog"
	"github.com/nvidia/aicr-action/internal/charts/render"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/util/filesys"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// release lays out one chart with its values, as deploy.sh of this program's bundles names it.
func (l *layout) release(a *App) error {
	name := a.Name()
	if err := l.chart(a.chart, name+"/chart"); err != nil {
		return err
	}
	namespace := cmp.Or(a.Namespace, plainNamespace)
	if err := nameable(namespace); err != nil {
		return fmt.Errorf("--namespace: %w", err)
	}
	line := fmt.Sprintf("release %s %s ./%s/chart", name, namespace, name)
	for i, file := range a.values {
		shown, content, err := valuesFile(file)
		if err != nil {
			return err
		}
		to := fmt.Sprintf("%s/values/%d.yaml", name, i)
		if err := l.add(to, file, content, nil); err != nil {
			return err
		}
		place := l.places[to]
		place.File = shown
		l.places[to] = place
		line += " --values ./" + to
	}
	return l.add("deploy.sh", path.Join(a.chart, chartFile), []byte(line+"\n"), map[int]int{1: 1})
}

// valuesFile reads a file of --values.
func valuesFile(file string) (shown string, content []byte, err error) {
	r, rel, err := checkout.Open(file)
	if err == nil {
		content, err = r.Read(rel)
	}
	if err != nil {
		return "", nil, fmt.Errorf("--values %s: %w", file, err)
	}
	return r.Shown(rel), content, nil
}

// chartFor makes objects of an app's chart that renders some of Argo CD's or Flux's.
func (l *layout) chartFor(a *App) error {
	objects, err := l.deployers(a)
	if err != nil {
		return err
	}
	a.objects = objects
	l.override("the chart in %s renders objects of %s: what it renders is delivered in place of the chart", a.shown(), a.Deployer)
	return nil
}

// chart copies a chart's directory.
func (l *layout) chart(from, to string) error {
	if err := l.dependencies(from); err != nil {
		return err
	}
	names, err := archive.AllFiles(l.repo.FSys, from)
	if err != nil {
		return l.chartError(from, err)
	}
	for _, name := range names {
		rel := name
		if from != "." {
			rel = strings.TrimPrefix(name, from+"/")
		}
		if render.IsArgoSource(rel) { // merged into the Application already
			continue
		}
		content, err := filesys.FS(l.repo.FSys, name, 2*archive.MostFile) // Helm may ignore a large one
		if err != nil {
			return l.chartError(from, err)
		}
		if err := l.add(path.Join(to, rel), name, content, nil); err != nil {
			return err
		}
	}
	return nil
}

// chartError is why the chart in a directory cannot be read.
func (l *layout) chartError(dir string, err error) error {
	return &recipe.FileError{File: l.repo.Shown(path.Join(dir, chartFile)), Err: fmt.Errorf("read the chart: %w", err)}
}

// dependencies refuses a chart whose dependencies are not in its charts directory: an installation
// would download what no lock pins.
func (l *layout) dependencies(dir string) error {
	m, err := archive.LackingSubcharts(l.repo.FSys, dir)
	if err == nil && m != nil {
		err = fmt.Errorf("the chart depends on %s %s, which is not in its charts directory: first run `helm dependency build %s`", m.Name, m.Version, l.repo.Shown(dir))
	}
	if err != nil {
		return &recipe.FileError{File: l.repo.Shown(m.File), Line: m.Line, Err: err}
	}
	return nil
}

// manifests makes a chart of manifests, which are objects of a directory: each line stays where it is.
func (l *layout) manifests(name, to string, files []string) error {
	meta := fmt.Sprintf("apiVersion: v2\nname: %s\nversion: 0.0.0\n", name)
	if err := l.add(to+"/"+chartFile, files[0], []byte(meta), map[int]int{1: 1}); err != nil {
		return err
	}
	for i, file := range files {
		content, err := l.repo.Read(file)
		if err != nil {
			return err
		}
		content = bytes.ReplaceAll(content, []byte("{{"), []byte(`{{ "{{" }}`)) // it is no template
		if err := l.add(fmt.Sprintf("%s/templates/%03d-%s", to, i, path.Base(file)), file, content, nil); err != nil {
			return err
		}
	}
	return nil
}

// asChart makes a chart of objects, of which there is one or more, a template for each. Definitions
// are in crds/, so that Helm knows them before it reads the rest.
func (l *layout) asChart(name, to string, objects []object) error {
	meta := fmt.Sprintf("apiVersion: v2\nname: %s\nversion: 0.0.0\n", name)
	if err := l.add(to+"/"+chartFile, objects[0].File, []byte(meta), map[int]int{1: 1}); err != nil {
		return err
	}
	for i, o := range objects {
		content, err := yamlx.Encode([]*yamlv3.Node{o.Node})
		if err != nil {
			return l.repo.Bad(o, nil, "it cannot be written again: %w", err)
		}
		docs, err := yamlx.Documents(content)
		if err != nil || len(docs) != 1 {
			return l.repo.Bad(o, nil, "it cannot be written again: %w", err)
		}
		in := "crds"
		if o.Kind() != "CustomResourceDefinition" {
			in, content = "templates", bytes.ReplaceAll(content, []byte("{{"), []byte(`{{ "{{" }}`)) // it is no template
		}
		if err := l.numbered(fmt.Sprintf("%s/%s/%03d-%s.yaml", to, in, i, strings.ToLower(o.Kind())), o, content, docs[0].Content[0]); err != nil {
			return err
		}
	}
	return nil
}

// version checks the version of a chart from elsewhere, which may be a range. No version is the newest.
func version(text string) (string, error) {
	if _, err := semver.NewVersion(text); err == nil || catalog.IsRange(text) {
		return text, nil
	}
	if text == "" {
		return "*", nil
	}
	return "", fmt.Errorf("%q is neither a version of a chart nor a range of versions: write one such as 1.2.3 or 1.x", text)
}

// nameable refuses a name that cannot be one of a directory, or of an object.
func nameable(name string) error {
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return fmt.Errorf("the name %q: %s", name, strings.Join(problems, "; "))
	}
	return nil
}
