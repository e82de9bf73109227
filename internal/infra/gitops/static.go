package gitops

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/bundle/policy"
)

// staticSuffix ends the name of every policy that an API server reads from files, and of no other.
const staticSuffix = ".static.k8s.io"

// staticRules: the harness creates its policies once; from then on neither spec may change, and
// neither object may go.
const staticRules = `
matchConstraints:
  resourceRules:
  - {apiGroups: [admissionregistration.k8s.io], apiVersions: ["*"], operations: [UPDATE, DELETE], resources: [validatingadmissionpolicies, validatingadmissionpolicybindings]}
validations:
- expression: "!oldObject.metadata.name.startsWith('PREFIX') || object != null && object.spec == oldObject.spec"
  messageExpression: "request.kind.kind + ' ' + oldObject.metadata.name + ' judges the recipe, which may neither change nor remove it: REASON'"
`

// StaticPolicy is the text of a ValidatingAdmissionPolicy with its binding that keeps the other
// policies of this package as they were created. The API server exempts admission policies from
// those that are objects themselves, but not from those that it reads from files
// (https://kep.k8s.io/5793): no request can change these either.
func StaticPolicy() ([]byte, error) {
	rules := strings.NewReplacer("PREFIX", policy.ReservedPrefix, "REASON", policyReason).Replace(staticRules)
	policy, binding, err := (&Policy{name: policy.ReservedPrefix + "policies" + staticSuffix, rules: rules}).objects()
	if err != nil {
		return nil, err
	}
	var text []byte
	for _, o := range []*unstructured.Unstructured{policy, binding} {
		one, err := yaml.Marshal(o.Object)
		if err != nil {
			return nil, fmt.Errorf("write the admission policy %s: %w", o.GetName(), err)
		}
		text = append(append(text, "---\n"...), one...)
	}
	return text, nil
}
