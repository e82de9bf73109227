package compare

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/util/bounded"
)

// New returns a Captured without objects.
func New() *Captured { return &Captured{objects: map[string]capturedObject{}} }

// Add adds an object, normalised as if no chart had rendered it. mayBeGone means that its
// controller or its hook policy deletes it after it has done its work.
func (c *Captured) Add(obj *unstructured.Unstructured, release string, mayBeGone bool) error {
	obj = obj.DeepCopy()
	normalise(obj, nil)
	raw, err := json.Marshal(obj.Object)
	if err != nil {
		return fmt.Errorf("normalise %s %s: %w", obj.GetKind(), obj.GetName(), err)
	}
	ref := lane.Object{GVK: obj.GroupVersionKind(), Namespace: obj.GetNamespace(), Name: obj.GetName(), Release: release}
	c.objects[ref.Key()] = capturedObject{ref: ref, mayBeGone: mayBeGone, json: raw}
	return nil
}

// captureIndex is the file beside the objects of a saved capture.
const captureIndex = "index.yaml"

// savedObject is an entry of the index.
type savedObject struct {
	File      string `json:"file"`
	Group     string `json:"group,omitempty"`
	Version   string `json:"version"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Release   string `json:"release,omitempty"`
	// MayBeGone means that its controller or its hook policy deletes it after it has done its work.
	MayBeGone bool `json:"mayBeGone,omitempty"`
	// Owners are the releases that contain it with different content, in the order of delivery.
	Owners []string `json:"owners,omitempty"`
}

// Save writes the objects to a new directory, a YAML file each, normalised, with digests in place
// of the values of Secrets. Any diff can compare what two revisions of a recipe deliver. Load reads
// the directory.
func (c *Captured) Save(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return fmt.Errorf("save the captured objects: %w", err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return fmt.Errorf("save the captured objects: %w", err)
	}
	var index []savedObject
	for _, key := range slices.Sorted(maps.Keys(c.objects)) {
		o := c.objects[key]
		entry := savedObject{
			File: captureFile(o.ref), Group: o.ref.GVK.Group, Version: o.ref.GVK.Version, Kind: o.ref.GVK.Kind, Namespace: o.ref.Namespace, Name: o.ref.Name,
			Release: o.ref.Release, MayBeGone: o.mayBeGone, Owners: o.owners,
		}
		text, err := yaml.JSONToYAML(o.json)
		if err != nil {
			return fmt.Errorf("save %s: %w", o.ref, err)
		}
		file := filepath.Join(dir, filepath.FromSlash(entry.File))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, text, 0o644)); err != nil {
			return fmt.Errorf("save %s: %w", o.ref, err)
		}
		index = append(index, entry)
	}
	raw, err := yaml.Marshal(index)
	if err != nil {
		return fmt.Errorf("save the index of captured objects: %w", err)
	}
	return os.WriteFile(filepath.Join(dir, captureIndex), raw, 0o644)
}

// captureFile returns e.g. apps.Deployment/cert-manager/cert-manager.yaml. It replaces characters
// that are not allowed in file names on every system: names of RBAC objects have colons.
func captureFile(r lane.Object) string {
	kind := r.GVK.Kind
	if r.GVK.Group != "" {
		kind = r.GVK.Group + "." + kind
	}
	return path.Join(kind, r.Namespace, strings.NewReplacer(":", "%3A", "/", "%2F").Replace(r.Name)+".yaml")
}

// maxCaptured is the largest file of a capture that is read, in bytes. The API server takes no
// object of more than 3 MiB.
const maxCaptured = 16 << 20

// Load reads what Save wrote. It does not know what the charts generate at each rendering.
func Load(dir string) (*Captured, error) {
	raw, err := bounded.File(filepath.Join(dir, captureIndex), maxCaptured)
	if err != nil {
		return nil, fmt.Errorf("load captured objects: %w", err)
	}
	var index []savedObject
	if err := yaml.UnmarshalStrict(raw, &index); err != nil {
		return nil, fmt.Errorf("load captured objects: %s: %w", filepath.Join(dir, captureIndex), err)
	}
	c := New()
	for _, entry := range index {
		if !fs.ValidPath(entry.File) {
			return nil, fmt.Errorf("load captured objects: %s names %q, which is not a file in it", filepath.Join(dir, captureIndex), entry.File)
		}
		text, err := bounded.File(filepath.Join(dir, filepath.FromSlash(entry.File)), maxCaptured)
		if err != nil {
			return nil, fmt.Errorf("load captured objects: %w", err)
		}
		var object map[string]any
		if err := yaml.Unmarshal(text, &object); err != nil {
			return nil, fmt.Errorf("load captured objects: %s: %w", entry.File, err)
		}
		sorted, err := json.Marshal(object)
		if err != nil {
			return nil, fmt.Errorf("load captured objects: %s: %w", entry.File, err)
		}
		ref := lane.Object{GVK: schema.GroupVersionKind{Group: entry.Group, Version: entry.Version, Kind: entry.Kind}, Namespace: entry.Namespace, Name: entry.Name, Release: entry.Release}
		c.objects[ref.Key()] = capturedObject{ref: ref, mayBeGone: entry.MayBeGone, owners: entry.Owners, json: sorted}
	}
	return c, nil
}
