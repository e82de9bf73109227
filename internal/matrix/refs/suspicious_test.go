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
	head := func(api, kind string) string {
		return "apiVersion: " + api + "\nkind: " + kind + "\nmetadata: {name: o, namespace: x}\n"
	}
	pods := []corev1.Pod{}
	for _, name := range []string{"web-1", "web-2"} {
		pods = append(pods, corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: name, Labels: map[string]string{"app": "web"}}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "m", Ports: []corev1.ContainerPort{{Name: "http"}}}}}})
	}
	pdb := func(field string) string {
		return head("policy/v1", "PodDisruptionBudget") + "spec: {selector: {matchLabels: {app: web}}, " + field + "}\n"
	}
	service := func(spec string) string {
		return head("v1", "Service") + "spec: {selector: {app: web}, " + spec + "}\n"
	}
	policy := func(of, port string) string {
		return head("networking.k8s.io/v1", "NetworkPolicy") + "spec: {podSelector: {matchLabels: " + of + "}, ingress: [{ports: [{port: " + port + "}]}]}\n"
	}
	job := func(ttl, more string) string {
		return strings.Replace(head("batch/v1", "Job"), "namespace: x", "namespace: x"+more, 1) + "spec: {" + ttl + "template: {spec: {containers: [{name: m}]}}}\n"
	}
	scales := func(name string) string {
		return strings.Replace(head("autoscaling/v2", "HorizontalPodAutoscaler"), "name: o", "name: "+name, 1) + "spec: {scaleTargetRef: {kind: Widget, name: web}}\n"
	}
	ingress := func(backend string) string {
		return strings.Replace(head("networking.k8s.io/v1", "Ingress"), "metadata: {", "metadata: {annotations: {kubernetes.io/ingress.class: have}, ", 1) + "spec: {rules: [{http: {paths: [{path: /a, backend: {service: " + backend + "}}, {path: /b, backend: {service: " + backend + "}}]}}]}\n"
	}
	subject := func(namespace string) string {
		return head("rbac.authorization.k8s.io/v1", "ClusterRoleBinding") + "roleRef: {kind: ClusterRole, name: view}\nsubjects: [{kind: ServiceAccount, name: robot, namespace: " + namespace + "}]\n"
	}
	own := func(but string) string {
		return head("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration") + "webhooks: [{name: w.example.com, " + but + "failurePolicy: Fail, clientConfig: {caBundle: eA==, service: {name: have, namespace: x}}, rules: [{apiGroups: [\"\"], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}]\n"
	}
	have := corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "have"}, Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Port: 443}}}}
	for name, tc := range map[string]struct{ objects, warning, fault string }{
		"minAvailable of all":      {objects: pdb("minAvailable: 2"), warning: "allows none of its 2 pods to be evicted; a node with one of them cannot be drained"},
		"minAvailable of one":      {objects: pdb("minAvailable: 50%")},
		"maxUnavailable of none":   {objects: pdb("maxUnavailable: 0"), warning: "allows none of its 2 pods"},
		"maxUnavailable of some":   {objects: pdb("maxUnavailable: 10%")}, // rounded up
		"load balancer class":      {objects: service("type: LoadBalancer, loadBalancerClass: a.b/c, ports: [{port: 80}]"), warning: "has loadBalancerClass a.b/c, which nothing in the recipe serves"},
		"class that is served":     {objects: service("type: LoadBalancer, loadBalancerClass: a.b/c, ports: [{port: 80}]") + "---\n" + pod(`{containers: [{name: m, args: ["--load-balancer-class=a.b/c"]}]}`)},
		"one port twice":           {objects: service("type: LoadBalancer, ports: [{name: a, port: 53}, {name: b, port: 53, protocol: UDP}]"), warning: "is a load balancer with port 53 for TCP and for UDP"},
		"one port twice, inside":   {objects: service("ports: [{name: a, port: 53}, {name: b, port: 53, protocol: UDP}]")},
		"target port":              {objects: service("ports: [{port: 80, targetPort: metrics}]"), warning: "sends port 80 to port metrics of its pods, and no container has one of that name"},
		"target port there":        {objects: service("ports: [{port: 80, targetPort: http}]")},
		"target port in numbers":   {objects: service("ports: [{port: 80, targetPort: 8080}]")},
		"policy":                   {objects: policy("{app: web}", "http")},
		"policy for all":           {objects: policy("{}", "http")},
		"policy for nobody":        {objects: policy("{app: wep}", "http"), warning: "NetworkPolicy x/o (x): selects pods with app=wep, and there are none; it allows and denies nothing"},
		"policy with a port":       {objects: policy("{app: web}", "80")},
		"policy without the port":  {objects: policy("{app: web}", "htp"), warning: "allows traffic to port htp of its pods, and no container has one of that name"},
		"binding":                  {objects: head("rbac.authorization.k8s.io/v1", "RoleBinding") + "roleRef: {kind: Role, name: nope}\n", warning: "gives Role x/nope, which does not exist"},
		"binding to the cluster's": {objects: head("rbac.authorization.k8s.io/v1", "RoleBinding") + "roleRef: {kind: ClusterRole, name: view}\n"},
		"binding of the cluster":   {objects: head("rbac.authorization.k8s.io/v1", "ClusterRoleBinding") + "roleRef: {kind: ClusterRole, name: nope}\n", warning: "gives ClusterRole nope, which does not exist"},
		"two autoscalers":          {objects: scales("a") + "---\n" + scales("b"), warning: "HorizontalPodAutoscaler x/b (x): scales Widget x/web, and so does HorizontalPodAutoscaler x/a (x); neither does"},
		"one autoscaler":           {objects: scales("a")},
		"two budgets":              {objects: pdb("maxUnavailable: 1") + "---\n" + strings.Replace(pdb("maxUnavailable: 1"), "name: o", "name: p", 1), warning: "PodDisruptionBudget x/p (x): protects pod web-1, and so does PodDisruptionBudget x/o (x)"},
		"no governing Service":     {objects: head("apps/v1", "StatefulSet") + "spec: {serviceName: nope}\n", warning: "names Service x/nope (spec.serviceName), which does not exist"},
		"a governing Service":      {objects: head("apps/v1", "StatefulSet") + "spec: {serviceName: have}\n"},
		"backend":                  {objects: ingress("{name: nope, port: {number: 80}}"), warning: "sends requests to Service x/nope, which does not exist"},
		"backend without the port": {objects: ingress("{name: have, port: {name: http}}"), warning: "sends requests to port http of Service x/have, which has no such port"},
		"backend there":            {objects: ingress("{name: have, port: {number: 443}}")},
		"subject of no namespace":  {objects: "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: robot, namespace: x}\n---\n" + strings.NewReplacer("ClusterRoleBinding", "RoleBinding", ", namespace: }]", "}]").Replace(subject(""))},
		"subject elsewhere":        {objects: "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: robot, namespace: x}\n---\n" + subject("other"), warning: "is for ServiceAccount other/robot, which does not exist; there is x/robot"},
		"subject":                  {objects: "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: robot, namespace: x}\n---\n" + subject("x")},
		"subject of others":        {objects: subject("other")},
		"sysctl":                   {objects: pod("{securityContext: {sysctls: [{name: net.core.somaxconn}, {name: net.ipv4.tcp_syncookies}]}, containers: [{name: m}]}"), warning: "sets sysctl net.core.somaxconn; a kubelet rejects its pods"},
		"webhook for itself":       {objects: pod("{containers: [{name: m}]}") + "---\n" + own(""), warning: "webhook w.example.com fails closed and is for the pods of Deployment x/web, which serve it"},
		"webhook for others":       {objects: pod("{containers: [{name: m}]}") + "---\n" + own("namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [x]}]}, ")},
		"Job":                      {objects: job("", "")},
		"Job that comes again":     {objects: job("ttlSecondsAfterFinished: 5, ", ""), fault: "is deleted 5s after it has finished (spec.ttlSecondsAfterFinished: 5), and is no hook"},
		"Job of a day":             {objects: job("ttlSecondsAfterFinished: 86400, ", ""), warning: "is deleted 24h0m0s after it has finished"},
	} {
		t.Run(name, func(t *testing.T) {
			r := Check(expected(t, tc.objects), nil, &facts.Live{View: &observe.View{Pods: pods}, Services: []corev1.Service{have}, SelfHeals: true, ClusterRoles: map[string]bool{"view": true}})
			warnings, faults := r.Warnings, []string{}
			for _, f := range r.Faults {
				faults = append(faults, f.Finding.Cause)
			}
			for _, c := range []struct {
				what, want string
				got        []string
			}{{"warnings", tc.warning, warnings}, {"faults", tc.fault, faults}} {
				if c.want == "" && len(c.got) > 0 || c.want != "" && (len(c.got) != 1 || !strings.Contains(c.got[0], c.want)) {
					t.Errorf("%s: got %q, want %q", c.what, c.got, c.want)
				}
			}
		})
	}
	e := expected(t, job("ttlSecondsAfterFinished: 5, ", ""))
	if r := Check(e, nil, &facts.Live{View: &observe.View{}}); len(r.Faults) > 0 {
		t.Errorf("where nothing creates it again: got %+v", r.Faults)
	}
	e.Objects[0].Hook = true
	if r := Check(e, nil, &facts.Live{View: &observe.View{}, SelfHeals: true}); len(r.Faults) > 0 {
		t.Errorf("a hook: got %+v", r.Faults)
	}
}
