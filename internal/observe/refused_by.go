package observe

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
)

// The fields of pods by which the API server rejects them, besides those that name an object, and
// the one that names a node.
const (
	FieldResources       = "resources"
	FieldSecurityContext = "securityContext"
	fieldReplicas        = "spec.replicas"
	fieldNodeName        = "nodeName"
)

// unlimited is an error of a quota about what a container does not set.
var unlimited = regexp.MustCompile(`failed quota: ([^:\s]+): must specify ([^\s,;]+)`)

// longLabel is an error of a pod whose label is too long. Only a controller's own can be: those of a
// template are checked with the workload.
var longLabel = regexp.MustCompile(`metadata\.labels: Invalid value: "[^"]*": must be no more than 63`)

var exceededQuota = regexp.MustCompile(`exceeded quota: ([^,\s]+), requested: ([^,]+(?:,[^,\s]+)*), used`)

// ranged is an error of a LimitRange about a resource.
var ranged = regexp.MustCompile(`(\S+) (?:usage|max limit to request ratio) per `)

// overLimit is an error of a container whose request is above its limit. What the template has of both is
// checked with the workload: one of a pod alone comes from a LimitRange, which fills in limits.
var overLimit = regexp.MustCompile(`resources\.requests: Invalid value: "[^"]*": must be less than or equal to (\S+) limit`)

// ofPolicy is what an admission policy says that denies a pod, or cannot be evaluated; one that changes objects is
// only called a policy.
var ofPolicy = regexp.MustCompile(`(ValidatingAdmissionPolicy|policy) ['"]([^'"]+)['"](?: with binding '[^']+')? denied request: `)

// Wrong returns the rejection as what waiting cannot fix, with the fields that decide it and the
// objects of the bundle that demand otherwise.
func (w RefusedWorkload) Wrong(e *bundle.Expectation) WrongWorkload {
	wrong := WrongWorkload{Workload: w.Workload, Text: "the API server rejects its pods: " + w.Text}
	demand := func(kind, name string) {
		for _, o := range e.Objects {
			cluster := kind == "Namespace" || strings.HasSuffix(kind, "AdmissionPolicy")
			if o.Object.GetKind() == kind && (name == "" || o.Object.GetName() == name) && (cluster || o.Object.GetNamespace() == w.Workload.Namespace) {
				ref := infra.NamespacedName(o.Object.GetNamespace(), o.Object.GetName())
				wrong.More = append(wrong.More, fmt.Sprintf("what it breaks is %s %s (%s, %s)", kind, ref, o.Component, o.Template))
			}
		}
	}
	for _, m := range missingObjects {
		if m.pattern.MatchString(w.Text) {
			wrong.Fields = append(wrong.Fields, strings.ToLower(m.kind[:1])+m.kind[1:]+"Name")
		}
	}
	quota := exceededQuota.FindStringSubmatch(w.Text)
	switch {
	case quota != nil:
		field := fieldReplicas
		for _, r := range strings.Split(quota[2], ",") {
			if name, _, _ := strings.Cut(r, "="); name != "pods" && name != "count/pods" {
				field = FieldResources + "/" + name
			}
		}
		wrong.Fields = append(wrong.Fields, field)
		demand("ResourceQuota", quota[1])
	case unlimited.MatchString(w.Text):
		m := unlimited.FindStringSubmatch(w.Text)
		wrong.Fields = append(wrong.Fields, FieldResources+"/"+m[2])
		demand("ResourceQuota", m[1])
	case overLimit.MatchString(w.Text):
		wrong.Fields = append(wrong.Fields, FieldResources+"/requests."+overLimit.FindStringSubmatch(w.Text)[1])
		demand("LimitRange", "")
	case ranged.MatchString(w.Text):
		kind := "limits."
		if strings.Contains(w.Text, "but request is") {
			kind = "requests."
		}
		wrong.Fields = append(wrong.Fields, FieldResources+"/"+kind+ranged.FindStringSubmatch(w.Text)[1])
		demand("LimitRange", "")
	case w.Workload.Kind == "StatefulSet" && longLabel.MatchString(w.Text):
		wrong.More = append(wrong.More, fmt.Sprintf("the controller labels its pods with its name and a hash (controller-revision-hash): give it a name of at most 52 characters instead of %d, in %s", len(w.Workload.Name), w.Workload.Template))
	case ofPolicy.MatchString(w.Text):
		m := ofPolicy.FindStringSubmatch(w.Text)
		demand(map[bool]string{true: "ValidatingAdmissionPolicy", false: "MutatingAdmissionPolicy"}[m[1] == "ValidatingAdmissionPolicy"], m[2])
	case strings.Contains(w.Text, "violates PodSecurity"):
		wrong.Fields = append(wrong.Fields, FieldSecurityContext)
		demand("Namespace", w.Workload.Namespace)
	}
	return wrong
}
