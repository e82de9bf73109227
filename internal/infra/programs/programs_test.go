package programs

import (
	_ "embed"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/internal/util/sandbox"
	"github.com/nvidia/aicr-action/kwok"
)

func TestRowOf(t *testing.T) {
	for image, want := range map[string][2]string{
		"quay.io/prometheus-operator/prometheus-operator:v0.89.0":                                   {"prometheus-operator", "v0.89.0"},
		"mirror.example/quay/prometheus-operator/prometheus-operator:v1":                            {"prometheus-operator", "v1"},
		"quay.io/prometheus-operator/prometheus-operator:v0.89.0@sha256:" + strings.Repeat("a", 64): {"prometheus-operator", "v0.89.0"},
		"quay.io/prometheus-operator/prometheus-operator@sha256:" + strings.Repeat("a", 64):         {"prometheus-operator", ""},
		"quay.io/prometheus-operator/prometheus-config-reloader:v0.89.0":                            {},
		"quay.io/not-prometheus-operator/prometheus-operator:v0.89.0":                               {},
		"registry.k8s.io/ingress-nginx/kube-webhook-certgen:v1.6.6":                                 {"kube-webhook-certgen", "v1.6.6"},
		"registry.k8s.io/jobset/jobset:v0.10.1":                                                     {"jobset", "v0.10.1"},
		"ghcr.io/kubeflow/trainer/trainer-controller-manager:v2.1.0":                                {"kubeflow-trainer", "v2.1.0"},
		"registry.k8s.io/kueue/kueue:v0.15.0":                                                       {"kueue", "v0.15.0"},
		"registry.k8s.io/scheduler-plugins/kube-scheduler:v0.34.7":                                  {"coscheduling", "v0.34.7"},
		"registry.k8s.io/scheduler-plugins/controller:v0.34.7":                                      {"scheduler-plugins-controller", "v0.34.7"},
		"registry.k8s.io/nfd/node-feature-discovery:v0.18.3 nfd-master":                             {"nfd-master", "v0.18.3"},
		"registry.k8s.io/nfd/node-feature-discovery:v0.18.2 /usr/bin/nfd-gc":                        {"nfd-gc", "v0.18.2"},
		"registry.k8s.io/nfd/node-feature-discovery:v0.18.3 nfd-worker":                             {},
		"registry.k8s.io/nfd/node-feature-discovery:v0.18.3":                                        {},
		"UPPER/CASE": {},
	} {
		image, command, _ := strings.Cut(image, " ")
		row, version := rowOf(&corev1.Container{Image: image, Command: strings.Fields(command)})
		name := ""
		if row != nil {
			name = row.Name
		} else {
			version = ""
		}
		if got := [2]string{name, version}; got != want {
			t.Errorf("%s: got %q, want %q", image, got, want)
		}
	}
}

// objectsOf are the objects of a bundle, from YAML documents.
func objectsOf(t *testing.T, text string) []bundle.Object {
	t.Helper()
	var all []bundle.Object
	for doc := range strings.SplitSeq(text, "\n---\n") {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(doc), &o.Object); err != nil {
			t.Fatal(err)
		}
		all = append(all, bundle.Object{Component: "c", Object: o})
	}
	return all
}

//go:embed testdata/objects/operator_objects.yaml
var operatorObjects string

const gpuOperator = `
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: gpu, namespace: g}, spec: {template: {spec: {containers: [{name: c, image: "nvcr.io/nvidia/gpu-operator:v25"}]}}}}`

func setOf(t *testing.T, mode Mode, given ...infra.Program) *Set {
	t.Helper()
	paths := host.Paths{Root: t.TempDir()}
	stacks, err := Stacks(paths)
	if err != nil {
		t.Fatal(err)
	}
	schedulers, err := stack.NewSchedulers(paths, kwok.SchedulersMod, kwok.SchedulersSum)
	if err != nil {
		t.Fatal(err)
	}
	return &Set{Mode: mode, Given: given, Stacks: append(stacks, schedulers)}
}

