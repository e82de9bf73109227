package observe

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// RefusedWorkload is a workload whose pods the API server rejects.
type RefusedWorkload struct {
	Workload *bundle.Workload
	Text     string // the API server's error
}

// failedCreate is the reason of the event that the controllers of ReplicaSets, StatefulSets,
// DaemonSets and Jobs write.
const failedCreate = "FailedCreate"

// replicaSetCreateError is the reason of a Deployment's condition Progressing while the API server
// rejects its ReplicaSet.
const replicaSetCreateError = "ReplicaSetCreateError"

// ReadRefusals reads why pods could not be created, and which claims they wait for. For DaemonSets, StatefulSets and Jobs, only
// events show it; the newest one of a workload counts. The request is worth it only if a workload
// has too few pods.
func (v *View) ReadRefusals(ctx context.Context, kube kubernetes.Interface) error {
	list, err := kube.CoreV1().Events("").List(ctx, metav1.ListOptions{FieldSelector: "reason=" + failedCreate})
	if err != nil {
		return fmt.Errorf("list events: %w", err)
	}
	newest := map[types.UID]*corev1.Event{}
	for i := range list.Items {
		e := &list.Items[i]
		uid := e.InvolvedObject.UID
		if e.Reason == failedCreate && (newest[uid] == nil || newest[uid].LastTimestamp.Before(&e.LastTimestamp)) {
			newest[uid] = e
		}
	}
	v.refused = map[types.UID]string{}
	for uid, e := range newest {
		v.refused[uid] = refusal(e.Message)
	}
	return v.readMissingClaims(ctx, kube)
}

// refusal strips what a controller puts before the API server's error.
func refusal(message string) string {
	message = strings.TrimPrefix(message, "Error creating: ")
	if _, after, ok := strings.Cut(message, " failed error: "); ok { // StatefulSet
		message = after
	}
	if after, ok := strings.CutPrefix(message, "Failed to create new replica set "); ok {
		if _, why, ok := strings.Cut(after, ": "); ok {
			message = why
		}
	}
	return message
}

// refuse records a workload that has too few pods because the API server rejects them.
func (r *WorkloadReport) refuse(w *bundle.Workload, text string) string {
	r.Refused = append(r.Refused, RefusedWorkload{w, text})
	return "the API server rejects its pods: " + text
}

// missingObjects are the API server's errors for a pod that names an object which does not exist.
var missingObjects = []struct {
	kind    string
	pattern *regexp.Regexp
}{
	{"RuntimeClass", regexp.MustCompile(`RuntimeClass "([^"]+)" not found`)},
	{"PriorityClass", regexp.MustCompile(`no PriorityClass with name (\S+) was found`)},
	{"ServiceAccount", regexp.MustCompile(`serviceaccount "([^"]+)" not found`)},
}

// Lasting reports whether nothing in the bundle removes the cause of a rejection: an object that
// the pod names does not exist, and neither a chart nor an operator's stand-in creates it. Other
// rejections are by what is in force: a quota, a LimitRange, pod security, the pod's schema.
func (w RefusedWorkload) Lasting(e *bundle.Expectation) bool {
	for _, m := range missingObjects {
		found := m.pattern.FindStringSubmatch(w.Text)
		if found == nil {
			continue
		}
		namespace := ""
		if m.kind == "ServiceAccount" {
			namespace = w.Workload.Namespace
			if found[1] == "default" { // the controller manager makes it
				return false
			}
		}
		return !Makes(e, m.kind, namespace, found[1])
	}
	return strings.Contains(w.Text, " is forbidden: ") && !strings.Contains(w.Text, "is being terminated") || strings.Contains(w.Text, " is invalid: ")
}

// Makes reports whether a chart or an operator's stand-in creates the object.
func Makes(e *bundle.Expectation, kind, namespace, name string) bool {
	is := func(o bundle.Object) bool {
		return o.Object.GetKind() == kind && o.Object.GetNamespace() == namespace && o.Object.GetName() == name
	}
	return slices.ContainsFunc(e.Objects, is) || slices.ContainsFunc(e.Made, is)
}
