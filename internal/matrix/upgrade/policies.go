package upgrade

import (
	"fmt"
	"regexp"
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