func TestChoose(t *testing.T) {
	objects := objectsOf(t, operatorObjects)
	c, err := setOf(t, Real).Choose(objects)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Programs) != 1 || c.Programs[0].Image != "quay.io/prometheus-operator/prometheus-operator:v0.89.0" || !strings.HasSuffix(c.Programs[0].Path, "/bin/prometheus-operator") || len(c.Programs[0].Listens) != 1 {
		t.Errorf("programs: %+v", c.Programs)
	}
	if len(c.Lines) != 1 || !strings.Contains(c.Lines[0], "operator prometheus-operator (Deployment m/po): real, v0.93.1; its image is v0.89.0") {
		t.Errorf("lines: %q", c.Lines)
	}
	if len(c.Kinds) != 2 {
		t.Errorf("kinds that stand-ins leave alone: %v", c.Kinds)
	}
	if !c.ServesWebhooks(objects) {
		t.Error("the webhook of the operator that runs is not called")
	}
	if got := c.UncalledWebhooks(objects); len(got) != 2 || !strings.Contains(got[0], "other") || !strings.Contains(got[1], "by-url") {
		t.Errorf("not called: %q", got)
	}
	policy, err := c.UncalledPolicy()
	if err != nil || !strings.Contains(string(policy), "in ['m/po']") {
		t.Errorf("%v: the policy spares other Services than m/po:\n%s", err, policy)
	}
}

// What nothing runs for changes nothing, and a mode that is to run everything names what it cannot.
func TestChoose_WithoutProgram(t *testing.T) {
	objects := objectsOf(t, operatorObjects+gpuOperator)
	c, err := setOf(t, Simulated).Choose(objects)
	if err != nil || len(c.Programs)+len(c.Lines)+len(c.Kinds) > 0 || c.ServesWebhooks(objects) {
		t.Errorf("simulated: %v, %+v", err, c)
	}
	c, err = setOf(t, Auto).Choose(objects)
	if err != nil || len(c.Programs) != 1 || !slices.ContainsFunc(c.Lines, func(l string) bool {
		return strings.HasPrefix(l, "operator gpu-operator (Deployment g/gpu): simulated, since it cannot run: ")
	}) {
		t.Errorf("auto: %v, %+v", err, c)
	}
	c, err = setOf(t, Real).Choose(objects)
	if err != nil || len(c.Programs) != 1 || !strings.Contains(c.Lines[0], "--operators real: gpu-operator SIMULATED, since there is no program for it here") {
		t.Errorf("real: %v, %+v; want first that gpu-operator is simulated", err, c)
	}
	c, err = setOf(t, Real, infra.Program{Image: "nvcr.io/nvidia/gpu-operator:v25", Path: "/x"}).Choose(objects)
	if err != nil || len(c.Programs) != 2 || strings.Contains(strings.Join(c.Lines, "\n"), "SIMULATED") || !slices.Contains(c.Lines, "operator gpu-operator (Deployment g/gpu): real, by --program") {
		t.Errorf("real, with a program of the user's: %v, %+v", err, c)
	}
}

// Each program of cert-manager is that of its image, its Services and webhooks are served, and an
// image that the table does not have is named in a run that is to have real operators.
func TestChoose_CertManager(t *testing.T) {
	deployment := func(name string) string {
		return `{apiVersion: apps/v1, kind: Deployment, metadata: {name: ` + name + `, namespace: c}, spec: {template: {metadata: {labels: {app: ` + name + `}}, spec: {containers: [{name: c, image: "quay.io/jetstack/` + name + `:v1.17.2"}]}}}}` + "\n---\n"
	}
	objects := objectsOf(t, deployment("cert-manager-controller")+deployment("cert-manager-webhook")+deployment("cert-manager-cainjector")+deployment("unheard-of")+
		`{apiVersion: batch/v1, kind: Job, metadata: {name: check, namespace: c}, spec: {template: {spec: {containers: [{name: c, image: "quay.io/jetstack/cert-manager-startupapicheck:v1.17.2"}]}}}}
---
{apiVersion: v1, kind: Service, metadata: {name: w, namespace: c}, spec: {selector: {app: cert-manager-webhook}}}
---
{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: w}, webhooks: [{name: a.b.c, clientConfig: {service: {namespace: c, name: w}}}]}`)
	c, err := setOf(t, Real).Choose(objects)
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"controller", "webhook", "cainjector", "startupapicheck"} {
		if p := c.Programs[i]; len(c.Programs) != 4 || !strings.HasSuffix(p.Path, "/bin/cert-manager-"+name) || !strings.Contains(p.Image, "cert-manager-"+name+":") {
			t.Errorf("program %d of %d is %+v; want that of %s", i, len(c.Programs), p, name)
		}
	}
	if len(c.groups) != 4 || !c.ServesWebhooks(objects) || len(c.UncalledWebhooks(objects)) > 0 {
		t.Errorf("groups %v; its webhook is called: %t", c.groups, c.ServesWebhooks(objects))
	}
	text := strings.Join(c.Lines, "\n")
	if !strings.Contains(c.Lines[0], "not in the table of operators, so simulated: unheard-of") || !strings.Contains(text, "operator cert-manager-webhook (Deployment c/cert-manager-webhook): real, v1.17.2") || strings.Contains(text, "its image is") {
		t.Errorf("lines:\n%s", text)
	}
}

