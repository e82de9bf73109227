package compare

import (
	"maps"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
)

// Change is one place at which an object changed when the same bundle was delivered again.
type Change struct {
	Object lane.Object
	// Path is empty if the change is of the whole object.
	Path string
	// Text says what changed, e.g. `spec.replicas: 1, then 2`, without the values of Secrets.
	Text string
}

// ChangedTo lists what differs in objects that were captured later, in the same cluster, after the
// same bundle was delivered again. A hook may have been replaced, since deployers run it again.
func (c *Captured) ChangedTo(later *Captured) ([]Change, error) {
	var found []Change
	for _, key := range keysOf(c, later) {
		object, diffs, err := compareObject(c, later, key)
		if err != nil {
			return nil, err
		}
		a, before := c.objects[key]
		b, after := later.objects[key]
		for _, d := range diffs {
			x, y := d.texts()
			if x == y { // a Secret's, or the end of a long one
				y = "another"
			}
			change := Change{object, d.path, d.path + ": " + x + ", then " + y}
			switch {
			case !before:
				change.Text = "is new"
			case !after:
				change.Text = "was deleted"
			}
			found = append(found, change)
		}
		if !before || !after || a.hook {
			continue
		}
		switch {
		case a.uid != b.uid:
			found = append(found, Change{Object: object, Text: "was deleted and created again"})
		case len(diffs) == 0 && a.generation != b.generation && !a.scaled && Rolls(object.GVK.Kind):
			found = append(found, Change{Object: object, Text: "was changed and changed back: its generation rose, so that its controller worked on it again"})
		}
	}
	return found, nil
}

// HooksReplaced lists the hooks that were deleted and created again, and that stand for something
// which lasts: custom resources and workloads. A Job runs again, and other kinds serve it.
func (c *Captured) HooksReplaced(later *Captured) []result.Ref {
	var all []result.Ref
	for _, key := range slices.Sorted(maps.Keys(c.objects)) {
		a, b := c.objects[key], later.objects[key]
		if a.hook && b.uid != "" && a.uid != b.uid && !a.mayBeGone && lasts(a.ref) {
			all = append(all, a.ref.Ref())
		}
	}
	return all
}

// lasts reports whether an object stands for something that runs on: a custom resource or a workload.
func lasts(object lane.Object) bool {
	custom := strings.Contains(object.GVK.Group, ".") && !strings.HasSuffix(object.GVK.Group, ".k8s.io")
	return custom || Rolls(object.GVK.Kind)
}

// Rolls reports whether workloads of a kind replace their pods if their template changes.
func Rolls(kind string) bool {
	return kind == "Deployment" || kind == "StatefulSet" || kind == "DaemonSet"
}

// Len returns the number of objects.
func (c *Captured) Len() int { return len(c.objects) }
