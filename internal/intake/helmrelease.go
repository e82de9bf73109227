package intake

// helmrelease.go reads what a HelmRelease says besides its chart and values: its name, how long Flux
// waits, and what helm-controller does to the objects of its chart after they are rendered. It must not
// know files or clusters.

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/fluxapi"
	"github.com/nvidia/aicr-action/internal/charts/render"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// helmReleaseFields are those of a HelmRelease's spec that Post reads.
func helmReleaseFields() []string { return []string{"postRenderers", "commonMetadata"} }

// helmReleaseError is what is wrong with a node.
type helmReleaseError struct {
	Node *yamlv3.Node
	Err  error
}

func (e *helmReleaseError) Error() string { return e.Err.Error() }
func (e *helmReleaseError) Unwrap() error { return e.Err }

// helmReleaseLine is the line of the node that an error of this package is about; 0 if it names none.
func helmReleaseLine(err error) int {
	var wrong *helmReleaseError
	if errors.As(err, &wrong) {
		return wrong.Node.Line
	}
	return 0
}

// image and patch are what Flux's Kustomize takes: nothing that reads a file.
type image struct {
	Name    string `json:"name,omitempty" yaml:"name"`
	NewName string `json:"newName,omitempty" yaml:"newName"`
	NewTag  string `json:"newTag,omitempty" yaml:"newTag"`
	Digest  string `json:"digest,omitempty" yaml:"digest"`
}

type patch struct {
	Patch  string            `json:"patch" yaml:"patch"`
	Target map[string]string `json:"target,omitempty" yaml:"target"`
}

type kustomization struct {
	Patches []patch `json:"patches,omitempty" yaml:"patches"`
	Images  []image `json:"images,omitempty" yaml:"images"`
}

// helmReleasePost gives what is done to a release's objects, whose place is that of a line. The error is an *Error.
func helmReleasePost(spec *yamlv3.Node, place func(line int) recipe.Origin) (render.Post, error) {
	var all render.Post
	for _, field := range helmReleaseFields() {
		if n := yamlx.Find(spec, field); n != nil {
			all.At = fmt.Sprintf("spec.%s in %s", field, place(yamlx.LineOf(spec, field)))
			break
		}
	}
	add := func(n *yamlv3.Node, k kustomization) error {
		text, err := json.Marshal(k)
		if err != nil {
			return &helmReleaseError{n, err}
		}
		all.Steps = append(all.Steps, string(text))
		return nil
	}
	list := yamlx.Find(spec, "postRenderers")
	for i := 0; list != nil && i < len(list.Content); i++ {
		n := yamlx.Find(list.Content[i], "kustomize")
		if n == nil {
			continue
		}
		for _, key := range yamlx.Keys(n) {
			if !slices.Contains([]string{"patches", "images"}, key) {
				return all, &helmReleaseError{yamlx.Find(n, key), fmt.Errorf("spec.postRenderers.kustomize.%s is not understood; want patches and images", key)}
			}
		}
		var k kustomization
		if err := n.Decode(&k); err != nil {
			return all, &helmReleaseError{n, fmt.Errorf("spec.postRenderers: %w", err)}
		}
		if slices.ContainsFunc(k.Patches, func(p patch) bool { return strings.TrimSpace(p.Patch) == "" }) {
			return all, &helmReleaseError{n, errors.New("spec.postRenderers: a patch has no text under patch")}
		}
		if err := add(n, k); err != nil {
			return all, err
		}
	}
	common := yamlx.Find(spec, "commonMetadata")
	if common == nil {
		return all, nil
	}
	meta := map[string]any{"name": "all"}
	for _, key := range []string{"labels", "annotations"} {
		set := map[string]string{}
		if n := yamlx.Find(common, key); n != nil {
			if err := n.Decode(&set); err != nil {
				return all, &helmReleaseError{n, fmt.Errorf("spec.commonMetadata.%s: %w", key, err)}
			}
			meta[key] = set
		}
	}
	text, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "All", "metadata": meta})
	if err != nil {
		return all, &helmReleaseError{common, err}
	}
	return all, add(common, kustomization{Patches: []patch{{Patch: string(text), Target: map[string]string{"kind": ".*"}}}})
}

// helmReleasePostLine is the line of an entry of a step that helmReleasePost gives.
func helmReleasePostLine(spec *yamlv3.Node, step int, field string, index int) int {
	list := yamlx.Find(spec, "postRenderers")
	for i := 0; list != nil && i < len(list.Content); i++ {
		n := yamlx.Find(list.Content[i], "kustomize")
		if n == nil {
			continue
		}
		if step--; step >= 0 {
			continue
		}
		if entries := yamlx.Find(n, field); entries != nil && index < len(entries.Content) {
			return entries.Content[index].Line
		}
		return n.Line
	}
	return yamlx.LineOf(spec, "commonMetadata")
}

// helmReleaseWaits is how long helm-controller waits for the objects of a release that it installs; 0 if it does not.
func helmReleaseWaits(spec *yamlv3.Node) time.Duration {
	if yamlx.Text(spec, "install", "disableWait") == "true" {
		return 0
	}
	d, err := time.ParseDuration(cmp.Or(yamlx.Text(spec, "install", "timeout"), yamlx.Text(spec, "timeout")))
	if err != nil || d <= 0 {
		return bundle.FluxTimeout // which is helm-controller's default
	}
	return d
}

// helmReleaseName is the name that helm-controller gives a release: the one that is asked for, or one made
// of the namespace and the object's name.
func helmReleaseName(n *yamlv3.Node) string {
	if name := yamlx.Text(n, "spec", "releaseName"); name != "" {
		return fluxapi.ReleaseName("", name)
	}
	return fluxapi.ReleaseName(yamlx.Text(n, "spec", "targetNamespace"), yamlx.Text(n, "metadata", "name"))
}