// The controllers of users' jobs run as the recipe's own pods: each sees only its program and its
// volumes, and gets its ports by its configuration. They make the pods of jobs.
func TestChoose_JobControllers(t *testing.T) {
	deployment := func(name, image string) string {
		return `{apiVersion: apps/v1, kind: Deployment, metadata: {name: ` + name + `, namespace: k}, spec: {template: {spec: {containers: [{name: c, image: "` + image + `", command: [/manager], securityContext: {runAsNonRoot: true}, volumeMounts: [{name: v, mountPath: /tmp/k8s-webhook-server/serving-certs}]}], volumes: [{name: v, secret: {secretName: s}}]}}}}`
	}
	objects := objectsOf(t, deployment("trainer", "ghcr.io/kubeflow/trainer/trainer-controller-manager:v2.1.0")+"\n---\n"+deployment("jobset", "registry.k8s.io/jobset/jobset:v0.10.1"))
	if err := sandbox.CanRoot(); err != nil { // no process of this machine can have a root of its own
		c, got := setOf(t, Auto).Choose(objects)
		if got != nil || len(c.Programs)+len(c.Jobs) > 0 || !strings.Contains(strings.Join(c.Lines, "\n"), err.Error()) {
			t.Errorf("%v, %+v", got, c)
		}
		return
	}
	c, err := setOf(t, Real).Choose(objects)
	if err != nil || len(c.Programs) != 2 || len(c.roots) != 2 {
		t.Fatalf("%v, %+v", err, c)
	}
	for i, name := range []string{"trainer-controller-manager", "jobset"} {
		p := c.Programs[i]
		if p.Path != "" || p.Unpacked == nil || !strings.HasSuffix(p.Unpacked.Root, "/roots/"+name) || p.Config == nil || len(p.Listens) != 3 {
			t.Errorf("program %d: %+v", i, p)
		}
	}
	if len(c.Jobs) != 2 || c.Jobs[0].String() != "Kubeflow Trainer v2.1.0" || !slices.Equal(c.Jobs[0].Needs, []string{"jobset"}) || !slices.Equal(c.Jobs[1].Groups, []string{"jobset.x-k8s.io"}) {
		t.Errorf("controllers of jobs: %+v", c.Jobs)
	}
	own := infra.Program{Image: "registry.k8s.io/jobset/jobset:v0.10.1", Path: "/x"}
	c, err = setOf(t, Auto, own).Choose(objects)
	if err != nil || len(c.Programs) != 2 || c.Programs[0].Path != "/x" || c.Programs[0].Config == nil || c.Jobs[1].String() != "JobSet of --program" {
		t.Errorf("with a program of the user's: %v, %+v, %+v", err, c.Programs, c.Jobs)
	}
}

// Kueue runs as the recipe's own pod, but for its server of visibility, whose port has no setting.
func TestChoose_Kueue(t *testing.T) {
	objects := objectsOf(t, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: kueue, namespace: k}, spec: {template: {metadata: {labels: {app: kueue}}, spec: {containers: [{name: c, image: "registry.k8s.io/kueue/kueue:v0.15.0", command: [/manager]}]}}}}
