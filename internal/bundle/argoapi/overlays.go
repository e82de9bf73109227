package argoapi

// overlays.go reads what an Application of Argo CD or a Kustomization of Flux lays over a
// kustomization. It must not know files, charts or clusters.

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// OverlayOptions are fields of a kustomization, directories of components, and patches, each with its node.
type OverlayOptions struct {
	Settings   map[string]any
	Components []string
	Patches    []OverlayPatch
}

// OverlayPatch is an entry of a kustomization's patches, as JSON.
type OverlayPatch struct {
	Entry string
	Node  *yamlv3.Node
}

// OverlayError is what is wrong with a node.
type OverlayError struct {
	Node *yamlv3.Node
	Err  error
}

func (e *OverlayError) Error() string { return e.Err.Error() }
func (e *OverlayError) Unwrap() error { return e.Err }

// ArgoOverlay reads kustomize of a source of an Application. The error is an *Error.
func ArgoOverlay(n *yamlv3.Node) (OverlayOptions, error) {
	over := OverlayOptions{Settings: map[string]any{}}
	if n == nil {
		return over, nil
	}
	bad := func(at *yamlv3.Node, err error) (OverlayOptions, error) { return over, &OverlayError{at, err} }
	var k struct {
		NamePrefix             string            `yaml:"namePrefix"`
		NameSuffix             string            `yaml:"nameSuffix"`
		Namespace              string            `yaml:"namespace"`
		Images                 []string          `yaml:"images"`
		CommonLabels           map[string]string `yaml:"commonLabels"`
		CommonAnnotations      map[string]string `yaml:"commonAnnotations"`
		LabelWithoutSelector   bool              `yaml:"labelWithoutSelector"`
		LabelIncludeTemplates  bool              `yaml:"labelIncludeTemplates"`
		ForceCommonLabels      bool              `yaml:"forceCommonLabels"`
		ForceCommonAnnotations bool              `yaml:"forceCommonAnnotations"`
		Components             []string          `yaml:"components"`
		Replicas               []struct {
			Name  string `yaml:"name"`
			Count string `yaml:"count"` // a number, or a text with one
		} `yaml:"replicas"`
	}
	known := strings.Fields("namePrefix nameSuffix namespace images commonLabels commonAnnotations labelWithoutSelector labelIncludeTemplates forceCommonLabels forceCommonAnnotations components replicas patches")
	for _, key := range yamlx.Keys(n) {
		if !slices.Contains(known, key) {
			return bad(yamlx.Find(n, key), fmt.Errorf("kustomize.%s is not understood; want %s", key, strings.Join(known, ", ")))
		}
	}
	if err := n.Decode(&k); err != nil {
		return bad(n, err)
	}
	over.Components = k.Components
	set := func(key string, value any, isSet bool) {
		if isSet {
			over.Settings[key] = value
		}
	}
	set("namePrefix", k.NamePrefix, k.NamePrefix != "")
	set("nameSuffix", k.NameSuffix, k.NameSuffix != "")
	set("namespace", k.Namespace, k.Namespace != "")
	set("commonLabels", k.CommonLabels, len(k.CommonLabels) > 0)
	set("commonAnnotations", k.CommonAnnotations, len(k.CommonAnnotations) > 0)
	set("labelWithoutSelector", true, k.LabelWithoutSelector)
	set("labelIncludeTemplates", true, k.LabelIncludeTemplates)
	set("forceCommonLabels", true, k.ForceCommonLabels)
	set("forceCommonAnnotations", true, k.ForceCommonAnnotations)
	var images, replicas []any
	for _, text := range k.Images {
		images = append(images, imageOf(text))
	}
	set("images", images, len(images) > 0)
	for _, r := range k.Replicas {
		count, err := strconv.ParseInt(r.Count, 10, 64)
		if err != nil {
			return bad(yamlx.Find(n, "replicas"), fmt.Errorf("kustomize.replicas: the count %q of %s is no number", r.Count, r.Name))
		}
		replicas = append(replicas, map[string]any{"name": r.Name, "count": count})
	}
	set("replicas", replicas, len(replicas) > 0)
	patches, err := patchesOf(n)
	if err != nil {
		return over, err
	}
	over.Patches = patches
	return over, nil
}

// patchesOf reads the field patches. The error is an *Error.
func patchesOf(n *yamlv3.Node) ([]OverlayPatch, error) {
	list := yamlx.Find(n, "patches")
	if list == nil {
		return nil, nil
	}
	var all []OverlayPatch
	for _, item := range list.Content {
		var value map[string]any
		if err := item.Decode(&value); err != nil {
			return nil, &OverlayError{item, err}
		}
		if value["patch"] == nil {
			return nil, &OverlayError{item, errors.New("a patch has no text under patch")}
		}
		text, err := json.Marshal(value)
		if err != nil {
			return nil, &OverlayError{item, err}
		}
		all = append(all, OverlayPatch{string(text), item})
	}
	return all, nil
}

// imageOf reads an image as kustomize edit set image does: [OLD=]NAME[:TAG][@DIGEST].
func imageOf(text string) map[string]any {
	old, name, renamed := strings.Cut(text, "=")
	if !renamed {
		name = old
	}
	image := map[string]any{}
	if at, digest, ok := strings.Cut(name, "@"); ok {
		name, image["digest"] = at, digest
	}
	if i := strings.LastIndex(name, ":"); i > strings.LastIndex(name, "/") {
		name, image["newTag"] = name[:i], name[i+1:]
	}
	if !renamed {
		old = name
	} else {
		image["newName"] = name
	}
	image["name"] = old
	return image
}

// FluxOverlay reads the spec of a Kustomization. The error is an *Error.
func FluxOverlay(spec *yamlv3.Node) (OverlayOptions, error) {
	over := OverlayOptions{Settings: map[string]any{}}
	for field, key := range map[string]string{"namePrefix": "namePrefix", "nameSuffix": "nameSuffix", "targetNamespace": "namespace"} {
		if text := yamlx.Text(spec, field); text != "" {
			over.Settings[key] = text
		}
	}
	if n := yamlx.Find(spec, "images"); n != nil {
		var images []map[string]string
		if err := n.Decode(&images); err != nil {
			return over, &OverlayError{n, fmt.Errorf("images: %w", err)}
		}
		over.Settings["images"] = images
	}
	if n := yamlx.Find(spec, "components"); n != nil {
		if err := n.Decode(&over.Components); err != nil {
			return over, &OverlayError{n, fmt.Errorf("components: %w", err)}
		}
	}
	var err error
	over.Patches, err = patchesOf(spec)
	return over, err
}
