package apiproxy

import (
	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
)

// object is an object whose reads may be held. Its JSON is that of the API server.
type object struct{ unstructured.Unstructured }

// UnmarshalJSON reads any JSON object, with or without a kind: a watch also delivers Statuses.
// Whole numbers become int64, as kstatus reads them.
func (o *object) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, &o.Object) }

// release is the release that the object belongs to: by the labels that helm-controller gives, by
// Helm's annotations, or its namespace.
func (o *object) release() string {
	const flux, helm = "helm.toolkit.fluxcd.io/", "meta.helm.sh/release-"
	for _, from := range []struct {
		in     map[string]string
		prefix string
	}{{o.GetLabels(), flux}, {o.GetAnnotations(), helm}} {
		if name := from.in[from.prefix+"name"]; name != "" {
			return from.in[from.prefix+"namespace"] + "/" + name
		}
	}
	return o.GetNamespace()
}

// settled reports whether waiting does not change what helm-controller makes of the object: it is
// ready, has failed or is being deleted. It asks kstatus, as helm-controller does. Jobs and the
// pods of hooks are read as helm-controller reads them: they have to end.
// Where this differs from helm-controller a read is held for nothing, or not held: the answer is
// the API server's in any case.
func (o *object) settled() bool {
	switch {
	case o.GetDeletionTimestamp() != nil:
		return true
	case o.GetKind() == "Job" && o.group() == "batch":
		suspended, _, _ := unstructured.NestedBool(o.Object, "spec", "suspend")
		return suspended || o.is("Complete") || o.is("Failed")
	case o.GetKind() == "Pod" && o.group() == "" && o.GetAnnotations()["helm.sh/hook"] != "":
		phase, _, _ := unstructured.NestedString(o.Object, "status", "phase")
		return phase == "Succeeded" || phase == "Failed"
	}
	result, err := status.Compute(&o.Unstructured)
	return err != nil || result.Status != status.InProgressStatus
}

func (o *object) group() string { return o.GroupVersionKind().Group }

// is reports whether the status has the condition with the status True.
func (o *object) is(condition string) bool {
	with, err := status.GetObjectWithConditions(o.Object)
	if err != nil {
		return false
	}
	for _, c := range with.Status.Conditions {
		if c.Type == condition {
			return c.Status == "True"
		}
	}
	return false
}
