package idle

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// A resource whose operator comes only once it is ready is never ready.
func TestLate(t *testing.T) {
	const image = "quay.io/jetstack/cert-manager-controller:v1"
	for name, c := range map[string]struct {
		resource string
		late     []bool // of each operator
		want     bool
	}{
		"a later operator":      {"apiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {name: tls, namespace: x}\n", []bool{true}, true},
		"one in time":           {"apiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {name: tls, namespace: x}\n", []bool{false}, false},
		"one of two in time":    {"apiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {name: tls, namespace: x}\n", []bool{true, false}, false},
		"of another bundle":     {"apiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {name: tls, namespace: x}\n", nil, false},
		"a kind without health": {"apiVersion: monitoring.coreos.com/v1\nkind: Alertmanager\nmetadata: {name: tls, namespace: x}\n", []bool{true}, false},
	} {
		e := &bundle.Expectation{Objects: []bundle.Object{{Release: "x", Object: testkit.Parsed(t, c.resource)}}}
		for i := range c.late {
			operator := "op-" + string(rune('a'+i))
			e.Objects = append(e.Objects, bundle.Object{Release: "x", Object: testkit.Parsed(t, "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: "+operator+", namespace: x}\n")})
			e.Workloads = append(e.Workloads, bundle.Workload{Release: "x", Kind: "Deployment", Namespace: "x", Name: operator, Replicas: 1, PodSpec: corev1.PodSpec{Containers: []corev1.Container{{Image: image}}}})
		}
		found := Late(e, func(o, _ *bundle.Object) bool { return c.late[o.Object.GetName()[3]-'a'] })
		if (len(found) == 1) != c.want || c.want && !strings.Contains(found[0].Text, "Argo CD creates the operator, Deployment x/op-a") {
			t.Errorf("%s: got %+v", name, found)
		}
	}
}
