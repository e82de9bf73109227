package bundle

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/helmrender"
	"github.com/nvidia/aicr-action/internal/yamlx"
)

// rendered is one object that a chart renders, before namespaces are filled in.
type rendered struct {
	template  string
	hook      bool
	ephemeral bool
	object    *unstructured.Unstructured
}

// rendering is what a release's chart comes to at install time.
type rendering struct {
	objects []rendered
	text    string // all of it, hooks included
}

// templateError says which template produced something that is not a Kubernetes object.
type templateError struct {
	template string
	err      error
}

func (e *templateError) Error() string { return fmt.Sprintf("%s: %v", e.template, e.err) }
func (e *templateError) Unwrap() error { return e.err }

// mostObjects is how many objects one release may have, those in Lists included. The largest chart of the recipe set has 300.
const mostObjects = 10_000

// render does what `helm template --include-crds` does, without a cluster: hooks that run at install are in, others are not.
// apiVersions are all that the chart sees.
func render(ctx context.Context, renderer *helmrender.Renderer, r *release, values map[string]any, kubeVersion string, apiVersions chartutil.VersionSet) (*rendering, error) {
	rel, err := runTemplate(ctx, renderer, r, values, kubeVersion, apiVersions)
	if err != nil {
		return nil, err
	}
	out := &rendering{}
	var text strings.Builder
	text.WriteString(rel.Manifest)
	for _, h := range rel.Hooks {
		if !runsAtInstall(h) {
			continue
		}
		text.WriteString("\n---\n" + h.Manifest)
		objs, err := parseManifest(h.Manifest, h.Path)
		if err != nil {
			return nil, err
		}
		for _, o := range objs {
			o.hook = true
			o.ephemeral = slices.Contains(h.DeletePolicies, helmrelease.HookSucceeded)
			out.objects = append(out.objects, o)
		}
	}
	objs, err := parseManifest(rel.Manifest, "")
	if err != nil {
		return nil, err
	}
	out.objects = append(objs, out.objects...)
	if len(out.objects) > mostObjects {
		return nil, &helmrender.LimitError{What: fmt.Sprintf("its templates make %d objects; the limit is %d", len(out.objects), mostObjects)}
	}
	out.text = text.String()
	return out, nil
}

// runTemplate has Helm render a release in the renderer's process.
func runTemplate(ctx context.Context, renderer *helmrender.Renderer, r *release, values map[string]any, kubeVersion string, apiVersions chartutil.VersionSet) (*helmrender.Release, error) {
	return renderer.Release(ctx, helmrender.Request{Chart: r.chart, Values: values, Name: r.InHelm(), Namespace: r.Namespace, KubeVersion: kubeVersion, APIVersions: apiVersions})
}

// crdsOf parses the crds/ directories of a chart and of those of its dependencies that the values leave enabled. They are not
// templates, so they are parsed apart from the rendering and only once.
func crdsOf(ch *chart.Chart, values map[string]any) ([]rendered, error) {
	c := CloneChart(ch)
	if err := chartutil.ProcessDependenciesWithMerge(c, copyMap(values)); err != nil {
		return nil, err
	}
	var out []rendered
	for _, crd := range c.CRDObjects() {
		objs, err := parseManifest(string(crd.File.Data), crd.Filename)
		if err != nil {
			return nil, err
		}
		out = append(out, objs...)
	}
	return out, nil
}

func runsAtInstall(h *helmrelease.Hook) bool {
	return slices.Contains(h.Events, helmrelease.HookPreInstall) || slices.Contains(h.Events, helmrelease.HookPostInstall)
}

var (
	sourceComment = regexp.MustCompile(`(?m)^# Source: (.+)$`)
	crdKind       = regexp.MustCompile(`(?m)^kind:\s*["']?CustomResourceDefinition["']?\s*$`)
)

// parseManifest splits a manifest into objects. The template is the one of the nearest "# Source:" comment at or above the
// object.
func parseManifest(text, template string) ([]rendered, error) {
	split := releaseutil.SplitManifests(text)
	keys := make([]string, 0, len(split))
	for k := range split {
		keys = append(keys, k)
	}
	sort.Sort(releaseutil.BySplitManifestsOrder(keys))
	var out []rendered
	for _, k := range keys {
		doc := split[k]
		if m := sourceComment.FindStringSubmatch(doc); m != nil {
			template = strings.TrimSpace(m[1])
		}
		objs, err := parseDocument(doc)
		if err != nil {
			return nil, &templateError{template, err}
		}
		for _, o := range objs {
			out = append(out, rendered{template: template, object: o})
		}
	}
	return out, nil
}

// parseDocument gives the object of one YAML document, the items of a List, or nothing for an empty document.
func parseDocument(doc string) ([]*unstructured.Unstructured, error) {
	if err := yamlx.Check([]byte(doc)); err != nil {
		return nil, err
	}
	if crdKind.MatchString(doc) {
		return parseCRD(doc)
	}
	raw, err := yaml.YAMLToJSON([]byte(doc))
	if err != nil {
		return nil, err
	}
	if bytes.Equal(raw, []byte("null")) {
		return nil, nil
	}
	var m map[string]any
	// Kubernetes' own JSON decoder keeps whole numbers whole, as unstructured objects must have them.
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, fmt.Errorf("not an object: %w", err)
	}
	if len(m) == 0 {
		return nil, nil
	}
	obj := &unstructured.Unstructured{Object: m}
	if obj.GetAPIVersion() == "" || obj.GetKind() == "" {
		return nil, fmt.Errorf("an object without apiVersion or kind")
	}
	if obj.IsList() {
		list, err := obj.ToList()
		if err != nil {
			return nil, err
		}
		var out []*unstructured.Unstructured
		for i := range list.Items {
			out = append(out, &list.Items[i])
		}
		return out, nil
	}
	if obj.GetName() == "" {
		return nil, fmt.Errorf("%s without metadata.name", obj.GetKind())
	}
	return []*unstructured.Unstructured{obj}, nil
}

// crdHead is what is kept of a CustomResourceDefinition. Their schemas make up megabytes of some charts, and nothing here
// looks at them.
type crdHead struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Metadata   struct {
		Name        string
		Labels      map[string]string
		Annotations map[string]string
	}
	Spec struct {
		Group    string
		Scope    string
		Names    struct{ Kind, Plural, Singular string }
		Versions []struct {
			Name            string
			Served, Storage bool
		}
	}
}

func parseCRD(doc string) ([]*unstructured.Unstructured, error) {
	var head crdHead
	if err := yamlv3.Unmarshal([]byte(doc), &head); err != nil {
		return nil, err
	}
	if head.Metadata.Name == "" {
		return nil, fmt.Errorf("CustomResourceDefinition without metadata.name")
	}
	var versions []any
	for _, v := range head.Spec.Versions {
		versions = append(versions, map[string]any{"name": v.Name, "served": v.Served, "storage": v.Storage})
	}
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": head.APIVersion,
		"kind":       head.Kind,
		"metadata":   map[string]any{"name": head.Metadata.Name},
		"spec": map[string]any{
			"group":    head.Spec.Group,
			"scope":    head.Spec.Scope,
			"names":    map[string]any{"kind": head.Spec.Names.Kind, "plural": head.Spec.Names.Plural, "singular": head.Spec.Names.Singular},
			"versions": versions,
		},
	}}
	obj.SetLabels(head.Metadata.Labels)
	obj.SetAnnotations(head.Metadata.Annotations)
	return []*unstructured.Unstructured{obj}, nil
}
