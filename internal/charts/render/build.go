package render

// build.go has Kustomize build a kustomization from files in memory, and finds out which
// file each object comes from and which patches decide about its pods. Plugins, functions, charts
// and files elsewhere are off.
//
// Kustomize cannot be interrupted, and fetches what it takes for an address: callers build in a
// process without rights and with limits (package charts/render), and only what package source has
// accepted. It must not know recipes.

import (
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// KustomizationInput is a kustomization to build.
type KustomizationInput struct {
	Files map[string][]byte // by path, slash separated and relative
	Dir   string            // of the kustomization, in the same form
	// Patches are applied to what it makes, one after another: entries of a kustomization's
	// patches, as JSON.
	Patches []string
	// Edit is EditFlux or EditArgo: Patches, and Settings, other fields of a kustomization as a JSON object, are written into
	// the kustomization as that program does it. Empty: Patches are those of a kustomization over it, and there are no Settings.
	Edit     string
	Settings []byte
}

// KustomizationOutput is what a kustomization makes.
type KustomizationOutput struct {
	Objects []KustomizationObject
	// Unused are the positions of those of Input.Patches that change nothing.
	Unused []int
	// Unmatched are entries that select no object.
	Unmatched []Unmatched
}

// KustomizationObject is one object.
type KustomizationObject struct {
	Kind, Namespace, Name string
	YAML                  string
	// From is the file that has the object, or the kustomization whose generator made it. Empty if
	// Kustomize does not say.
	From string
	// Changed are the patches that decide about its pods.
	Changed []KustomizationChange
}

// KustomizationChange is a patch that changes an object's pod specification.
type KustomizationChange struct {
	// Patch is the position in Input.Patches; -1 for a patch that a kustomization of Input.Files
	// has.
	Patch int
	// File, Field and Index say where a kustomization has it, e.g. app/kustomization.yaml, patches,
	// 0.
	File, Field string
	Index       int
	// Parts of the pod specification that are not the same without it, e.g. tolerations; sorted.
	Parts []string
}

// The places of files and of the patches' kustomization in memory: neither is in the other.
const (
	filesDir = "/files"
	topDir   = "/top"
)

// buildKustomization builds. The error is Kustomize's own, without the places in memory.
func buildKustomization(in KustomizationInput) (*KustomizationOutput, error) {
	objects, err := run(in, nil)
	if err != nil {
		return nil, clean(err)
	}
	out := &KustomizationOutput{Objects: objects}
	// Kustomize writes the place of an object as an annotation, which the result must not contain
	// unless the kustomization requests it. So Kustomize builds twice.
	traced, err := run(in, []string{types.OriginAnnotations})
	if err != nil {
		return nil, clean(err)
	}
	from := map[string]string{}
	for _, o := range traced {
		from[o.key()] = o.From
	}
	for i := range out.Objects {
		out.Objects[i].From = from[out.Objects[i].key()]
	}
	return out, out.trace(in)
}

func (o *KustomizationObject) key() string { return o.Kind + "/" + o.Namespace + "/" + o.Name }

// clean leaves out of an error where the files are in memory.
func clean(err error) error {
	text := strings.NewReplacer("'"+filesDir+"/", "'", filesDir+"/", "", topDir+"/kustomization.yaml", "the recipe's patches", topDir, "the recipe's patches", "../files/", "").Replace(err.Error())
	text = merged.ReplaceAllString(text, "$1 $2 does not exist, and a generator merges into it or replaces it")
	return fmt.Errorf("%s", strings.TrimSpace(text))
}

// merged is Kustomize's error about a generator that changes what there is not.
var merged = regexp.MustCompile(`merging from generator &\{.*?\}: id resid\.ResId\{.*?Kind:"(\w+)".*?Name:"([^"]+)".*?\} does not exist; cannot merge or replace`)

// run is one build. With metadata, or patches, the kustomization is the base of another.
func run(in KustomizationInput, metadata []string) ([]KustomizationObject, error) {
	fsys := filesys.MakeFsInMemory()
	for name, content := range in.Files {
		if err := fsys.WriteFile(path.Join(filesDir, name), content); err != nil {
			return nil, err
		}
	}
	dir := path.Join(filesDir, in.Dir)
	if in.Edit != "" {
		name, text, err := in.edited()
		if err != nil {
			return nil, err
		}
		if name != "" {
			if err := fsys.WriteFile(path.Join(filesDir, name), text); err != nil {
				return nil, err
			}
			in.Patches = nil
		}
	}
	if len(metadata) > 0 || len(in.Patches) > 0 {
		top, err := in.top(metadata)
		if err != nil {
			return nil, err
		}
		if err := fsys.WriteFile(topDir+"/kustomization.yaml", top); err != nil {
			return nil, err
		}
		dir = topDir
	}
	options := krusty.MakeDefaultOptions() // plugins disabled, no file from outside of a kustomization's directory
	options.Reorder = krusty.ReorderOptionUnspecified
	made, err := krusty.MakeKustomizer(options).Run(fsys, dir)
	if err != nil {
		return nil, err
	}
	return objectsOf(made)
}

// top is the kustomization of the patches, outside of the recipe's own. Kustomize takes some
// settings only from the outermost kustomization, so top repeats those of its base.
func (in KustomizationInput) top(metadata []string) ([]byte, error) {
	patches := []json.RawMessage{}
	for _, p := range in.Patches {
		patches = append(patches, json.RawMessage(p))
	}
	top := map[string]any{"resources": []string{path.Join("..", filesDir, in.Dir)}, "patches": patches}
	base := in.outermost()
	for _, name := range base.BuildMetadata {
		if name == types.ManagedByLabelOption {
			metadata = append(metadata, name)
		}
	}
	if base.SortOptions != nil {
		top["sortOptions"] = base.SortOptions
	}
	if len(metadata) > 0 {
		top["buildMetadata"] = metadata
	}
	return json.Marshal(top)
}

// outermost reads of the kustomization what counts only there. One that cannot be read is for
// Kustomize to refuse.
func (in KustomizationInput) outermost() (k types.Kustomization) {
	for name, content := range in.Files {
		if path.Dir(name) == path.Clean(in.Dir) && strings.EqualFold(strings.TrimSuffix(strings.TrimSuffix(path.Base(name), ".yaml"), ".yml"), "kustomization") {
			_ = yaml.Unmarshal(content, &k)
		}
	}
	return k
}

func objectsOf(made resmap.ResMap) ([]KustomizationObject, error) {
	var all []KustomizationObject
	for _, r := range made.Resources() {
		o := KustomizationObject{Kind: r.GetKind(), Namespace: r.GetNamespace(), Name: r.GetName()}
		text, err := r.AsYAML()
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", o.Kind, o.Name, err)
		}
		o.YAML = string(text)
		if origin, err := r.GetOrigin(); err == nil && origin != nil {
			for _, name := range []string{origin.Path, origin.ConfiguredIn} {
				if rest, ok := strings.CutPrefix(path.Clean(name), "../files/"); ok && o.From == "" {
					o.From = rest
				}
			}
		}
		all = append(all, o)
	}
	return all, nil
}

// PodSpecPath returns the path to the pod specification in an object of this kind; nil for a kind
// that makes no pods.
func PodSpecPath(kind string) []string {
	switch kind {
	case "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController", "Job":
		return []string{"spec", "template", "spec"}
	case "CronJob":
		return []string{"spec", "jobTemplate", "spec", "template", "spec"}
	case "Pod":
		return []string{"spec"}
	}
	return nil
}

// parts are the fields of an object's pod specification, as JSON.
func (o *KustomizationObject) parts() map[string]string {
	var object map[string]any
	steps := PodSpecPath(o.Kind)
	if steps == nil || yaml.Unmarshal([]byte(o.YAML), &object) != nil {
		return nil
	}
	for _, step := range steps {
		object, _ = object[step].(map[string]any)
	}
	all := map[string]string{}
	for name, value := range object {
		text, err := json.Marshal(value)
		if err == nil {
			all[name] = string(text)
		}
	}
	return all
}
