package refs

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// refCase is a bundle of one component, x in namespace x, on a cluster that has a Secret, a
// ConfigMap, a ServiceAccount, a StorageClass and a Service. Exactly one of fault, warning and note
// is wanted, or none.
type refCase struct {
	objects string // documents; workloads among them become expected workloads
	values  map[string]any
	origins map[string]recipe.Origin

	reason               reason.Reason
	fault, warning, note string
	place                result.Place
	others               int
}

const there = `
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: kata}
handler: kata
scheduling: {nodeSelector: {katacontainers.io/kata-runtime: "true"}}
---
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: here}
handler: here
overhead: {podFixed: {memory: 1Gi}}
scheduling: {nodeSelector: {aicr.nvidia.com/node-type: system}}
---
apiVersion: storage.k8s.io/v1
kind: CSIDriver
metadata: {name: inline.example.com}
spec: {volumeLifecycleModes: [Ephemeral]}
---
apiVersion: storage.k8s.io/v1
kind: CSIDriver
metadata: {name: disks.example.com}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: have, namespace: x}
---
apiVersion: v1
kind: Secret
metadata: {name: have, namespace: x}
data: {user: eA==}
---
apiVersion: v1
kind: Secret
metadata: {name: empty, namespace: x}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: have, namespace: x}
data: {app.yaml: x}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: have, namespace: x}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: by-hand}
spec: {storageClassName: manual}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: have, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}
provisioner: example.com/x
---
apiVersion: v1
kind: Service
metadata: {name: have, namespace: x, labels: {app: have}}
spec: {ports: [{port: 443}]}
---
apiVersion: v1
kind: Service
metadata: {name: lone, namespace: x, labels: {app: lone}}
spec: {selector: {app: nope}, ports: [{port: 443}]}
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: have}
value: 1
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu.nvidia.com}
`

// pod is a Deployment whose pod spec has these fields.
func pod(spec string) string { return deployment("web", 1, spec) }

func deployment(name string, replicas int, spec string) string {
	return `
apiVersion: apps/v1
kind: Deployment
metadata: {name: ` + name + `, namespace: x}
spec:
  replicas: ` + string(rune('0'+replicas)) + `
  selector: {matchLabels: {app: ` + name + `}}
  template:
    metadata: {labels: {app: ` + name + `}}
    spec: ` + spec + "\n"
}

func cronJob(spec string) string {
	return `
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly, namespace: x}
spec: {schedule: "0 3 * * *", jobTemplate: {spec: {template: {spec: ` + spec + "}}}}\n"
}

func documents(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	var all []*unstructured.Unstructured
	for _, doc := range strings.Split(text, "\n---\n") {
		var m map[string]any
		if err := yaml.Unmarshal([]byte(doc), &m); err != nil {
			t.Fatalf("%v\n%s", err, doc)
		}
		if len(m) > 0 {
			raw := &unstructured.Unstructured{}
			encoded, err := yaml.YAMLToJSON([]byte(doc))
			if err == nil {
				err = raw.UnmarshalJSON(encoded) // integers as the API has them
			}
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, raw)
		}
	}
	return all
}

// expected is the expectation of a component x with these objects.
func expected(t *testing.T, objects string) *bundle.Expectation {
	t.Helper()
	e := &bundle.Expectation{}
	for _, o := range documents(t, objects) {
		object := bundle.Object{Component: "x", Release: "x", Template: "x/templates/x.yaml", Object: o}
		e.Objects = append(e.Objects, object)
		if spec := facts.PodSpec(&object); spec != nil {
			w := bundle.Workload{Component: "x", Release: "x", Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName(), PodSpec: *spec, Replicas: 1, Template: object.Template}
			if n, ok, _ := unstructured.NestedInt64(o.Object, "spec", "replicas"); ok {
				w.Replicas = int(n)
			}
			e.Workloads = append(e.Workloads, w)
		}
	}
	return e
}

