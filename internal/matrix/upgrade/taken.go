package upgrade

import (
	"fmt"
	"regexp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// allocated matches what the API server says of a Service that wants a port of the nodes, or an address,
// that another one has.
var allocated = regexp.MustCompile(`Service "([^"]+)" is invalid: spec\.(?:ports\[\d+\]\.nodePort|clusterIPs?(?:\[\d+\])?): Invalid value: \W*(?:string\{")?([0-9a-fA-F.:]*[0-9a-fA-F])\W*: (?:failed to allocate IP [^\n:]*: )?provided (?:port|IP) is already allocated`)

// takenBy names the Service of before the upgrade that has the port or the address, and gives it up too late:
// new objects are created before old ones are removed or changed.
func (b Bundles) takenBy(name, what string) string {
	if b.Before == nil {
		return ""
	}
	for i := range b.Before.Expectation.Objects {
		old := &b.Before.Expectation.Objects[i]
		if old.Object.GetKind() != "Service" || !uses(old.Object, what) {
			continue
		}
		then := "removes"
		if now := objectOf(b.Now, old.Ref()); now != nil {
			if uses(now.Object, what) {
				continue // it keeps it: that fails on a first installation too
			}
			then = "changes"
		}
		return fmt.Sprintf("%s is that of %s still (component %s, %s), which the upgrade %s only after Service %s: give Service %[6]s another one, or delete the old Service before the upgrade", what, old.Ref(), old.Component, b.was(old), then, name)
	}
	return ""
}

// uses reports whether a Service is rendered with a port of the nodes, or an address.
func uses(service *unstructured.Unstructured, what string) bool {
	address, _, _ := unstructured.NestedString(service.Object, "spec", "clusterIP")
	ports, _, _ := unstructured.NestedSlice(service.Object, "spec", "ports")
	for _, p := range ports {
		port, _ := p.(map[string]any)
		if fmt.Sprint(port["nodePort"]) == what {
			return true
		}
	}
	return address == what
}
