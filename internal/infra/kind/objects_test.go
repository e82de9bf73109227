package kind

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/gitops"
	"github.com/nvidia/aicr-action/internal/infra/health"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/kwok"
)

func allObjects(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	stages, err := simulate.Stages(kwok.Files, "stages")
	if err != nil {
		t.Fatal(err)
	}
	objs, err := baseObjects("registry:3", stages)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range controllerKinds() {
		more, err := controllerObjects(kind)
		if err != nil {
			t.Fatal(err)
		}
		objs = append(objs, more...)
	}
	return objs
}

// Every pod of the harness runs on the real node, from an image that was copied there, and all of
// them fit on one CPU.
func TestWorkloads_OnRealNode(t *testing.T) {
	var names []string
	var cpu resource.Quantity
	for _, o := range allObjects(t) {
		spec := podSpec(o)
		if spec == nil {
			continue
		}
		id := o.GetNamespace() + "/" + o.GetName()
		names = append(names, id)
		if fmt.Sprint(spec["nodeSelector"]) != "map[aicr.nvidia.com/host:true]" || !strings.Contains(fmt.Sprint(spec["tolerations"]), "node-role.kubernetes.io/control-plane") || spec["initContainers"] != nil {
			t.Errorf("%s: got %v", id, spec)
		}
		for _, c := range containers(o) {
			if c["imagePullPolicy"] != "IfNotPresent" || strings.Contains(fmt.Sprint(c["resources"]), "limits") {
				t.Errorf("%s: got %v, %v", id, c["imagePullPolicy"], c["resources"])
			}
			text, _, _ := unstructured.NestedString(c, "resources", "requests", "cpu")
			cpu.Add(resource.MustParse(text))
		}
	}
	slices.Sort(names)
	want := []string{
		"aicr-kwok/kwok-controller", "aicr-registry/registry", "argocd/argocd-application-controller", "argocd/argocd-applicationset-controller", "argocd/argocd-redis", "argocd/argocd-repo-server",
		"flux-system/helm-controller", "flux-system/kustomize-controller", "flux-system/source-controller", "flux-system/source-watcher",
	}
	if !slices.Equal(names, want) {
		t.Errorf("got %q", names)
	}
	if cpu.MilliValue() > 500 {
		t.Errorf("all together ask for %s CPUs", &cpu)
	}
}

// Each object is in its namespace, and each is applied once.
func TestObjects_Namespaces(t *testing.T) {
	seen := map[string]bool{}
	for _, o := range allObjects(t) {
		id := o.GetKind() + " " + o.GetNamespace() + "/" + o.GetName()
		if seen[id] {
			t.Errorf("%s is there twice", id)
		}
		seen[id] = true
		if clusterScoped(o.GetKind()) == (o.GetNamespace() != "") || o.GetNamespace() != "" && !slices.Contains(ownNamespaces(), o.GetNamespace()) {
			t.Errorf("%s: wrong namespace", id)
		}
	}
}

// The settings that lanes rely on.
func TestControllerSettings(t *testing.T) {
	want := map[string][]string{
		"helm-controller":                  {"--feature-gates=ExternalArtifact=true", "--requeue-dependency=1s", "--watch-all-namespaces"},
		"kustomize-controller":             {"--no-remote-bases=true", "--requeue-dependency=1s"},
		"source-controller":                {"--storage-path=/data"},
		"argocd-application-controller":    {"ARGOCD_SYNC_WAVE_DELAY", "--status-processors=10"},
		"argocd-repo-server":               {"--parallelismlimit=4"},
		"argocd-applicationset-controller": {"--enable-progressive-syncs=true", "--enable-scm-providers=false"},
		"kwok-controller":                  {"GOMAXPROCS", "--config=/root/.kwok/kwok.yaml"},
	}
	for _, o := range allObjects(t) {
		if podSpec(o) == nil {
			continue
		}
		c := containers(o)[0]
		text := fmt.Sprint(c["args"], c["env"])
		for _, w := range want[o.GetName()] {
			if strings.Count(text, w) != 1 {
				t.Errorf("%s: %q is %d times in %s", o.GetName(), w, strings.Count(text, w), text)
			}
		}
		delete(want, o.GetName())
	}
	if len(want) > 0 {
		t.Errorf("not there: %v", want)
	}
}

// KWOK leaves the real node alone, and has our stages besides its own.
func TestKwokConfig(t *testing.T) {
	stages, err := simulate.Stages(kwok.Files, "stages")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := kwokConfig(stages)
	if err != nil {
		t.Fatal(err)
	}
	objs, err := infra.DecodeObjects(raw)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, o := range objs[1:] {
		names = append(names, o.GetName())
	}
	if got := strings.Join(names, " "); got != "node-initialize node-heartbeat-with-lease pod-ready pod-complete pod-delete ingress-address pod-task-complete pvc-provision service-loadbalancer" {
		t.Errorf("got the stages %s", got)
	}
	options, _, _ := unstructured.NestedMap(objs[0].Object, "options")
	if options["manageAllNodes"] != false || options["manageNodesWithAnnotationSelector"] != "kwok.x-k8s.io/node=fake" {
		t.Errorf("got %v", options)
	}
}

