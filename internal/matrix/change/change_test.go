package change

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	fakediscovery "k8s.io/client-go/discovery/fake"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/compare"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/testkit"
)

const (
	web1     = `{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: ns, name: web, uid: w, labels: {helm.sh/chart: web-1}}, spec: {replicas: 2, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: "web:1", env: [{name: DB_PASSWORD, value: hunter2}]}]}}}}`
	web2     = `{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: ns, name: web, uid: w, labels: {helm.sh/chart: web-2}}, spec: {replicas: 2, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: "web:2", env: [{name: DB_PASSWORD, value: swordfish}]}]}}}}`
	driver1  = `{apiVersion: apps/v1, kind: DaemonSet, metadata: {namespace: gpu, name: driver, uid: d}, spec: {template: {metadata: {labels: {app: driver}}, spec: {containers: [{name: driver, image: "driver:1"}]}}}}`
	driver2  = `{apiVersion: apps/v1, kind: DaemonSet, metadata: {namespace: gpu, name: driver, uid: d}, spec: {template: {metadata: {labels: {app: driver}}, spec: {containers: [{name: driver, image: "driver:2"}]}}}}`
	still    = `{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: ns, name: still, uid: s, labels: {helm.sh/chart: web-%d}}, spec: {replicas: %d, template: {metadata: {labels: {app: still}}, spec: {containers: [{name: c, image: "c:1"}]}}}}`
	budget   = `{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {namespace: ns, name: web, uid: b}, spec: {%s, selector: {matchLabels: {app: web}}}}`
	secret   = `{apiVersion: v1, kind: Secret, metadata: {namespace: ns, name: key, uid: k}, data: {password: %s}}`
	policy   = `{apiVersion: example.com/v1, kind: Policy, metadata: {name: cluster, uid: %s}}`
	hook     = `{apiVersion: v1, kind: ServiceAccount, metadata: {namespace: ns, name: hook, uid: %s}}`
	config   = `{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: %s, uid: %s}, data: {a: b}}`
	policies = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: policies.example.com, uid: c}, spec: {versions: [%s]}, status: {storedVersions: [v1alpha1, v1]}}`
	v1alpha1 = `{name: v1alpha1, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}`
)

func v1(storage bool, properties, description string) string {
	return fmt.Sprintf(`{name: v1, served: true, storage: %t, schema: {openAPIV3Schema: {type: object, description: %s, properties: {spec: {type: object, properties: {%s}}}}}}`, storage, description, properties)
}

// env is a cell whose cluster has these objects and pods, and whose bundle renders those of them that
// have a component.
func env(t *testing.T, version string, pods []*corev1.Pod, objects map[string]string) *lane.Env {
	t.Helper()
	var live []runtime.Object
	b := &bundle.Bundle{}
	for _, name := range []string{"web", "gpu"} {
		b.Expectation.Releases = append(b.Expectation.Releases, bundle.Release{Name: name, Component: name, ChartVersion: version})
	}
	for text, component := range objects {
		text, hook := strings.CutPrefix(text, "hook ")
		obj := testkit.Parsed(t, text)
		live = append(live, obj)
		if component != "" {
			b.Expectation.Objects = append(b.Expectation.Objects, bundle.Object{Component: component, Release: component, Hook: hook, Object: obj})
		}
	}
	kube := fake.NewClientset()
	for _, p := range pods {
		if err := kube.Tracker().Add(p); err != nil {
			t.Fatal(err)
		}
	}
	discovery, _ := kube.Discovery().(*fakediscovery.FakeDiscovery)
	for group, kinds := range map[string][]metav1.APIResource{
		"apps/v1":                 {{Name: "statefulsets", Kind: "StatefulSet", Namespaced: true}, {Name: "deployments", Kind: "Deployment", Namespaced: true}, {Name: "daemonsets", Kind: "DaemonSet", Namespaced: true}},
		"v1":                      {{Name: "persistentvolumeclaims", Kind: "PersistentVolumeClaim", Namespaced: true}, {Name: "secrets", Kind: "Secret", Namespaced: true}, {Name: "configmaps", Kind: "ConfigMap", Namespaced: true}, {Name: "serviceaccounts", Kind: "ServiceAccount", Namespaced: true}},
		"policy/v1":               {{Name: "poddisruptionbudgets", Kind: "PodDisruptionBudget", Namespaced: true}},
		"example.com/v1":          {{Name: "policies", Kind: "Policy"}},
		"apiextensions.k8s.io/v1": {{Name: "customresourcedefinitions", Kind: "CustomResourceDefinition"}},
	} {
		discovery.Resources = append(discovery.Resources, &metav1.APIResourceList{GroupVersion: group, APIResources: kinds})
	}
	return &lane.Env{Bundle: b, Clients: &infra.Clients{Kube: kube, Discovery: discovery, Dynamic: dynamicfake.NewSimpleDynamicClient(runtime.NewScheme(), live...)}}
}

func podOf(kind, workload, namespace, uid, node string) *corev1.Pod {
	yes := true
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: uid, UID: types.UID(uid), OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: workload, Controller: &yes}}},
		Spec:       corev1.PodSpec{NodeName: node},
	}
}

// lines is a change as text, one line for each thing.
func lines(c *result.Change) []string {
	var all []string
	for _, one := range c.Components {
		add := func(format string, args ...any) {
			all = append(all, one.Component+" "+one.FromVersion+"→"+one.ToVersion+": "+fmt.Sprintf(format, args...))
		}
		for _, r := range one.Rolls {
			add("rolls %s pods %d nodes %d each %t by %s", r.Ref, r.Pods, r.Nodes, r.EachNode, strings.Join(r.Fields, ","))
		}
		for what, refs := range map[string][]result.Ref{"replaced": one.Replaced, "removed": one.Removed, "left": one.LeftBehind, "added": one.Added, "again": one.RanAgain} {
			for _, ref := range refs {
				add("%s %s", what, ref)
			}
		}
		for _, o := range one.Changed {
			for _, f := range o.Fields {
				add("changed %s %s: %s → %s", o.Ref, f.Path, f.From, f.To)
			}
		}
		if one.Relabelled > 0 {
			add("relabelled %d", one.Relabelled)
		}
		for _, i := range one.Images {
			add("image %s → %s of %v", i.From, i.To, i.Workloads)
		}
		for _, d := range one.CRDs {
			raw, _ := json.Marshal(d)
			add("crd %s", raw)
		}
		for _, b := range one.Budgets {
			add("budget %s %s of %v", b.Ref, b.Why, b.Workloads)
		}
	}
	return all
}

func want(t *testing.T, c *result.Change, wanted ...string) {
	t.Helper()
	got := lines(c)
	for _, line := range wanted {
		found := false
		for _, g := range got {
			found = found || strings.HasSuffix(g, line)
		}
		if !found {
			t.Errorf("lacks %s", line)
		}
	}
	if len(got) != len(wanted) || t.Failed() {
		t.Errorf("got %d lines, want %d:\n%s", len(got), len(wanted), strings.Join(got, "\n"))
	}
}

// read takes a state as a cell does: with the reading for the comparison.
func read(t *testing.T, e *lane.Env, own []lane.Object, before *State) (*State, error) {
	t.Helper()
	r := &Reading{Env: e, Own: own, Before: before}
	r.Also() // of an attempt that failed
	captured, err := compare.Capture(t.Context(), e, own, nil, r.Also())
	if err == nil {
		err = r.Done(t.Context())
	}
	expected := 0
	for _, o := range r.State.objects {
		if o.expected && o.claimOf == "" || slices.ContainsFunc(own, func(ref lane.Object) bool { return ref.Ref() == o.ref.Ref() }) {
			expected++
		}
	}
	if captured.Len() != expected {
		t.Errorf("%d objects are captured, and %d of the state are expected: what is left of an earlier state must not be compared", captured.Len(), expected)
	}
	return r.State, err
}

// The whole difference of a cluster: what rolls and by what, and each way in which an object differs.
func TestBetween(t *testing.T) {
	before := env(t, "1", []*corev1.Pod{
		podOf("Deployment", "web", "ns", "w1", "n1"), podOf("Deployment", "web", "ns", "w2", "n2"), podOf("Deployment", "still", "ns", "s1", "n1"), podOf("Deployment", "still", "ns", "s2", "n1"),
		podOf("DaemonSet", "driver", "gpu", "d1", "n1"), podOf("DaemonSet", "driver", "gpu", "d2", "n2"), podOf("DaemonSet", "driver", "gpu", "d3", "n3"),
	}, map[string]string{
		web1: "web", driver1: "gpu", fmt.Sprintf(still, 1, 2): "web", fmt.Sprintf(budget, "minAvailable: 2"): "web", fmt.Sprintf(secret, "YWFh"): "web",
		"hook " + fmt.Sprintf(policy, "p1"): "gpu", "hook " + fmt.Sprintf(hook, "h1"): "web", fmt.Sprintf(config, "gone", "1"): "web", fmt.Sprintf(config, "left", "2"): "web",
		fmt.Sprintf(policies, v1alpha1+","+v1(true, "old: {type: string}, kind: {type: string}", "x")): "gpu",
	})
	after := env(t, "2", []*corev1.Pod{
		podOf("Deployment", "web", "ns", "w3", "n1"), podOf("Deployment", "web", "ns", "w4", "n2"), podOf("Deployment", "still", "ns", "s1", "n1"),
		podOf("DaemonSet", "driver", "gpu", "d4", "n1"), podOf("DaemonSet", "driver", "gpu", "d5", "n2"), podOf("DaemonSet", "driver", "gpu", "d3", "n3"),
	}, map[string]string{
		web2: "web", driver2: "gpu", fmt.Sprintf(still, 2, 2): "web", fmt.Sprintf(budget, "minAvailable: 2"): "web", fmt.Sprintf(secret, "YmJiYg=="): "web",
		"hook " + fmt.Sprintf(policy, "p2"): "gpu", "hook " + fmt.Sprintf(hook, "h2"): "web", fmt.Sprintf(config, "new", "1"): "web", fmt.Sprintf(config, "left", "2"): "",
		fmt.Sprintf(policies, v1(true, "kind: {type: integer}, more: {type: object, properties: {deep: {type: string}}}", "y")): "gpu",
	})
	first, err := read(t, before, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	second, err := read(t, after, nil, first)
	if err != nil {
		t.Fatal(err)
	}
	c := Between(first, second, Options{From: "main"})
	want(t, c,
		"web 1→2: rolls Deployment ns/web pods 2 nodes 0 each false by spec.containers[web].env[DB_PASSWORD].value,spec.containers[web].image",
		"gpu 1→2: rolls DaemonSet gpu/driver pods 2 nodes 2 each false by spec.containers[driver].image",
		"replaced Policy.example.com cluster", "again ServiceAccount ns/hook", "removed ConfigMap ns/gone", "left ConfigMap ns/left", "added ConfigMap ns/new",
		`changed Secret ns/key data.password: "a value of 3 bytes that is not shown" → "a value of 4 bytes that is not shown"`,
		"changed Deployment ns/web spec.template.spec.containers[web].env[DB_PASSWORD].value: a value that is not shown → a value that is not shown",
		`changed Deployment ns/web spec.template.spec.containers[web].image: "web:1" → "web:2"`,
		`changed DaemonSet gpu/driver spec.template.spec.containers[driver].image: "driver:1" → "driver:2"`,
		"relabelled 1", "image web:1 → web:2 of [Deployment ns/web]", "image driver:1 → driver:2 of [DaemonSet gpu/driver]",
		`crd {"name":"policies.example.com","removedVersions":["v1alpha1"],"dropped":["v1alpha1"],"addedFields":["v1.spec.kind: integer","v1.spec.more: object"],"removedFields":["v1.spec.kind: string","v1.spec.old: string"]}`,
		"budget PodDisruptionBudget ns/web minAvailable: 2 of 2 of [Deployment ns/web]",
	)
	if c.Components[0].Component != "web" || c.From != "main" || c.Rendered || c.Objects != 11 {
		t.Errorf("got %s first of %d objects, from %s, rendered %t", c.Components[0].Component, c.Objects, c.From, c.Rendered)
	}
	if raw, err := json.Marshal(c); err != nil || strings.Contains(string(raw), "hunter2") || strings.Contains(string(raw), "swordfish") || strings.Contains(string(raw), "YWFh") {
		t.Errorf("a secret is in the result: %v\n%s", err, raw)
	}
}

// The same cluster again has no difference, whatever hooks did.
func TestNoDifference(t *testing.T) {
	at := func(uid string) *lane.Env {
		return env(t, "1", []*corev1.Pod{podOf("Deployment", "web", "ns", "w1", "n1")}, map[string]string{web1: "web", "hook " + fmt.Sprintf(hook, uid): "web"})
	}
	first, err := read(t, at("1"), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	second, err := read(t, at("2"), nil, first)
	if err != nil {
		t.Fatal(err)
	}
	if c := Between(first, second, Options{}); !c.Empty() {
		t.Errorf("got %q", lines(c))
	}
	// One that is kept on purpose is left behind, though Argo CD still lists it as its own.
	kept := `{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: kept, annotations: {argocd.argoproj.io/sync-options: Prune=false}}, data: {a: b}}`
	obj := testkit.Parsed(t, kept)
	own := []lane.Object{{GVK: obj.GroupVersionKind(), Namespace: "ns", Name: "kept", Release: "web"}}
	if first, err = read(t, env(t, "1", nil, map[string]string{kept: "web"}), own, nil); err != nil {
		t.Fatal(err)
	}
	if second, err = read(t, env(t, "1", nil, map[string]string{kept: ""}), own, first); err != nil {
		t.Fatal(err)
	}
	if got := lines(Between(first, second, Options{})); len(got) != 1 || !strings.HasSuffix(got[0], "left ConfigMap ns/kept") {
		t.Errorf("an object that is kept: got %q", got)
	}
	// The deployer's own records count: such an object is not left behind.
	first, second = must(t, fmt.Sprintf(config, "own", "1"), "")
	if c := Between(first, second, Options{}); !c.Empty() {
		t.Errorf("an object of the deployer's own: got %q", lines(c))
	}
}

// must takes two states with an object that the deployer lists and no chart renders.
func must(t *testing.T, text, component string) (first, second *State) {
	t.Helper()
	obj := testkit.Parsed(t, text)
	own := []lane.Object{{GVK: obj.GroupVersionKind(), Namespace: obj.GetNamespace(), Name: obj.GetName(), Release: "web"}}
	e := env(t, "1", nil, map[string]string{text: component})
	first, err := read(t, e, own, nil)
	if err == nil {
		second, err = read(t, e, own, first)
	}
	if err != nil {
		t.Fatal(err)
	}
	return first, second
}

// A pod that is replaced without a change of the template is a roll; one that a smaller number of
// replicas took away is none.
func TestRollsWithoutTemplate(t *testing.T) {
	state := func(replicas int, uids ...string) *lane.Env {
		var pods []*corev1.Pod
		for _, uid := range uids {
			pods = append(pods, podOf("Deployment", "still", "ns", uid, "n"))
		}
		return env(t, "1", pods, map[string]string{fmt.Sprintf(still, 1, replicas): "web"})
	}
	for name, tc := range map[string]struct {
		before, after *lane.Env
		rolls, pods   int
	}{
		"restarted":       {state(2, "a", "b"), state(2, "a", "c"), 1, 1},
		"scaled down":     {state(2, "a", "b"), state(1, "a"), 0, 0},
		"scaled up":       {state(1, "a"), state(2, "a", "b"), 0, 0},
		"down and others": {state(3, "a", "b", "c"), state(2, "x", "y"), 1, 2},
	} {
		first, err := read(t, tc.before, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		second, err := read(t, tc.after, nil, first)
		if err != nil {
			t.Fatal(err)
		}
		if got := Between(first, second, Options{}).Totals(); got.Rolls != tc.rolls || got.Pods != tc.pods {
			t.Errorf("%s: got %+v, want %d rolls of %d pods", name, got, tc.rolls, tc.pods)
		}
	}
}

// What changes in a hook is part of the difference: its image also where the hook is gone once it has
// succeeded, what becomes a hook, and what a chart writes into one; not what is generated anew each time.
func TestHooksChange(t *testing.T) {
	const (
		job    = `{apiVersion: batch/v1, kind: Job, metadata: {namespace: ns, name: job, annotations: {at: "%s"}}, spec: {template: {spec: {containers: [{name: c, image: "%s", args: [%s]}]}}}}`
		config = `{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: cfg}, data: {k: "%s"}}`
	)
	of := func(objects ...string) bundle.Expectation {
		e := bundle.Expectation{Releases: []bundle.Release{{Name: "web", Component: "web", ChartVersion: "1"}}}
		for _, text := range objects {
			text, hook := strings.CutPrefix(text, "hook ")
			text, passes := strings.CutPrefix(text, "passing ")
			e.Objects = append(e.Objects, bundle.Object{Component: "web", Release: "web", Hook: hook || passes, Ephemeral: passes, Object: testkit.Parsed(t, text)})
		}
		return e
	}
	for name, tc := range map[string]struct {
		before, after []string
		want          []string
	}{
		"an image": {
			[]string{"passing " + fmt.Sprintf(job, "1", "job:1", "x")}, []string{"passing " + fmt.Sprintf(job, "2", "job:2", "x")},
			[]string{`changed Job ns/job spec.template.spec.containers[c].image: "job:1" → "job:2"`, "image job:1 → job:2 of [Job ns/job]"},
		},
		"a new hook":        {nil, []string{"passing " + fmt.Sprintf(job, "1", "job:1", "x")}, []string{"image  → job:1 of [Job ns/job]"}},
		"a hook that goes":  {[]string{"passing " + fmt.Sprintf(job, "1", "job:1", "x")}, nil, []string{"image job:1 →  of [Job ns/job]"}},
		"an argument":       {[]string{"hook " + fmt.Sprintf(job, "1", "job:1", "x")}, []string{"hook " + fmt.Sprintf(job, "2", "job:1", "z")}, []string{`changed Job ns/job spec.template.spec.containers[c].args[0]: "x" → "z"`}},
		"the time":          {[]string{"hook " + fmt.Sprintf(job, "1", "job:1", "x")}, []string{"hook " + fmt.Sprintf(job, "2", "job:1", "x")}, nil},
		"a password":        {[]string{"hook " + fmt.Sprintf(secret, "YWFh")}, []string{"hook " + fmt.Sprintf(secret, "YmJi")}, nil},
		"what it writes":    {[]string{"hook " + fmt.Sprintf(config, "1")}, []string{"hook " + fmt.Sprintf(config, "2")}, []string{`changed ConfigMap ns/cfg data.k: "1" → "2"`}},
		"it becomes a hook": {[]string{fmt.Sprintf(secret, "YWFh")}, []string{"hook " + fmt.Sprintf(secret, "YmJiYg==")}, []string{`changed Secret ns/key data.password: "a value of 3 bytes that is not shown" → "a value of 4 bytes that is not shown"`}},
	} {
		c, err := Rendered(of(tc.before...), of(tc.after...), Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) { want(t, c, tc.want...) })
	}
	// In a cluster, a Job that is patched where it is does not run again.
	first, err := read(t, env(t, "1", nil, map[string]string{fmt.Sprintf(config, "1"): "web", "hook " + fmt.Sprintf(hook, "h1"): "web"}), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	first.passing["batch/Job"] = &object{component: "web", ref: lane.Object{Name: "job"}, content: testkit.Parsed(t, fmt.Sprintf(job, "1", "job:1", "x"))}
	second, err := read(t, env(t, "1", nil, map[string]string{fmt.Sprintf(config, "1"): "web", "hook " + fmt.Sprintf(hook, "h2"): "web"}), nil, first)
	if err != nil {
		t.Fatal(err)
	}
	second.passing["batch/Job"] = &object{component: "web", ref: lane.Object{Name: "job"}, content: testkit.Parsed(t, fmt.Sprintf(job, "1", "job:2", "x"))}
	if got := lines(Between(first, second, Options{})); len(got) != 2 || !strings.Contains(got[1], "image job:1 → job:2") {
		t.Errorf("a hook that is gone from the cluster: got %q", got)
	}
}

// The claims of a StatefulSet are rendered by no chart, and are part of the difference: those that stay with
// their data, and those that Kubernetes deletes, whether or not it has done so already.
func TestClaims(t *testing.T) {
	state := func(set string, claims ...string) *lane.Env {
		objects := map[string]string{}
		if set != "" {
			objects[set] = "web"
		}
		for _, name := range claims {
			objects[fmt.Sprintf(`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {namespace: ns, name: %s, uid: %[1]s}}`, name)] = ""
		}
		return env(t, "1", nil, objects)
	}
	set := func(replicas int, policy string) string {
		return fmt.Sprintf(`{apiVersion: apps/v1, kind: StatefulSet, metadata: {namespace: ns, name: db, uid: s}, spec: {replicas: %d, persistentVolumeClaimRetentionPolicy: {%s}, volumeClaimTemplates: [{metadata: {name: data}}]}}`, replicas, policy)
	}
	const scaled = `web 1→1: changed StatefulSet ns/db spec.replicas: 1 → 0`
	for name, tc := range map[string]struct {
		before, after *lane.Env
		want          []string
	}{
		"nothing":        {state(set(1, ""), "data-db-0"), state(set(1, ""), "data-db-0"), nil},
		"it is removed":  {state(set(1, ""), "data-db-0"), state("", "data-db-0"), []string{"left PersistentVolumeClaim ns/data-db-0", "removed StatefulSet ns/db"}},
		"scaled to 0":    {state(set(1, ""), "data-db-0"), state(set(0, ""), "data-db-0"), []string{scaled, "left PersistentVolumeClaim ns/data-db-0"}},
		"more":           {state(set(0, "")), state(set(1, ""), "data-db-0"), []string{"changed StatefulSet ns/db spec.replicas: 0 → 1", "added PersistentVolumeClaim ns/data-db-0"}},
		"deleted":        {state(set(1, "whenScaled: Delete"), "data-db-0"), state(set(0, "whenScaled: Delete")), []string{scaled, "removed PersistentVolumeClaim ns/data-db-0"}},
		"to be deleted":  {state(set(1, "whenScaled: Delete"), "data-db-0"), state(set(0, "whenScaled: Delete"), "data-db-0"), []string{scaled, "removed PersistentVolumeClaim ns/data-db-0"}},
		"removed for it": {state(set(1, "whenDeleted: Delete"), "data-db-0"), state("", "data-db-0"), []string{"removed PersistentVolumeClaim ns/data-db-0", "removed StatefulSet ns/db"}},
		"only scaled":    {state(set(1, "whenDeleted: Delete"), "data-db-0"), state(set(0, "whenDeleted: Delete"), "data-db-0"), []string{scaled, "left PersistentVolumeClaim ns/data-db-0"}},
	} {
		t.Run(name, func(t *testing.T) {
			first, err := read(t, tc.before, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			second, err := read(t, tc.after, nil, first)
			if err != nil {
				t.Fatal(err)
			}
			want(t, Between(first, second, Options{}), tc.want...)
		})
	}
}

// A rendering shows the same, except for what only a cluster knows, and says that it is one.
func TestRendered(t *testing.T) {
	of := func(version string, texts ...string) bundle.Expectation {
		e := bundle.Expectation{Releases: []bundle.Release{{Name: "web", Component: "web", ChartVersion: version}}}
		for _, text := range texts {
			obj := testkit.Parsed(t, text)
			unstructured.RemoveNestedField(obj.Object, "metadata", "uid")
			e.Objects = append(e.Objects, bundle.Object{Component: "web", Release: "web", Object: obj})
		}
		return e
	}
	c, err := Rendered(of("1", web1, driver1, fmt.Sprintf(budget, "maxUnavailable: 0"), fmt.Sprintf(config, "gone", "1")), of("2", web2, driver2, fmt.Sprintf(budget, "maxUnavailable: 0")), Options{From: "old"})
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(lines(c), "\n")
	for _, part := range []string{"rolls Deployment ns/web pods 2 ", "rolls DaemonSet gpu/driver pods 0 nodes 0 each true", "removed ConfigMap ns/gone", "image web:1 → web:2", "maxUnavailable: 0 of [Deployment ns/web]"} {
		if !strings.Contains(got, part) {
			t.Errorf("lacks %s:\n%s", part, got)
		}
	}
	if !c.Rendered {
		t.Error("it does not say that it is a rendering")
	}
	if same, err := Rendered(of("1", web1), of("1", web1), Options{}); err != nil || !same.Empty() {
		t.Errorf("the same rendering: got %q, %v", lines(same), err)
	}
}

// Values that look like a secret are not shown, wherever a chart puts them; names of Secrets are.
func TestVeiled(t *testing.T) {
	for _, tc := range []struct {
		path, value string
		hidden      bool
	}{
		{"data.password", `"x"`, true}, {"data.config", `line 3 "token: abc"`, true}, {"spec.args[2]", `"--api-key=abc"`, true}, {"data.url", `"postgres://a:b@c/d"`, true},
		{"data.ca", `"-----BEGIN CERTIFICATE-----"`, true}, {"spec.containers[a].env[API_TOKEN].value", `"x"`, true},
		{"spec.volumes[a].secret.secretName", `"tls"`, false}, {"spec.containers[a].env[P].valueFrom.secretKeyRef.name", `"s"`, false}, {"spec.containers[a].image", `"a:1"`, false},
		{"spec.automountServiceAccountToken", "true", false}, {"data.password", "nothing", false},
	} {
		got := Veiled(result.FieldChange{Path: tc.path, From: tc.value, To: tc.value})
		if (got.From == notShown) != tc.hidden || got.From != got.To {
			t.Errorf("%s: %s is shown as %s", tc.path, tc.value, got.From)
		}
	}
}

func TestOlder(t *testing.T) {
	for _, c := range []struct {
		one, other string
		want       bool
	}{
		{"v1.2.0", "1.10.0", true}, {"1.10.0", "v1.2.0", false}, {"v1.2.0", "1.2.0", false}, {"1.2.0-rc.1", "1.2.0", true}, {"main", "1.0.0", false}, {"1.0.0", "main", false}, {"", "1.0.0", false},
	} {
		if got := older(c.one, c.other); got != c.want {
			t.Errorf("%s before %s: got %v", c.one, c.other, got)
		}
	}
}

// An image that another workload had before is not new, and one that another has now is still used. The
// scope of a definition is a difference of its rendering, which has no schemas.
func TestRendered_SameImage(t *testing.T) {
	workload := func(kind, name string) bundle.Object {
		return bundle.Object{Component: "web", Release: "web", Object: testkit.Parsed(t, "{apiVersion: apps/v1, kind: "+kind+", metadata: {namespace: ns, name: "+name+"}, spec: {template: {spec: {containers: [{name: c, image: \"c:1\"}]}}}}")}
	}
	definition := func(scope string) bundle.Object {
		return bundle.Object{Component: "web", Release: "web", Object: testkit.Parsed(t, "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: a.b.c}, spec: {scope: "+scope+", versions: [{name: v1}]}}")}
	}
	of := func(objects ...bundle.Object) bundle.Expectation {
		return bundle.Expectation{Releases: []bundle.Release{{Name: "web", Component: "web", ChartVersion: "1"}}, Objects: objects}
	}
	c, err := Rendered(of(workload("Deployment", "agent"), definition("Namespaced")), of(workload("DaemonSet", "agent"), definition("Cluster")), Options{})
	if err != nil {
		t.Fatal(err)
	}
	want(t, c, "removed Deployment ns/agent", "added DaemonSet ns/agent", `crd {"name":"a.b.c","rules":true}`)
}
