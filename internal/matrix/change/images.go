package change

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle/podspec"
	"github.com/nvidia/aicr-action/internal/result"
)

// images notes the images that differ between two objects, of which one may be nil, by container.
func (c *comparison) images(component string, b, a *object) {
	before, after := b.images(), a.images()
	at := a
	if at == nil {
		at = b
	}
	names := map[string]bool{}
	for name := range before {
		names[name] = true
	}
	for name := range after {
		names[name] = true
	}
	for name := range names {
		from, to := before[name], after[name]
		// One that other workloads had before is not new, and one that others have now is still used.
		if from != to && (from != "" || !c.before.uses(to)) && (to != "" || !c.after.uses(from)) {
			c.image(component, from, to, at.ref.Ref())
		}
	}
	one := c.components[component]
	if one == nil {
		return
	}
	slices.SortFunc(one.Images, func(a, b result.ImageChange) int {
		return slices.Compare([]string{a.To, a.From}, []string{b.To, b.From})
	})
}

// hooks notes the images of hooks that are deleted once they have succeeded: no state of the cluster has
// them, and they are pulled all the same.
func (c *comparison) hooks() {
	for _, key := range slices.Sorted(maps.Keys(c.before.passing)) {
		b, a := c.before.passing[key], c.after.passing[key]
		c.images(b.component, b, a)
	}
	for _, key := range slices.Sorted(maps.Keys(c.after.passing)) {
		if a := c.after.passing[key]; c.before.passing[key] == nil && c.before.objects[key] == nil {
			c.images(a.component, nil, a)
		}
	}
}

func (c *comparison) image(component, from, to string, workload result.Ref) {
	one := c.of(component)
	for i := range one.Images {
		if known := &one.Images[i]; known.From == from && known.To == to {
			if !slices.Contains(known.Workloads, workload) {
				known.Workloads = append(known.Workloads, workload)
			}
			return
		}
	}
	one.Images = append(one.Images, result.ImageChange{From: from, To: to, Workloads: []result.Ref{workload}})
}

// uses reports whether any workload has an image.
func (s *State) uses(image string) bool {
	if s.used == nil {
		s.used = map[string]bool{}
		for _, all := range []map[string]*object{s.objects, s.passing} {
			for _, o := range all {
				for _, name := range o.images() {
					s.used[name] = true
				}
			}
		}
	}
	return s.used[image]
}

// images are the images of an object's pod template, by container; none for a nil object.
func (o *object) images() map[string]string {
	if o == nil || o.content == nil {
		return nil
	}
	found := map[string]string{}
	template, _ := podspec.Template(o.content)
	for _, field := range []string{"initContainers", "containers"} {
		list, _, _ := unstructured.NestedSlice(template, "spec", field)
		for _, v := range list {
			m, _ := v.(map[string]any)
			name, _ := m["name"].(string)
			image, _ := m["image"].(string)
			if image != "" {
				found[name] = image
			}
		}
	}
	return found
}
