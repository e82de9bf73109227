package intact

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// What a policy that came later takes from the next delivery or the next pod is said, with the policy;
// what is not live already is not said once more (F138).
func TestStripped(t *testing.T) {
	policy := testkit.Parsed(t, "apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingAdmissionPolicy\nmetadata: {name: strip}\n")
	config := func(data string) bundle.Object {
		return bundle.Object{Component: "b", Object: testkit.Parsed(t, "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: n, name: c}, data: {"+data+"}}")}
	}
	rendered := config("a: x, b: why")
	e := &bundle.Expectation{Objects: []bundle.Object{{Component: "p", Template: "p/templates/p.yaml", Object: policy}, rendered}, Workloads: []bundle.Workload{{Component: "b", Kind: "DaemonSet", Namespace: "n", Name: "d"}}}
	expect := func(of string, got []result.Finding, want string) {
		t.Helper()
		if text := causesOf(got); want == "" && text != "" || !strings.HasPrefix(text, want) || len(got) > 1 {
			t.Errorf("%s: got %q, want %q", of, text, want)
		}
	}
	next := func(now, then string) []result.Finding {
		return strippedObject(e, &rendered, config(now).Object, config(then).Object)
	}
	expect("a field that goes", next("a: x, b: why", "a: x"), `ConfigMap c (b): its next delivery would have nothing at data.b, and has "why" now, since this was made before a policy was in force (MutatingAdmissionPolicy strip (p), set in p/templates/p.yaml`)
	expect("a field that changes", next("a: x, b: why", "a: x, b: z"), `ConfigMap c (b): its next delivery would have "z" at data.b`)
	expect("a field that went before", next("a: x", "a: x"), "")
	expect("nothing", next("a: x, b: why", "a: x, b: why, c: z"), "")

	controller := true
	pod := func(env ...corev1.EnvVar) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "d-1", OwnerReferences: []metav1.OwnerReference{{Kind: "DaemonSet", Name: "d", Controller: &controller}}}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "m", Env: env}}}}
	}
	now := pod(corev1.EnvVar{Name: "A", Value: "b"})
	now.Spec.NodeName = "n1"
	of := trial{kind: "pod", object: now, owner: metav1.GetControllerOf(now)}
	expect("a pod without its variable", strippedPod(e, of, now, pod()), `DaemonSet n/d (b): its next pod would have nothing at spec.containers[0].env`)
	expect("the same pod", strippedPod(e, of, now, pod(now.Spec.Containers[0].Env...)), "")
}
