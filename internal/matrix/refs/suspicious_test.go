package refs

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/observe"
)

// What is allowed and probably not meant.
func TestSuspicious(t *testing.T) {
	policy := func(of string) string {
		return "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: o, namespace: x}\nspec: {podSelector: {matchLabels: " + of + "}, ingress: [{}]}\n"
	}
	own := func(but string) string {
		return "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: o, namespace: x}\nwebhooks: [{name: w.example.com, " + but + "failurePolicy: Fail, clientConfig: {caBundle: eA==, service: {name: have, namespace: x}}, rules: [{apiGroups: [\"\"], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}]\n"
	}
	pods := []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "web-1", Labels: map[string]string{"app": "web"}}}}
	have := corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "have"}, Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Port: 443}}}}
	for name, tc := range map[string]struct{ objects, warning string }{
		"policy":             {policy("{app: web}"), ""},
		"policy for all":     {policy("{}"), ""},
		"policy for nobody":  {policy("{app: wep}"), "NetworkPolicy x/o (x): selects pods with app=wep, and there are none; it allows and denies nothing"},
		"sysctl":             {pod("{securityContext: {sysctls: [{name: net.core.somaxconn}, {name: net.ipv4.tcp_syncookies}]}, containers: [{name: m}]}"), "sets sysctl net.core.somaxconn; a kubelet rejects its pods"},
		"webhook for itself": {pod("{containers: [{name: m}]}") + "---\n" + own(""), "webhook w.example.com fails closed and is for the pods of Deployment x/web, which serve it"},
		"webhook for others": {pod("{containers: [{name: m}]}") + "---\n" + own("namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [x]}]}, "), ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := checkAll(expected(t, tc.objects), nil, &facts.Live{View: &observe.View{Pods: pods}, Services: []corev1.Service{have}})
			if len(r.Faults) > 0 || tc.warning == "" && len(r.Warnings) > 0 || tc.warning != "" && (len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], tc.warning)) {
				t.Errorf("got %q and %+v, want %q", r.Warnings, r.Faults, tc.warning)
			}
		})
	}
}