// Manifests are upstream's, and say which. `make update-manifests` writes them.
func TestManifests_Sources(t *testing.T) {
	files, err := fs.Glob(kwok.Files, "manifests/*.yaml")
	if err != nil || len(files) != 4 {
		t.Fatalf("got %q, %v", files, err)
	}
	for _, f := range files {
		raw, err := fs.ReadFile(kwok.Files, f)
		if err != nil {
			t.Fatal(err)
		}
		head, _, _ := strings.Cut(string(raw), "\n---\n")
		if !strings.HasPrefix(head, "# Made by `make update-manifests`; do not edit.") {
			t.Errorf("%s begins with %q", f, head)
		}
		for line := range strings.Lines(head) {
			if module, ok := strings.CutPrefix(strings.TrimSpace(line), "# "); ok && strings.Count(module, " ") == 1 && !strings.Contains(string(kwok.StackMod), module) {
				t.Errorf("%s is made from %s, which is not in kwok/stack/go.mod: run make update-manifests", f, module)
			}
		}
	}
}

// The policies admit only the pods of named workloads with their images, and fail closed. The
// contract test checks them on a real API server.
func TestHostPolicies(t *testing.T) {
	have, err := testPlatform().read()
	if err != nil || len(have.workloads) != 10 {
		t.Fatalf("got %v, %v", have.workloads, err)
	}
	withJobs := testPlatform()
	withJobs.HostJobs = []HostJob{{"gpu-operator", "aicr-validation", "aicr:1"}}
	more, err := withJobs.read()
	if err != nil || more.digest == have.digest || !strings.Contains(hostPolicies(more.workloads), "'gpu-operator Job aicr-validation aicr:1'") {
		t.Errorf("a Job of the validation agent: %v, %v", more.workloads, err)
	}
	if images, err := withJobs.Images(); err != nil || !slices.Contains(images, "aicr:1") {
		t.Errorf("got the images %q, %v", images, err)
	}
	text := hostPolicies(append(have.workloads, hostWorkload{systemNamespace, "DaemonSet", "kube-proxy", "kube-proxy:v1"}))
	objs, err := decode(text)
	if err != nil || len(objs) != 6 {
		t.Fatalf("got %d objects, %v", len(objs), err)
	}
	for _, o := range objs {
		if strings.HasSuffix(o.GetKind(), "Policy") && (!strings.Contains(fmt.Sprint(o.Object), simulatedLabel) || !strings.Contains(fmt.Sprint(o.Object), "failurePolicy:Fail")) {
			t.Errorf("%s: got\n%s", o.GetName(), o.Object)
		}
	}
	for _, want := range []string{
		"'aicr-registry ReplicaSet registry ", "'argocd StatefulSet argocd-application-controller quay.io/argoproj/argocd:", "'flux-system ReplicaSet source-controller ",
		"'kube-system DaemonSet kube-proxy kube-proxy:v1'", "in ['kube-system kube-proxy kube-proxy:v1']",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("want %q in\n%s", want, text)
		}
	}
	if _, err := decode(hostPolicies(nil)); err != nil {
		t.Error(err)
	}
}

func TestSetArgsAndEnv(t *testing.T) {
	objs, err := decode(`{apiVersion: apps/v1, kind: Deployment, spec: {template: {spec: {containers: [{args: [/bin/x, --a=1, --b], env: [{name: A, value: "1"}, {name: B}]}]}}}}`)
	if err != nil {
		t.Fatal(err)
	}
	setArgs(objs[0], "--a=2", "--c=3")
	setEnv(objs[0], "A", "2")
	c := containers(objs[0])[0]
	if got := fmt.Sprint(c["args"], c["env"]); got != "[/bin/x --b --a=2 --c=3] [map[name:B] map[name:A value:2]]" {
		t.Errorf("got %s", got)
	}
}

// Argo CD's settings ignore the differences that the policies make: the path is that of their
// patch.
func TestArgoCDSettings_IgnorePolicyChanges(t *testing.T) {
	for _, o := range ignoringHostPolicies(gitops.ArgoCDObjects(health.Policy{})) {
		if o.GetName() != "argocd-cm" {
			continue
		}
		var ignored struct{ JSONPointers []string }
		text, _, _ := unstructured.NestedString(o.Object, "data", "resource.customizations.ignoreDifferences.apps_DaemonSet")
		if err := yaml.Unmarshal([]byte(text), &ignored); err != nil || len(ignored.JSONPointers) != 1 || !strings.Contains(hostPolicies(nil), "path: '"+ignored.JSONPointers[0]+"'") {
			t.Errorf("got %q, %v", text, err)
		}
		return
	}
	t.Error("there is no argocd-cm")
}