func (c refCase) check(t *testing.T) Report {
	t.Helper()
	live := testkit.TestNodes()
	for _, n := range live {
		n.(*corev1.Node).Spec.Taints = nil
	}
	for _, doc := range strings.Split(there, "\n---\n") {
		o, _, err := scheme.Codecs.UniversalDeserializer().Decode([]byte(doc), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		live = append(live, o)
	}
	kube := fake.NewClientset(live...)
	e := expected(t, c.objects)
	view, err := observe.Poll(t.Context(), kube)
	if err != nil {
		t.Fatal(err)
	}
	have, err := facts.ReadLive(t.Context(), kube, view)
	if err != nil {
		t.Fatal(err)
	}
	return checkAll(e, []recipe.Component{{
		ComponentRef: recipe.ComponentRef{Name: "x"}, Values: c.values, Origins: c.origins, Declared: recipe.Origin{File: "r/overlays/o.yaml", Line: 9},
	}}, have)
}

func (c refCase) run(t *testing.T) {
	t.Helper()
	r := c.check(t)
	var faults []string
	for _, f := range r.Faults {
		faults = append(faults, f.Finding.Cause)
	}
	for what, lines := range map[string]struct {
		want string
		got  []string
	}{"faults": {c.fault, faults}, "warnings": {c.warning, r.Warnings}, "notes": {c.note, r.Notes}} {
		if lines.want == "" {
			if len(lines.got) > 0 {
				t.Errorf("%s: got %q, want none", what, lines.got)
			}
			continue
		}
		if len(lines.got) != 1 || !strings.Contains(lines.got[0], lines.want) {
			t.Errorf("%s: got %q, want one with %q", what, lines.got, lines.want)
		}
	}
	if c.fault == "" || len(r.Faults) == 0 {
		if err := r.Err(); err != nil {
			t.Errorf("no fault was wanted, and the error is %v", err)
		}
		return
	}
	if got := reason.Of(r.Err()); got != c.reason {
		t.Errorf("reason: got %s, want %s", got, c.reason)
	}
	f := r.Faults[0].Finding
	if c.place != (result.Place{}) && f.Place != c.place {
		t.Errorf("place: got %+v, want %+v", f.Place, c.place)
	}
	if len(f.Others) != c.others {
		t.Errorf("others: got %v, want %d", f.Others, c.others)
	}
	if f.Object == nil || f.Component != "x" {
		t.Errorf("got object %v of component %q", f.Object, f.Component)
	}
}

func runAll(t *testing.T, all map[string]refCase) {
	t.Helper()
	for name, c := range all {
		t.Run(name, c.run)
	}
}

// What a kubelet refuses before it starts anything.
func TestKubelet(t *testing.T) {
	declared := result.Place{File: "r/overlays/o.yaml", Line: 9}
	const why = reason.WorkloadFailed
	certificate := `
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: cert, namespace: x}
spec: {secretName: tls}
`
	certgen := `
---
apiVersion: batch/v1
kind: Job
metadata: {name: certgen, namespace: x}
spec: {template: {spec: {containers: [{name: m, args: [create, --secret-name=tls]}]}}}
`
	runAll(t, map[string]refCase{
		"all there": {objects: pod(`{volumes: [{name: a, secret: {secretName: have, items: [{key: user, path: u}]}}, {name: b, configMap: {name: have}}], containers: [{name: m, envFrom: [{secretRef: {name: have}}]}]}`)},
		"secret volume": {objects: pod(`{volumes: [{name: a, secret: {secretName: nope}}]}`), reason: why, fault: "Deployment x/web (x): mounts Secret x/nope, which does not exist, and nothing in the recipe makes it",
			place: declared},
		"place of the value": {objects: pod(`{volumes: [{name: a, secret: {secretName: nope}}]}`), reason: why, fault: "Secret x/nope",
			values: map[string]any{"auth": map[string]any{"existingSecret": "nope"}}, origins: map[string]recipe.Origin{"auth.existingSecret": {File: "r/components/x/values.yaml", Line: 3}},
			place: result.Place{File: "r/components/x/values.yaml", Line: 3, Path: "auth.existingSecret"}},
		"one cause of two":  {objects: pod(`{volumes: [{name: a, secret: {secretName: nope}}]}`) + "---\n" + deployment("api", 1, `{volumes: [{name: a, secret: {secretName: nope}}]}`), reason: why, fault: "Secret x/nope", others: 1},
		"optional":          {objects: pod(`{volumes: [{name: a, secret: {secretName: nope, optional: true}}], containers: [{name: m, envFrom: [{configMapRef: {name: nope, optional: true}}], env: [{name: E, valueFrom: {secretKeyRef: {name: have, key: nope, optional: true}}}]}]}`)},
		"config map volume": {objects: pod(`{volumes: [{name: a, configMap: {name: nope}}]}`), reason: why, fault: "mounts ConfigMap x/nope, which does not exist"},
		"key of a volume":   {objects: pod(`{volumes: [{name: a, configMap: {name: have, items: [{key: other.yaml, path: o}]}}]}`), reason: why, fault: "mounts key other.yaml of ConfigMap x/have, which has no such key (it has app.yaml)"},
		"projected":         {objects: pod(`{volumes: [{name: a, projected: {sources: [{configMap: {name: have}}, {secret: {name: nope}}]}}]}`), reason: why, fault: "mounts Secret x/nope"},
		"envFrom":           {objects: pod(`{containers: [{name: m, envFrom: [{secretRef: {name: nope}}]}]}`), reason: why, fault: "takes its environment from Secret x/nope"},
		"env key":           {objects: pod(`{initContainers: [{name: m, env: [{name: PASS, valueFrom: {secretKeyRef: {name: have, key: pass}}}]}]}`), reason: why, fault: "takes PASS from key pass of Secret x/have, which has no such key (it has user)"},
		"pull secret":       {objects: pod(`{imagePullSecrets: [{name: nope}]}`), warning: "imagePullSecrets names Secret x/nope, which does not exist"},
		"a CronJob's too":   {objects: cronJob(`{containers: [{name: m, envFrom: [{configMapRef: {name: nope}}]}]}`), reason: why, fault: "CronJob x/nightly (x): takes its environment from ConfigMap x/nope"},
		// Created at run time.
		"certificate":           {objects: pod(`{volumes: [{name: a, secret: {secretName: tls, items: [{key: tls.crt, path: c}]}}]}`) + certificate, note: "Secret x/tls is made at run time by Certificate.cert-manager.io x/cert (x); without it Deployment x/web does not start"},
		"key of a certificate":  {objects: pod(`{volumes: [{name: a, secret: {secretName: tls, items: [{key: cert.pem, path: c}]}}]}`) + certificate, reason: why, fault: "mounts key cert.pem of Secret x/tls, which Certificate.cert-manager.io x/cert (x) makes without that key"},
		"Job":                   {objects: pod(`{volumes: [{name: a, secret: {secretName: tls}}]}`) + certgen, note: "is made at run time by Job x/certgen"},
		"Job for a longer name": {objects: pod(`{volumes: [{name: a, secret: {secretName: tl}}]}`) + certgen, reason: why, fault: "Secret x/tl, which does not exist"},
		"Job elsewhere":         {objects: pod(`{volumes: [{name: a, secret: {secretName: tls}}]}`) + strings.ReplaceAll(certgen, "namespace: x", "namespace: z"), reason: why, fault: "Secret x/tls, which does not exist"},
		"rendered empty":        {objects: pod(`{containers: [{name: m, env: [{name: E, valueFrom: {secretKeyRef: {name: empty, key: k}}}]}]}`), note: "Secret x/empty is rendered empty, to be filled at run time with k; without it Deployment x/web does not start"},
	})
}

// Claims, service accounts, classes and schedulers that do not exist.
func TestPods(t *testing.T) {
	const why = reason.SchedulingFailed
	claim := func(class string) string {
		return "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data, namespace: x}\nspec: {" + class + "}\n"
	}
	set := "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db, namespace: x}\nspec: {replicas: 0, template: {spec: {containers: [{name: m}]}}, volumeClaimTemplates: [{metadata: {name: data}, spec: {storageClassName: nope}}]}\n"
	runAll(t, map[string]refCase{
		"class of a claim":     {objects: claim("storageClassName: nope"), reason: why, fault: "claim data wants StorageClass nope, which does not exist"},
		"class of a volume":    {objects: claim("storageClassName: manual")},
		"class that exists":    {objects: claim("storageClassName: have")},
		"default class":        {objects: claim("")},
		"class of a template":  {objects: set, reason: why, fault: "StatefulSet x/db (x): claim data wants StorageClass nope"},
		"ephemeral volume":     {objects: pod(`{volumes: [{name: scratch, ephemeral: {volumeClaimTemplate: {spec: {storageClassName: nope}}}}]}`), reason: why, fault: "StorageClass nope"},
		"claim of a CronJob":   {objects: cronJob(`{volumes: [{name: a, persistentVolumeClaim: {claimName: nope}}]}`), reason: why, fault: "mounts PersistentVolumeClaim x/nope, which does not exist"},
		"service account":      {objects: cronJob(`{serviceAccountName: nope}`), reason: reason.WorkloadFailed, fault: "names ServiceAccount x/nope, which does not exist"},
		"its older name":       {objects: cronJob(`{serviceAccount: nope}`), reason: reason.WorkloadFailed, fault: "names ServiceAccount x/nope, which does not exist"},
		"priority class":       {objects: cronJob(`{priorityClassName: nope}`), reason: reason.WorkloadFailed, fault: "names PriorityClass nope"},
		"priority class there": {objects: cronJob(`{priorityClassName: have, serviceAccountName: have}`)},
		"runtime class":        {objects: cronJob(`{runtimeClassName: nope}`), reason: reason.WorkloadFailed, fault: "names RuntimeClass nope"},
		"scheduler":            {objects: cronJob(`{schedulerName: nope}`), reason: why, fault: "is for the scheduler nope, which nothing in the recipe runs"},
		"scheduler of the recipe": {objects: cronJob(`{schedulerName: fair}`) + "---\n" + deployment("fair", 1, "{containers: [{name: m}]}"),
			note: "is for the scheduler fair, which Deployment x/fair (x) runs"},
	})
}

// A platform simulates the schedulers that the recipe runs and whose pods are simulated, and no
// other.
func TestSchedulers(t *testing.T) {
	t.Parallel()
	asks := pod("{schedulerName: fair, containers: [{name: m}]}") + "---\n"
	other := func(spec string) string { return asks + deployment("other", 1, spec) }
	const profile = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: x}\ndata:\n  c.yaml: |\n    kind: KubeSchedulerConfiguration\n    profiles: [{schedulerName: fair}]\n"
	for name, tt := range map[string]struct {
		objects string
		want    []string
	}{
		"Kubernetes' own":           {objects: pod("{schedulerName: default-scheduler, containers: [{name: m}]}")},
		"nobody's":                  {objects: asks},
		"of its name":               {asks + deployment("fair", 1, "{containers: [{name: m}]}"), []string{"fair"}},
		"a scheduler told its name": {other(`{containers: [{name: fair-scheduler, args: ["--scheduler-name=fair"]}]}`), []string{"fair"}},
		"an operator that is told whose its pods are": {objects: other(`{containers: [{name: operator, args: ["--batch-scheduler-name=fair"]}]}`)},
		"one that asks for itself":                    {objects: pod(`{schedulerName: fair, containers: [{name: scheduler, args: ["--scheduler-name=fair"]}]}`)},
		"KAI's configuration":                         {asks + "apiVersion: kai.scheduler/v1\nkind: Config\nmetadata: {name: kai}\nspec: {global: {schedulerName: fair}}\n", []string{"fair"}},
		"a profile of a configuration":                {other(`{containers: [{name: m, image: kube-scheduler}], volumes: [{name: c, configMap: {name: c}}]}`) + profile, []string{"fair"}},
		"a profile that others are given":             {objects: other(`{containers: [{name: m, image: kube-scheduler}]}`) + profile},
		"a configuration of another program":          {objects: other(`{containers: [{name: m}], volumes: [{name: c, configMap: {name: c}}]}`) + profile},
		"a job that asks for it":                      {objects: asks + "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: train}\nspec: {schedulerName: fair}\n"},
		"asked for by nobody":                         {objects: deployment("fair", 1, "{containers: [{name: m}]}")},
		"one whose pods run":                          {objects: asks + deployment("fair", 1, "{containers: [{name: m, image: real:1}]}")},
		"one whose pods run, told its name":           {objects: other(`{containers: [{name: fair-scheduler, image: real:1, args: ["--scheduler-name=fair"]}]}`)},
		"one beside which others run":                 {other(`{containers: [{name: m, image: real:1}]}`) + "---\n" + deployment("fair", 1, "{containers: [{name: m, image: other:1}]}"), []string{"fair"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			real := func(c *corev1.Container) bool { return c.Image == "real:1" }
			if got := Schedulers(expected(t, tt.objects), real); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// A template that makes no pods by itself.
func TestTemplates(t *testing.T) {
	nowhere, resources := `{nodeSelector: {disktype: ssd}}`, `{containers: [{name: m, resources: {requests: {cpu: "9000"}}}]}`
	runAll(t, map[string]refCase{
		"CronJob":              {objects: cronJob(nowhere), reason: reason.SchedulingFailed, fault: "CronJob x/nightly (x): no node would admit its pods"},
		"too much":             {objects: cronJob(resources), reason: reason.SchedulingFailed, fault: "no node would admit its pods"},
		"scaled to zero":       {objects: deployment("web", 0, nowhere), reason: reason.SchedulingFailed, fault: "Deployment x/web (x): no node would admit its pods"},
		"for nodes of a class": {objects: cronJob(`{runtimeClassName: kata, containers: [{name: m}]}`), reason: reason.SchedulingFailed, fault: "2 system nodes refuse by nodeSelector katacontainers.io/kata-runtime"},
		"of a class with some": {objects: cronJob(`{runtimeClassName: here, containers: [{name: m}]}`)},
		"one that is judged":   {objects: deployment("web", 1, nowhere)}, // by the scheduler
		"another system":       {objects: cronJob(`{nodeSelector: {kubernetes.io/os: windows}}`), note: "wants windows nodes"},
		"beside another's pod": {objects: cronJob(`{affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone, labelSelector: {matchLabels: {a: b}}}]}}}`)},
	})
}

// References between objects.
func TestDangling(t *testing.T) {
	const why = reason.DeployFailed
	head := func(api, kind string) string {
		return "apiVersion: " + api + "\nkind: " + kind + "\nmetadata: {name: o, namespace: x}\n"
	}
	hpa := func(name string) string {
		return head("autoscaling/v2", "HorizontalPodAutoscaler") + "spec: {maxReplicas: 2, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: " + name + "}}\n"
	}
	webhook := func(service, more string) string {
		head := strings.Replace(head("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"), "name: o", "name: o, annotations: {cert-manager.io/inject-ca-from: x/c}", 1)
		return head + "webhooks: [{name: w.example.com, clientConfig: {service: {namespace: x, name: " + service + "}}" + more + "}]\n"
	}
	const leader = "\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: db, namespace: x}\nspec: {selector: {matchLabels: {app: db}}, template: {metadata: {labels: {app: db}}, spec: {serviceAccountName: have, containers: [{name: m}]}}}\n"
	leads := strings.Replace(head("v1", "Service"), "name: o", "name: l", 1) + "spec: {selector: {app: db, role: leader}}\n---" + leader
	may := func(resource, verb string) string {
		binding := strings.Replace(head("rbac.authorization.k8s.io/v1", "RoleBinding"), "name: o", "name: b", 1)
		return "---\n" + head("rbac.authorization.k8s.io/v1", "Role") + "rules: [{apiGroups: [\"\"], resources: [" + resource + "], verbs: [" + verb + "]}]\n---\n" + binding + "roleRef: {kind: Role, name: o}\nsubjects: [{kind: ServiceAccount, name: have}]\n"
	}
	runAll(t, map[string]refCase{
		"HPA":                  {objects: hpa("nope"), reason: why, fault: "scales Deployment x/nope, which does not exist"},
		"PDB":                  {objects: head("policy/v1", "PodDisruptionBudget") + "spec: {selector: {matchLabels: {app: nope}}}\n", warning: "selects pods with app=nope, and there are none; it protects nothing (set in x/templates/x.yaml (component declared in r/overlays/o.yaml:9))"},
		"PDB for pods to come": {objects: head("policy/v1", "PodDisruptionBudget") + "spec: {selector: {matchLabels: {app: web}}}\n---\n" + pod("{}")},
		"Service":              {objects: head("v1", "Service") + "spec: {selector: {app: nope}}\n", warning: "selects pods with app=nope, and there are none; it has no endpoints"},
		"Service of a leader":  {objects: leads + may("pods", "patch"), note: "those of Deployment x/db have labels of these, and may give themselves the others"},
		"one without rights":   {objects: leads + may("pods", "get"), warning: "selects pods with app=db,role=leader, and there are none"},
		"one of another role":  {objects: strings.Replace(leads, "role: leader", "app: dbs", 1) + may("pods", "patch"), warning: "selects pods with app=dbs, and there are none"},
		"Service of DNS":       {objects: strings.Replace(head("v1", "Service"), "namespace: x", "namespace: kube-system", 1) + "spec: {selector: {k8s-app: kube-dns}}\n", note: "pods of the cluster itself"},
		"ServiceMonitor":       {objects: head("monitoring.coreos.com/v1", "ServiceMonitor") + "spec: {selector: {matchLabels: {app: nope}}}\n", warning: "is for Services with app=nope, and there are none"},
		"ServiceMonitor there": {objects: head("monitoring.coreos.com/v1", "ServiceMonitor") + "spec: {selector: {matchLabels: {app: have}}}\n"},
		"PodMonitor":           {objects: head("monitoring.coreos.com/v1", "PodMonitor") + "spec: {selector: {matchLabels: {app: nope}}}\n", warning: "is for pods with app=nope, and there are none"},
		"webhook":              {objects: webhook("nope", ""), reason: why, fault: "webhook w.example.com calls Service x/nope, which does not exist"},
		"webhook there":        {objects: webhook("have", "")},
		"webhook port":         {objects: strings.Replace(webhook("have", ""), "name: have", "name: have, port: 8443", 1), reason: why, fault: "calls port 8443 of Service x/have, which has no such port"},
		"webhook left out":     {objects: webhook("nope", ", failurePolicy: Ignore"), warning: "the API server leaves it out (failurePolicy Ignore)"},
		"APIService":           {objects: head("apiregistration.k8s.io/v1", "APIService") + "spec: {service: {namespace: x, name: nope}}\n", reason: why, fault: "is served by Service x/nope, which does not exist"},
		"APIService of no pod": {objects: head("apiregistration.k8s.io/v1", "APIService") + "spec: {service: {namespace: x, name: lone}}\n", reason: why, fault: "is served by Service x/lone, whose selector (app=nope) is that of no pod"},
		"webhook of no pod":    {objects: webhook("lone", ""), reason: why, fault: "webhook w.example.com calls Service x/lone, whose selector (app=nope) is that of no pod"},
		"webhook, left out":    {objects: webhook("lone", ", failurePolicy: Ignore"), warning: "whose selector (app=nope) is that of no pod; the API server leaves it out"},
		"webhook of a pod":     {objects: webhook("lone", "") + "---" + deployment("nope", 1, "{containers: [{name: m}]}")},
		"Ingress":              {objects: head("networking.k8s.io/v1", "Ingress") + "spec: {ingressClassName: nope}\n", warning: "names IngressClass nope, which the recipe does not install"},
	})
}

// Of Secrets and ConfigMaps names and keys are read, and nothing else is kept.
func TestRead_NoSecretValues(t *testing.T) {
	kube := fake.NewClientset(&corev1.SecretList{Items: []corev1.Secret{{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "s"}, Data: map[string][]byte{"k": []byte("v")}}}})
	c, err := facts.ReadLive(t.Context(), kube, nil)
	if err != nil || len(c.Secrets) != 1 || !c.Secrets["x/s"]["k"] {
		t.Errorf("got %v, %v", c, err)
	}
}
