package everyday

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/documents"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/matrix/refs/problem"
	"github.com/nvidia/aicr-action/internal/matrix/refs/problem/problemtest"
)

func TestFind(t *testing.T) {
	claim := func(spec string) string {
		return "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data, namespace: x}\nspec: {" + spec + "}\n"
	}
	scaler := "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: h, namespace: x}\nspec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: NAME}, metrics: [{type: Resource, resource: {name: cpu, target: {type: TYPE, averageUtilization: 80}}}]}\n"
	scales := func(name, by string) string { return strings.NewReplacer("NAME", name, "TYPE", by).Replace(scaler) }
	monitor := func(port string) string {
		return "apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\nmetadata: {name: m, namespace: x}\nspec: {selector: {matchLabels: {app: web}}, endpoints: [{port: " + port + "}]}\n"
	}
	ingress := func(more, secret string) string {
		return "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: i, namespace: x" + more + "}\nspec: {ingressClassName: a, tls: [{secretName: " + secret + "}]}\n"
	}
	webhook := func(url, policy string) string {
		return "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: w}\nwebhooks: [{name: a.b.c, failurePolicy: " + policy + ", clientConfig: {url: '" + url + "'}}]\n"
	}
	for name, c := range map[string]struct{ object, want string }{
		"a shared disk":              {claim("storageClassName: disks, accessModes: [ReadWriteMany]"), "claim data is ReadWriteMany, and StorageClass disks makes disks (ebs.csi.aws.com)"},
		"a disk of one node":         {claim("storageClassName: disks, accessModes: [ReadWriteOnce]"), ""},
		"a shared block device":      {claim("storageClassName: disks, volumeMode: Block, accessModes: [ReadWriteMany]"), ""},
		"shared files":               {claim("storageClassName: files, accessModes: [ReadWriteMany]"), ""},
		"a class of the cluster":     {claim("accessModes: [ReadWriteMany]"), "claim data is ReadWriteMany, of StorageClass standard, the default class of this cell, which the harness made"},
		"one node of the cluster's":  {claim("accessModes: [ReadWriteOnce]"), ""},
		"a StatefulSet's":            {"apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: s, namespace: x}\nspec: {volumeClaimTemplates: [{metadata: {name: d}, spec: {storageClassName: disks, accessModes: [ReadWriteMany]}}]}\n", "claim d is ReadWriteMany"},
		"utilization of nothing":     {scales("web", "Utilization"), "scales Deployment x/web by the utilization of cpu, and container main requests none"},
		"utilization of a request":   {scales("asks", "Utilization"), ""},
		"an average":                 {scales("web", "AverageValue"), ""},
		"a port that has no name":    {monitor("metrics"), "scrapes port metrics of Service x/web, which has no port of that name"},
		"a port":                     {monitor("http"), ""},
		"no certificate":             {ingress("", "nope"), "takes its certificate from Secret x/nope, which does not exist"},
		"no key in it":               {ingress("", "opaque"), "takes its certificate from Secret x/opaque, which has no tls.crt and tls.key"},
		"a pull secret":              {"apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: a, namespace: x}\nimagePullSecrets: [{name: pull}, {name: \"\"}]\n", ""},
		"no pull secret":             {"apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: a, namespace: x}\nimagePullSecrets: [{name: nope}]\n", "imagePullSecrets names Secret x/nope, which does not exist"},
		"a certificate":              {ingress("", "have"), ""},
		"a webhook elsewhere":        {webhook("https://a.example.com/x", "Fail"), "webhook a.b.c calls https://a.example.com/x, which is outside of the cluster"},
		"one that fails open":        {webhook("https://a.example.com/x", "Ignore"), ""},
		"one on this machine":        {webhook("https://127.0.0.1:8443/x", "Fail"), ""},
		"an exported object":         {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: x, uid: \"1\", resourceVersion: \"2\"}\n", "has metadata.uid, as an object that was read from a cluster"},
		"fields of somebody":         {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: x, managedFields: [{manager: m}]}\n", "has metadata.managedFields, as"},
		"a generated definition":     {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: x, creationTimestamp: null, uid: \"\"}\n", ""},
		"a group with a version":     {"apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: r, namespace: x}\nrules: [{apiGroups: [\"\", apps/v1], resources: [deployments], verbs: [get]}]\n", "has a rule for API group apps/v1; groups have no version, and this one is \"apps\""},
		"the core group's version":   {"apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: r}\nrules: [{apiGroups: [v1], resources: [pods], verbs: [get]}]\n", "has a rule for API group v1; groups have no version, and this one is \"\""},
		"a group":                    {"apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: r}\nrules: [{apiGroups: [\"\", apps, example.com], resources: [pods], verbs: [get]}, {nonResourceURLs: [/metrics], verbs: [get]}]\n", ""},
		"a certificate that is made": {ingress(", annotations: {cert-manager.io/issuer: i}", "nope"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			objects, err := documents.Parse(c.object)
			if err != nil || len(objects) != 1 {
				t.Fatal(err)
			}
			asks := corev1.Container{Name: "main", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": {}}}}
			e := &bundle.Expectation{Objects: []bundle.Object{{Object: objects[0]}}, Workloads: []bundle.Workload{
				{Kind: "Deployment", Namespace: "x", Name: "web", PodSpec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}}},
				{Kind: "Deployment", Namespace: "x", Name: "asks", PodSpec: corev1.PodSpec{Containers: []corev1.Container{asks}}},
			}}
			check(t, Find(e, cluster()), c.want)
		})
	}
}

