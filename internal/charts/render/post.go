package render

import (
	"fmt"
	"path"
	"strings"

	"helm.sh/helm/v3/pkg/chartutil"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"
)

// postRender has Kustomize change the objects of a release, hooks included, as helm-controller does,
// with which Helm sorts hooks and manifests afterwards. An object that only has other images keeps the
// name of its template.
func postRender(rel *helmrelease.Release, post Post) (unmatched []Unmatched, err error) {
	var templates, docs []string
	add := func(template, text string) {
		if text = strings.TrimSpace(text); text != "" {
			templates, docs = append(templates, template), append(docs, text)
		}
	}
	template := ""
	for _, doc := range strings.Split("\n"+rel.Manifest, "\n---\n") {
		if line, _, _ := strings.Cut(strings.TrimSpace(doc), "\n"); strings.HasPrefix(line, source) {
			template = strings.TrimPrefix(line, source)
		}
		add(template, doc)
	}
	for _, h := range rel.Hooks {
		add(h.Path, h.Manifest)
	}
	for i, p := range post.Steps {
		var found []Unmatched
		if templates, docs, found, err = postRendered(templates, docs, p, post); err != nil {
			return nil, fmt.Errorf("%s, step %d: %w", post.At, i+1, err)
		}
		for _, u := range found {
			u.Step = i
			unmatched = append(unmatched, u)
		}
	}
	files := map[string]string{}
	for i, doc := range docs {
		files[templates[i]] += "---\n" + doc + "\n"
	}
	hooks, manifests, err := releaseutil.SortManifests(files, chartutil.DefaultVersionSet, releaseutil.InstallOrder)
	if err != nil {
		return nil, err
	}
	var text strings.Builder
	for _, m := range manifests {
		text.WriteString("---\n" + source + m.Name + "\n" + strings.TrimSpace(m.Content) + "\n")
	}
	rel.Manifest, rel.Hooks = text.String(), hooks
	return unmatched, nil
}

// source begins the comment by which Helm names the template of an object.
const source = "# Source: "

// postRendered is one step of it: documents and their templates.
func postRendered(templates, docs []string, step string, post Post) (from, all []string, unmatched []Unmatched, err error) {
	in := KustomizationInput{Dir: ".", Files: map[string][]byte{}}
	var resources []string
	at := map[string]int{}
	for i, doc := range docs {
		name := fmt.Sprintf("%05d.yaml", i)
		in.Files[name] = []byte(doc + "\n")
		at[name] = i
		resources = append(resources, name)
	}
	build := func(without ...string) ([]KustomizationObject, error) {
		text, err := withKustomization(step, resources, without...)
		if err != nil {
			return nil, err
		}
		in.Files["kustomization.yaml"] = text
		out, err := buildKustomization(in)
		if err != nil {
			return nil, err
		}
		return out.Objects, nil
	}
	objects, err := build()
	if err != nil {
		return nil, nil, nil, err
	}
	if post.Look {
		unmatched = in.unmatched(objects)
	}
	plain, err := build("patches")
	if err != nil {
		return nil, nil, nil, err
	}
	unpatched := map[string]string{}
	for _, o := range plain {
		unpatched[o.From] = o.YAML
	}
	for _, o := range objects {
		template := post.At
		if i, ok := at[path.Base(o.From)]; ok && unpatched[o.From] == o.YAML {
			template = templates[i]
		}
		from, all = append(from, template), append(all, o.YAML)
	}
	return from, all, unmatched, nil
}
