package daytwo

import (
	"fmt"
	"regexp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// denied matches what the API server says of a change that a policy does not allow.
var denied = regexp.MustCompile(`ValidatingAdmissionPolicy '([^']+)' with binding '([^']+)' denied request`)

// byPolicy names the policy of the bundle that denies a change, which a first installation is not: it was
// in force before.
func (b Bundles) byPolicy(policy, binding string) string {
	o := find(b.Now, "ValidatingAdmissionPolicy", policy)
	if o == nil {
		return ""
	}
	at := b.place(o, "spec.validations")
	if by := find(b.Now, "ValidatingAdmissionPolicyBinding", binding); by != nil {
		at += ", bound in " + b.place(by, "")
	}
	return fmt.Sprintf("ValidatingAdmissionPolicy %s is the recipe's own (component %s, %s), and in force from before the upgrade: allow this change in the policy, in an upgrade before this one, or leave it out", policy, o.Component, at)
}

// contested matches what Helm 4 says of an object of which somebody else has changed a field.
var contested = regexp.MustCompile(`conflict occurred while applying object (?:\S*/)?(\S+) \S+, Kind=([A-Za-z0-9]+): Apply failed with \d+ conflicts?: conflicts? with ("[^"]+"(?: with subresource "[^"]+")?) using [^:\s]+:\s*(?:- )?\.(\S+)`)

// heldBy says whose a field is by now, and what to do.
func (b Bundles) heldBy(name, kind, manager, field string) string {
	o := find(b.Now, kind, name)
	if o == nil {
		return ""
	}
	return fmt.Sprintf("%s %s: %s has changed %s since, and Helm 4 does not overwrite what another one has changed; leave %[4]s out of %[5]s, or pass --force-conflicts to helm, as AICR's own scripts do: then it is written back at each upgrade",
		kind, name, manager, field, b.place(o, field))
}

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
				kind, name, volume, old.Component, place(b.Before, old, "spec"), b.place(now, "spec.template.spec.volumes"))
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
		if now := b.Now.Expectation.Object(old.Ref()); now != nil {
			if uses(now.Object, what) {
				continue // it keeps it: that fails on a first installation too
			}
			then = "changes"
		}
		return fmt.Sprintf("%s still belongs to %s (component %s, %s), which the upgrade %s only after Service %s: give Service %[6]s another value, or delete the old Service before the upgrade", what, old.Ref(), old.Component, b.was(old), then, name)
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
