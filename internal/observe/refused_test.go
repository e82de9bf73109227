package observe

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/testkit"
)

const noClass = `pods "d-" is forbidden: pod rejected: RuntimeClass "nvidia" not found`

func event(kind, name, reason, message string, age time.Duration) *corev1.Event {
	return &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: testkit.TestNamespace, Name: name + reason + age.String()}, Reason: reason, Message: message,
		InvolvedObject: corev1.ObjectReference{Kind: kind, Name: name, UID: types.UID(kind + "/" + name)}, LastTimestamp: metav1.NewTime(time.Unix(1e9, 0).Add(-age)),
	}
}

// Why pods are missing is in events only, for these kinds. The newest event counts, and none once
// the pods are there.
func TestRefusedPods(t *testing.T) {
	kube := fake.NewClientset(testkit.Objects(testkit.TestNodes(), testkit.List(
		testkit.DaemonSet("d"), testkit.StatefulSet("s"), testkit.Job("j", ""), testkit.DaemonSet("whole"), testkit.Pod("whole-1", "DaemonSet", "whole", "a0"), testkit.Pod("whole-2", "DaemonSet", "whole", "a1"),
		event("DaemonSet", "d", "FailedCreate", "Error creating: an older error", time.Minute),
		event("DaemonSet", "d", "FailedCreate", "Error creating: "+noClass, 0),
		event("DaemonSet", "d", "Other", "not about pods", -time.Minute),
		event("StatefulSet", "s", "FailedCreate", `create Pod s-0 in StatefulSet s failed error: pods "s-0" is forbidden: exceeded quota: q`, 0),
		event("Job", "j", "FailedCreate", `Error creating: pods "j-" is forbidden: error looking up service account ns/x: serviceaccount "x" not found`, 0),
		event("DaemonSet", "whole", "FailedCreate", "Error creating: it was so once", 0),
	))...)
	s, err := Poll(t.Context(), kube)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.ReadRefusals(t.Context(), kube); err != nil {
		t.Fatal(err)
	}
	r := CheckWorkloads([]bundle.Workload{
		testkit.Expected("DaemonSet", "d", -1, testkit.Acc), testkit.Expected("StatefulSet", "s", 1, testkit.Sys), testkit.Expected("Job", "j", 1, testkit.Sys), testkit.Expected("DaemonSet", "whole", -1, testkit.Acc),
	}, s)
	var refused []string
	for _, w := range r.Refused {
		refused = append(refused, w.Workload.Name+": "+w.Text)
	}
	testkit.WantEach(t, "refused", refused, []string{"d: " + noClass, `s: pods "s-0" is forbidden: exceeded quota: q`, `j: pods "j-" is forbidden: error looking up service account`})
	testkit.WantEach(t, "waiting", r.WaitingTexts(), []string{
		"DaemonSet ns/d: 0 of 2 pods as expected (the API server rejects its pods: " + noClass, "StatefulSet ns/s: 0 of 1 pods as expected (the API server rejects its pods: pods", "Job ns/j: not complete yet", `Job ns/j: 0 of 1 pods as expected (the API server rejects its pods: pods "j-"`,
	})
}

// What nothing in the bundle removes ends a cell; what is still to come does not.
func TestLastingRefusal(t *testing.T) {
	object := func(kind, namespace, name string) bundle.Object {
		o := &unstructured.Unstructured{Object: map[string]any{}}
		o.SetKind(kind)
		o.SetNamespace(namespace)
		o.SetName(name)
		return bundle.Object{Object: o}
	}
	e := &bundle.Expectation{
		Objects: []bundle.Object{object("ServiceAccount", "ns", "mine"), object("ServiceAccount", "other", "theirs"), object("PriorityClass", "", "high")},
		Made:    []bundle.Object{object("RuntimeClass", "", "nvidia")},
	}
	w := testkit.Expected("DaemonSet", "d", -1, testkit.Acc)
	for text, want := range map[string]bool{
		noClass: false,
		`pods "d-" is forbidden: pod rejected: RuntimeClass "gvisor" not found`:                                   true,
		`pods "d-" is forbidden: no PriorityClass with name high was found`:                                       false,
		`pods "d-" is forbidden: no PriorityClass with name low was found`:                                        true,
		`pods "d-" is forbidden: error looking up service account ns/mine: serviceaccount "mine" not found`:       false,
		`pods "d-" is forbidden: error looking up service account ns/theirs: serviceaccount "theirs" not found`:   true,
		`pods "d-" is forbidden: error looking up service account ns/default: serviceaccount "default" not found`: false,
		`pods "d-" is forbidden: exceeded quota: q, requested: cpu=1, used: cpu=0, limited: cpu=0`:                true,
		`pods "d-" is forbidden: violates PodSecurity "restricted:latest": privileged`:                            true,
		`Pod "d-x" is invalid: spec.containers[0].image: Required value`:                                          true,
		`pods "d-" is forbidden: unable to create new content in namespace ns because it is being terminated`:     false,
		`Post "https://127.0.0.1/api/v1/pods": connection refused`:                                                false,
	} {
		if got := (RefusedWorkload{&w, text}).Lasting(e); got != want {
			t.Errorf("%s: lasting %t, want %t", text, got, want)
		}
	}
}

// A StatefulSet whose name is too long for the labels of its pods is told so, and where the name is (F141).
func TestRefusedWorkload_LongName(t *testing.T) {
	const text = `Pod "s-0" is invalid: metadata.labels: Invalid value: "s-7898554477": must be no more than 63 bytes`
	for kind, want := range map[string]int{"StatefulSet": 1, "Deployment": 0} {
		w := testkit.Expected(kind, strings.Repeat("s", 60), 1, testkit.Acc)
		w.Template = "a/templates/s.yaml"
		more := RefusedWorkload{&w, text}.Wrong(&bundle.Expectation{}).More
		if len(more) != want || want > 0 && !strings.Contains(more[0], "at most 52 characters instead of 60, in a/templates/s.yaml") {
			t.Errorf("%s: got %q", kind, more)
		}
	}
}

// What denies the pods is named with the component that has it.
func TestRefusedWorkload_Policy(t *testing.T) {
	object := func(kind, name string) bundle.Object {
		return bundle.Object{Component: "rules", Template: "rules/templates/" + name + ".yaml", Object: &unstructured.Unstructured{Object: map[string]any{"kind": kind, "metadata": map[string]any{"name": name}}}}
	}
	e := &bundle.Expectation{Objects: []bundle.Object{object("ValidatingAdmissionPolicy", "limits"), object("MutatingAdmissionPolicy", "tag"), object("ValidatingAdmissionPolicy", "other")}}
	for text, want := range map[string]string{
		`pods "d-" is forbidden: ValidatingAdmissionPolicy 'limits' with binding 'limits' denied request: no`:                 "what it breaks is ValidatingAdmissionPolicy limits (rules, rules/templates/limits.yaml)",
		`pods "d-" is forbidden: ValidatingAdmissionPolicy 'limits' denied request: failed to configure policy: no paramKind`: "what it breaks is ValidatingAdmissionPolicy limits (rules, rules/templates/limits.yaml)",
		`pods "d-" is forbidden: policy "tag" denied request: failed to configure policy: no paramKind`:                       "what it breaks is MutatingAdmissionPolicy tag (rules, rules/templates/tag.yaml)",
		`pods "d-" is forbidden: ValidatingAdmissionPolicy 'another' denied request: no`:                                      "",
	} {
		w := bundle.Workload{Kind: "Deployment", Namespace: "ns", Name: "d"}
		if got := strings.Join(RefusedWorkload{&w, text}.Wrong(e).More, "\n"); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}
