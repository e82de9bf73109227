package upgrade

import (
	"fmt"
	"regexp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// twoTypes matches what the API server says of a volume with two types.
var twoTypes = regexp.MustCompile(`([A-Z][A-Za-z0-9]*)(?:\.[a-z0-9.-]+)? "([^"]+)" is invalid: \[?spec\.[A-Za-z0-9_.\[\]]*volumes\[\d+\]\.[A-Za-z]+: Forbidden: may not specify more than 1 volume type`)

// untyped says which volume of a workload had no type before the upgrade, so that the API server made it an
// emptyDir, which no apply takes away; empty if none had.
func (b Bundles) untyped(kind, name string) string {
	old, now := changed(b.Before, b.Now, kind, name)
	if old == nil || now == nil {
		return ""
	}
	next := volumesOf(now)
	for volume, was := range volumesOf(old) {
		if is := next[volume]; len(was) == 1 && len(is) > 1 {
			return fmt.Sprintf("%s %s: volume %s had no type before the upgrade (component %s, %s), and the API server made it an emptyDir, which server-side apply does not take away; write emptyDir: {} in the old template, in an upgrade before this one, or give the volume another name in %s",
				kind, name, volume, old.Component, Place(b.Before, old, "spec"), b.place(now, "spec.template.spec.volumes"))
		}
	}
	return ""
}

// volumesOf are the volumes of a workload's pods by name.
func volumesOf(o *bundle.Object) map[string]map[string]any {
	all := map[string]map[string]any{}
	volumes, _, _ := unstructured.NestedSlice(o.Object.Object, "spec", "template", "spec", "volumes")
	for _, v := range volumes {
		volume, _ := v.(map[string]any)
		name, _ := volume["name"].(string)
		all[name] = volume
	}
	return all
}