func cluster() Cluster {
	web := corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "web", Labels: map[string]string{"app": "web"}}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}}}}
	return Cluster{
		Secrets:  map[string]map[string]bool{"x/have": {"tls.crt": true, "tls.key": true}, "x/opaque": {"cert": true}, "x/pull": {corev1.DockerConfigJsonKey: true}},
		Services: []corev1.Service{web}, Provisioners: map[string]string{"disks": "ebs.csi.aws.com", "files": "efs.csi.aws.com", "standard": simulate.Provisioner},
		ClaimSpecs: map[string]corev1.PersistentVolumeClaimSpec{"x/data": {StorageClassName: new("standard")}},
	}
}

// A Secret for pulling images must be one; one that does not exist is another check's.
func TestFind_PullSecrets(t *testing.T) {
	for secret, want := range map[string]string{"have": "imagePullSecrets names Secret x/have, which has no .dockerconfigjson", "pull": "", "nope": ""} {
		e := &bundle.Expectation{Workloads: []bundle.Workload{{Kind: "Deployment", Namespace: "x", Name: "web", PodSpec: corev1.PodSpec{ImagePullSecrets: []corev1.LocalObjectReference{{Name: secret}}}}}}
		check(t, Find(e, cluster()), want)
	}
}

// Two Ingresses may have one host, and not one path of it.
func TestFind_TwoIngresses(t *testing.T) {
	const first = "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: a, namespace: x}\nspec: {ingressClassName: c, rules: [{host: h, http: {paths: [{path: /}]}}]}\n"
	for second, want := range map[string]string{
		"metadata: {name: b, namespace: z}\nspec: {ingressClassName: c, rules: [{host: h, http: {paths: [{path: /}]}}]}\n":                                                              "is for h/, and so is Ingress x/a",
		"metadata: {name: b, namespace: z}\nspec: {ingressClassName: c, rules: [{host: h, http: {paths: [{path: /b}]}}]}\n":                                                             "",
		"metadata: {name: b, namespace: z}\nspec: {ingressClassName: d, rules: [{host: h, http: {paths: [{path: /}]}}]}\n":                                                              "",
		"metadata: {name: b, namespace: z, annotations: {nginx.ingress.kubernetes.io/canary: \"true\"}}\nspec: {ingressClassName: c, rules: [{host: h, http: {paths: [{path: /}]}}]}\n": "",
	} {
		e := &bundle.Expectation{}
		for _, text := range []string{first, "apiVersion: networking.k8s.io/v1\nkind: Ingress\n" + second} {
			objects, err := documents.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			e.Objects = append(e.Objects, bundle.Object{Object: objects[0]})
		}
		check(t, Find(e, cluster()), want)
	}
}

