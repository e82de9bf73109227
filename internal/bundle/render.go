package bundle

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle/documents"
	"github.com/nvidia/aicr-action/internal/charts/archive"
	"github.com/nvidia/aicr-action/internal/charts/render"
)

// rendered is one object that a chart renders, before namespaces are filled in.
type rendered struct {
	template  string
	hook      bool
	ephemeral bool
	object    *unstructured.Unstructured
	// definition is the whole text of a CustomResourceDefinition, of which object is the head.
	definition string
}

// rendering has the objects that a release's chart renders at installation.
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

// mostObjects is how many objects one release may have, those in Lists included. The largest chart
// of the recipe set has 300.
const mostObjects = 10_000

// renderRelease does what `helm template --include-crds` does, without a cluster: hooks that run at
// install are in, others are not. apiVersions are all that the chart sees.
func renderRelease(ctx context.Context, renderer *render.Renderer, r *release, values map[string]any, kubeVersion string, apiVersions chartutil.VersionSet) (*rendering, error) {
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
		return nil, &render.LimitError{What: fmt.Sprintf("its templates make %d objects; the limit is %d", len(out.objects), mostObjects)}
	}
	out.text = text.String()
	return out, nil
}

// runTemplate has Helm render a release in the renderer's process.
func runTemplate(ctx context.Context, renderer *render.Renderer, r *release, values map[string]any, kubeVersion string, apiVersions chartutil.VersionSet) (*render.Release, error) {
	return renderer.Release(ctx, render.Request{Chart: r.chart, Values: values, Name: r.InHelm(), Namespace: r.Namespace, KubeVersion: kubeVersion, APIVersions: apiVersions})
}

// crdsOf parses the crds/ directories of a chart and of those of its dependencies that the values
// leave enabled. They are not templates, so they are parsed apart from the rendering and only once.
func crdsOf(ch *chart.Chart, values map[string]any) ([]rendered, error) {
	c := archive.Clone(ch)
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
)

// parseManifest splits a manifest into objects. The template is the one of the nearest "# Source:"
// comment at or above the object.
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
		objs, err := documents.Parse(doc)
		if err != nil {
			return nil, &templateError{template, err}
		}
		definition := ""
		if documents.IsCRD(doc) {
			definition = doc
		}
		for _, o := range objs {
			out = append(out, rendered{template: template, object: o, definition: definition})
		}
	}
	return out, nil
}
