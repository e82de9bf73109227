package adjust

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/recipe/document"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// StorageClass puts the name of a StorageClass at the value paths that the registry names for it,
// over what the recipe sets, and says where.
func StorageClass(components []recipe.Component, entries []recipe.Entry, class string) ([]string, error) {
	return putAt(components, "--storage-class "+class, class, func(c *recipe.Component) []string { return entryOf(entries, c.Name).StorageClassPaths })
}

// SharedStorageClass is StorageClass for file systems that many pods write to at once. It never stands in
// for the other.
func SharedStorageClass(components []recipe.Component, entries []recipe.Entry, class string) ([]string, error) {
	return putAt(components, "--shared-storage-class "+class, class, func(c *recipe.Component) []string { return entryOf(entries, c.Name).SharedStorageClassPaths })
}

// WorkloadSelector puts the labels of pods that node tuning must not evict at the value paths that
// the registry names for them, and says where.
func WorkloadSelector(components []recipe.Component, entries []recipe.Entry, labels map[string]string) ([]string, error) {
	value, text := map[string]any{}, []string{}
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		value[key] = labels[key]
		text = append(text, key+"="+labels[key])
	}
	return putAt(components, "--workload-selector "+strings.Join(text, ","), value, func(c *recipe.Component) []string { return entryOf(entries, c.Name).WorkloadSelectorPaths })
}

// WorkloadGate puts the taint that nodes carry until they are tuned at the value paths that the
// registry names for taints, and says where.
func WorkloadGate(components []recipe.Component, taint corev1.Toleration) ([]string, error) {
	text := bundle.FormatToleration(taint)
	lines, err := putAt(components, "--workload-gate "+text, text, func(c *recipe.Component) []string {
		return slices.Concat(c.NodeScheduling.System.TaintStrPaths, c.NodeScheduling.Accelerated.TaintStrPaths)
	})
	if err != nil {
		return nil, err
	}
	object := map[string]any{"key": taint.Key, "effect": string(taint.Effect)}
	if taint.Value != "" {
		object["value"] = taint.Value
	}
	more, err := putAt(components, "--workload-gate "+text, object, func(c *recipe.Component) []string {
		return slices.Concat(c.NodeScheduling.System.TaintPaths, c.NodeScheduling.Accelerated.TaintPaths)
	})
	return append(lines, more...), err
}

func putAt(components []recipe.Component, flag string, value any, paths func(*recipe.Component) []string) (lines []string, err error) {
	for i := range components {
		c := &components[i]
		for _, path := range lists.Unique(paths(c)) {
			if err := put(c, path, document.CopyValue(value), flag); err != nil {
				return nil, err
			}
			lines = append(lines, fmt.Sprintf("%s: %s at %s", c.Name, flag, path))
		}
	}
	return lines, nil
}

// StorageClassPaths gives the value paths of a component that name its StorageClass.
func StorageClassPaths(entries []recipe.Entry) func(component string) []string {
	return func(component string) []string { return entryOf(entries, component).StorageClassPaths }
}

func entryOf(entries []recipe.Entry, name string) recipe.Entry {
	if i := slices.IndexFunc(entries, func(e recipe.Entry) bool { return e.Name == name }); i >= 0 {
		return entries[i]
	}
	return recipe.Entry{}
}
