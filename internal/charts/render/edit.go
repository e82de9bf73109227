package render

// edit.go writes what a GitOps deployer sets into the kustomization that it builds. Neither Flux nor Argo CD lays a
// kustomization over it: a prefix replaces that of the kustomization, and images are set after its patches.

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Who edits a kustomization.
const (
	// EditFlux is kustomize-controller (github.com/fluxcd/pkg/kustomize, Generator): fields of an image are merged.
	EditFlux = "Flux"
	// EditArgo is Argo CD's repo-server (util/kustomize), with the commands of kustomize edit.
	EditArgo = "Argo CD"
)

// edits are Settings of an edited kustomization: fields of one, and what Argo CD knows besides.
type edits struct {
	NamePrefix             string            `json:"namePrefix"`
	NameSuffix             string            `json:"nameSuffix"`
	Namespace              string            `json:"namespace"`
	Images                 []map[string]any  `json:"images"`
	Replicas               []map[string]any  `json:"replicas"`
	CommonLabels           map[string]string `json:"commonLabels"`
	CommonAnnotations      map[string]string `json:"commonAnnotations"`
	LabelWithoutSelector   bool              `json:"labelWithoutSelector"`
	LabelIncludeTemplates  bool              `json:"labelIncludeTemplates"`
	ForceCommonLabels      bool              `json:"forceCommonLabels"`
	ForceCommonAnnotations bool              `json:"forceCommonAnnotations"`
}

// edited is the kustomization with the settings and patches in it, and its name; empty if there is none.
func (in KustomizationInput) edited() (name string, text []byte, err error) {
	if len(in.Settings)+len(in.Patches) == 0 {
		return "", nil, nil
	}
	for _, n := range kustomizationNames {
		if _, ok := in.Files[path.Join(in.Dir, n)]; ok && name == "" {
			name = path.Join(in.Dir, n)
		}
	}
	if name == "" {
		return "", nil, nil
	}
	k := map[string]any{}
	if err := yaml.Unmarshal(in.Files[name], &k); err != nil {
		return "", nil, nil // Kustomize says it with the file's own lines
	}
	var e edits
	if len(in.Settings) > 0 {
		if err := json.Unmarshal(in.Settings, &e); err != nil {
			return "", nil, err
		}
	}
	for key, value := range map[string]string{"namePrefix": e.NamePrefix, "nameSuffix": e.NameSuffix, "namespace": e.Namespace} {
		if value != "" {
			k[key] = value
		}
	}
	if len(e.Images) > 0 {
		k["images"] = in.images(k["images"], e.Images)
	}
	if len(e.Replicas) > 0 {
		k["replicas"] = byName(k["replicas"], e.Replicas, func(_, over map[string]any) map[string]any { return over })
	}
	if err := e.labels(k); err != nil {
		return "", nil, err
	}
	if err := added(k, "commonAnnotations", "annotation", e.CommonAnnotations, e.ForceCommonAnnotations); err != nil {
		return "", nil, err
	}
	if len(in.Patches) > 0 {
		list, _ := k["patches"].([]any)
		for _, p := range in.Patches {
			list = append(list, json.RawMessage(p))
		}
		k["patches"] = list
	}
	text, err = yaml.Marshal(k)
	return name, text, err
}

// byName lays entries over those of the same name in a list, and adds the others.
func byName(list any, over []map[string]any, lay func(have, over map[string]any) map[string]any) []any {
	all, _ := list.([]any)
	all = slices.Clone(all)
	for _, o := range over {
		at := slices.IndexFunc(all, func(x any) bool { have, ok := x.(map[string]any); return ok && have["name"] == o["name"] })
		if at < 0 {
			all = append(all, lay(map[string]any{}, o))
			continue
		}
		all[at] = lay(all[at].(map[string]any), o)
	}
	return all
}

// preserved is what kustomize edit takes for: as the kustomization has it.
const preserved = "*"

func (in KustomizationInput) images(list any, over []map[string]any) []any {
	all := byName(list, over, func(have, over map[string]any) map[string]any {
		made := maps.Clone(over)
		if in.Edit == EditFlux {
			made = maps.Clone(have)
			made["name"] = over["name"]
			if over["newName"] != nil {
				made["newName"] = over["newName"]
			}
			if over["newTag"] != nil || over["digest"] != nil { // the two are one setting
				delete(made, "newTag")
				delete(made, "digest")
				for _, key := range []string{"newTag", "digest"} {
					if over[key] != nil {
						made[key] = over[key]
					}
				}
			}
			return made
		}
		for _, key := range []string{"newName", "newTag", "digest"} {
			if made[key] != preserved {
				continue
			}
			if delete(made, key); have[key] != nil {
				made[key] = have[key]
			}
		}
		return made
	})
	if in.Edit == EditArgo {
		slices.SortStableFunc(all, func(a, b any) int { return strings.Compare(nameOf(a), nameOf(b)) })
	}
	return all
}

func nameOf(x any) string {
	m, _ := x.(map[string]any)
	return fmt.Sprint(m["name"])
}

// added sets entries of a mapping, as kustomize edit add does: one that is there is an error, unless it is forced.
func added(k map[string]any, field, what string, more map[string]string, force bool) error {
	if len(more) == 0 {
		return nil
	}
	have, _ := k[field].(map[string]any)
	all := maps.Clone(have)
	if all == nil {
		all = map[string]any{}
	}
	for _, key := range slices.Sorted(maps.Keys(more)) {
		if _, there := all[key]; there && !force {
			title := strings.ToUpper(what[:1]) + what[1:]
			return fmt.Errorf("%s %s is in the kustomization already, and Argo CD sets none anew without forceCommon%ss", what, key, title)
		}
		all[key] = more[key]
	}
	k[field] = all
	return nil
}

// labels adds the common labels: to commonLabels, or without selectors to the entry of labels that is alike.
func (e *edits) labels(k map[string]any) error {
	if !e.LabelWithoutSelector {
		if e.LabelIncludeTemplates && len(e.CommonLabels) > 0 {
			return errors.New("labelIncludeTemplates needs labelWithoutSelector: without it Argo CD's kustomize fails")
		}
		return added(k, "commonLabels", "label", e.CommonLabels, e.ForceCommonLabels)
	}
	if len(e.CommonLabels) == 0 {
		return nil
	}
	list, _ := k["labels"].([]any)
	list = slices.Clone(list)
	at := slices.IndexFunc(list, func(x any) bool {
		m, ok := x.(map[string]any)
		selectors, _ := m["includeSelectors"].(bool)
		templates, _ := m["includeTemplates"].(bool)
		return ok && !selectors && templates == e.LabelIncludeTemplates
	})
	if at < 0 {
		at, list = len(list), append(list, map[string]any{"includeTemplates": e.LabelIncludeTemplates})
	}
	entry := maps.Clone(list[at].(map[string]any))
	if err := added(entry, "pairs", "label", e.CommonLabels, e.ForceCommonLabels); err != nil {
		return err
	}
	list[at], k["labels"] = entry, list
	return nil
}