---
{apiVersion: v1, kind: Service, metadata: {name: kueue, namespace: k}, spec: {selector: {app: kueue}}}`)
	if sandbox.CanRoot() != nil { // TestChoose_JobControllers has this case
		return
	}
	c, err := setOf(t, Real).Choose(objects)
	if err != nil || len(c.Programs) != 1 || len(c.roots) != 1 || !slices.Equal(c.services, []service{{"k", "kueue"}}) {
		t.Fatalf("%v, %+v", err, c)
	}
	if p := c.Programs[0]; p.Config == nil || !slices.Equal(p.Off, []infra.Off{{Gate: "VisibilityOnDemand", Port: 8082}}) {
		t.Errorf("Kueue: %+v", p)
	}
}

// A pod with a container that has no program does not run by half.
func TestChoose_TwoContainers(t *testing.T) {
	objects := objectsOf(t, strings.Replace(operatorObjects, "containers: [", "containers: [{name: d, image: other}, ", 1))
	c, err := setOf(t, Auto).Choose(objects)
	if err != nil || len(c.Programs) > 0 || len(c.Lines) != 1 || !strings.Contains(c.Lines[0], "simulated, since it cannot run: it has 2 containers") {
		t.Errorf("auto: %v, %+v", err, c)
	}
	if _, err = setOf(t, Real).Choose(objects); err == nil || !strings.Contains(err.Error(), "it has 2 containers") {
		t.Errorf("real: %v", err)
	}
}

func TestParseMode(t *testing.T) {
	for text, want := range map[string]Mode{"": Simulated, "auto": Auto, "real": Real, "simulated": Simulated} {
		if got, err := ParseMode(text); err != nil || got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	if _, err := ParseMode("Real"); err == nil {
		t.Error("Real is a mode")
	}
}

const certificateObjects = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: cm, namespace: c}, spec: {template: {metadata: {labels: {app: cm}}, spec: {containers: [{name: c, image: "quay.io/jetstack/cert-manager-controller:v1.16.0"}]}}}}
---
{apiVersion: cert-manager.io/v1, kind: Issuer, metadata: {name: self, namespace: x}, spec: {selfSigned: {}}}
---
{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: server, namespace: x}, spec: {secretName: s, issuerRef: {name: self}}}`

// What an operator that runs reports on is awaited. One that would ask a server elsewhere does not
// run, since it could never report success.
func TestAwaited(t *testing.T) {
	objects := objectsOf(t, certificateObjects)
	c, err := setOf(t, Real).Choose(objects)
	if err != nil {
		t.Fatal(err)
	}
	if a := c.Awaited(objects); len(a) != 2 || a[1].Object.Object.GetName() != "server" || a[1].Condition != "Ready" || a[1].Component != "c" {
		t.Errorf("awaited: %+v", a)
	}
	if !strings.Contains(c.Lines[0], "real, v1.17.2; its image is v1.16.0") {
		t.Errorf("lines: %q", c.Lines)
	}
	if c, err = setOf(t, Simulated).Choose(objects); err != nil || len(c.Awaited(objects)) > 0 {
		t.Errorf("simulated: %v, awaited: %+v", err, c.Awaited(objects))
	}
	for why, spec := range map[string]string{
		"Issuer x/self asks a server outside of the cluster (spec.acme)":                        "{acme: {server: x}}",
		"Issuer x/self needs Secret other, which only ConfigMap x/script may make, at run time": "{ca: {secretName: other}}",
		"": "{ca: {secretName: s}}",
	} {
		objects := objectsOf(t, strings.Replace(certificateObjects, "{selfSigned: {}}", spec, 1)+"\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: script, namespace: x}, data: {run: kubectl create secret tls other}}")
		c, err := setOf(t, Auto).Choose(objects)
		if err != nil || (len(c.Awaited(objects)) == 0) != (why != "") || !strings.Contains(c.Lines[0], why) {
			t.Errorf("%s: %v, %+v", spec, err, c)
		}
		if _, err := setOf(t, Real).Choose(objects); (err == nil) != (why == "") || err != nil && !strings.Contains(err.Error(), why) {
			t.Errorf("%s, real: %v", spec, err)
		}
	}
}