// A rule by a label that no node has is kept by every placement.
func TestFind_Apart(t *testing.T) {
	for key, want := range map[string]string{"kubernetes.io/hostname": "", "kubernetes.io/hostnme": "keeps pods apart by kubernetes.io/hostnme (podAntiAffinity), a label that no node has"} {
		spec := corev1.PodSpec{Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: key}}}}}
		have := cluster()
		have.Nodes = []corev1.Node{{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"kubernetes.io/hostname": "n"}}}}
		check(t, Find(&bundle.Expectation{Workloads: []bundle.Workload{{Kind: "Deployment", Namespace: "x", Name: "w", PodSpec: spec}}}, have), want)
	}
}

// A rule that does not count the pods that it is for spreads nothing.
func TestFind_Spread(t *testing.T) {
	for app, want := range map[string]string{"w": "", "v": "spreads pods with app=v over zone (topologySpreadConstraints), and its own are none of them"} {
		spec := corev1.PodSpec{TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{TopologyKey: "zone", LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}}}}
		have := cluster()
		have.Pods = func(*bundle.Workload) []*corev1.Pod {
			return []*corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "w"}}}}
		}
		check(t, Find(&bundle.Expectation{Workloads: []bundle.Workload{{Kind: "Deployment", Namespace: "x", Name: "w", PodSpec: spec}}}, have), want)
	}
}

func check(t *testing.T, found []problem.Problem, want string) {
	t.Helper()
	var got []string
	for _, p := range found {
		got = append(got, p.Text)
	}
	if want == "" && len(got) > 0 || want != "" && (len(got) != 1 || !strings.Contains(got[0], want)) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A monitor or rule that no Prometheus reads does nothing.
func TestFind_Selected(t *testing.T) {
	object := func(kind, meta, spec string) string {
		return "apiVersion: monitoring.coreos.com/v1\nkind: " + kind + "\nmetadata: {namespace: x, " + meta + "}\nspec: {" + spec + "}\n---\n"
	}
	rule := object("PrometheusRule", "name: ours", "")
	labelled := object("PrometheusRule", "name: ours, labels: {release: r}", "")
	const releases, all = "ruleSelector: {matchLabels: {release: r}}", "ruleNamespaceSelector: {}"
	for name, c := range map[string]struct{ objects, want string }{
		"no Prometheus":          {rule, ""},
		"everything":             {rule + object("Prometheus", "name: k8s", "ruleSelector: {}"), ""},
		"nothing":                {rule + object("Prometheus", "name: k8s", ""), "is selected by no Prometheus of the recipe: not by ruleSelector and ruleNamespaceSelector of Prometheus.monitoring.coreos.com x/k8s"},
		"its label":              {labelled + object("Prometheus", "name: k8s", releases), ""},
		"another label":          {rule + object("Prometheus", "name: k8s", releases), "is selected by no Prometheus"},
		"one of two":             {labelled + object("Prometheus", "name: k8s", "") + object("Prometheus", "name: other", releases), ""},
		"another namespace":      {labelled + strings.Replace(object("Prometheus", "name: k8s", releases), "namespace: x", "namespace: y", 1), "is selected by no Prometheus"},
		"every namespace":        {labelled + strings.Replace(object("Prometheus", "name: k8s", releases+", "+all), "namespace: x", "namespace: y", 1), ""},
		"Thanos":                 {rule + object("Prometheus", "name: k8s", "") + object("ThanosRuler", "name: t", "ruleSelector: {}"), ""},
		"a monitor by its field": {object("PodMonitor", "name: ours", "selector: {}") + object("Prometheus", "name: k8s", "serviceMonitorSelector: {}"), "not by podMonitorSelector"},
	} {
		t.Run(name, func(t *testing.T) {
			e := &bundle.Expectation{Objects: problemtest.Objects(t, "", c.objects)}
			check(t, Find(e, cluster()), c.want)
		})
	}
}