// A queue says itself whether it can admit anything, unless the recipe has stopped it, or others are to check.
func TestAwaited_Queues(t *testing.T) {
	if sandbox.CanRoot() != nil { // TestChoose_JobControllers has this case
		return
	}
	objects := objectsOf(t, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: kueue, namespace: k}, spec: {template: {spec: {containers: [{name: c, image: "registry.k8s.io/kueue/kueue:v0.15.0", command: [/manager]}]}}}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: all}, spec: {stopPolicy: None}}
---
{apiVersion: kueue.x-k8s.io/v1beta1, kind: LocalQueue, metadata: {name: mine, namespace: x}, spec: {clusterQueue: all}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: stopped}, spec: {stopPolicy: Hold}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: of-stopped, namespace: x}, spec: {clusterQueue: stopped}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: checked}, spec: {admissionChecksStrategy: {admissionChecks: [{name: ours}]}}}`)
	c, err := setOf(t, Real).Choose(objects)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, a := range c.Awaited(objects) {
		got = append(got, a.Object.Object.GetKind()+" "+a.Object.Object.GetName()+" "+a.Condition)
	}
	if want := []string{"ClusterQueue all Active", "LocalQueue mine Active"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The programs of one image are told apart by the containers' commands; its others are simulated.
func TestChoose_Commands(t *testing.T) {
	if sandbox.CanRoot() != nil { // TestChoose_JobControllers has this case
		return
	}
	pod := func(kind, command string) string {
		return "{apiVersion: apps/v1, kind: " + kind + ", metadata: {name: " + command + ", namespace: n}, spec: {template: {spec: {containers: [{name: c, image: \"registry.k8s.io/nfd/node-feature-discovery:v0.18.3\", command: [" + command + "]}]}}}}\n---\n"
	}
	c, err := setOf(t, Real).Choose(objectsOf(t, pod("Deployment", "nfd-master")+pod("Deployment", "nfd-gc")+pod("DaemonSet", "nfd-worker")))
	if err != nil || len(c.Programs) != 2 || len(c.roots) != 2 {
		t.Fatalf("%v, %+v", err, c)
	}
	for command, want := range map[string]string{"nfd-master": "nfd-master", "/usr/bin/nfd-gc": "nfd-gc", "nfd-worker": ""} {
		got := ""
		for i := range c.Programs {
			if c.Programs[i].Of(&corev1.Container{Image: c.Programs[0].Image, Command: []string{command}}) {
				got = c.Programs[i].Command
			}
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", command, got, want)
		}
	}
}

// A Secret that nothing makes is the recipe's fault, which is found before anything is deployed: the operator runs.
func TestAwaited_NoSecret(t *testing.T) {
	objects := objectsOf(t, strings.Replace(certificateObjects, "{selfSigned: {}}", "{ca: {secretName: other}}", 1))
	if c, err := setOf(t, Real).Choose(objects); err != nil || len(c.Awaited(objects)) == 0 {
		t.Errorf("%v, %+v", err, c)
	}
}

// What an operator that runs reads into others' configuration may be left out of it.
func TestAwaited_LeftOut(t *testing.T) {
	objects := objectsOf(t, operatorObjects+"\n---\n{apiVersion: monitoring.coreos.com/v1, kind: PrometheusRule, metadata: {name: r, namespace: m}}\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: r, namespace: m}}")
	c, err := setOf(t, Real).Choose(objects)
	if err != nil {
		t.Fatal(err)
	}
	a := c.Awaited(objects)
	if i := slices.IndexFunc(a, func(a infra.Awaited) bool { return a.Rejects != "" }); i < 0 || a[i].Rejects != "InvalidConfiguration" || a[i].Condition != "" || a[i].Object.Object.GetName() != "r" {
		t.Errorf("awaited: %+v", a)
	}
	if c, err = setOf(t, Simulated).Choose(objects); err != nil || len(c.Awaited(objects)) > 0 {
		t.Errorf("simulated: %v, awaited: %+v", err, c.Awaited(objects))
	}
}
