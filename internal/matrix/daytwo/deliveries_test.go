package daytwo

import (
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	dynamicfake "k8s.io/client-go/dynamic/fake"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/testkit/lanetest"
)

// bundleOf renders these objects in release b, or in the release that stands before one as "b2 ".
func bundleOf(t *testing.T, texts ...string) *bundle.Bundle {
	t.Helper()
	b := &bundle.Bundle{}
	seen := map[string]bool{}
	for _, text := range texts {
		release, object := "b", text
		if !strings.HasPrefix(text, "{") {
			release, object, _ = strings.Cut(text, " ")
		}
		hook := strings.HasPrefix(release, "hook-")
		b.Expectation.Objects = append(b.Expectation.Objects, bundle.Object{Component: release, Release: release, Hook: hook, Template: release + "/templates/x.yaml", Object: testkit.Parsed(t, object)})
		if !seen[release] {
			seen[release] = true
			b.Expectation.Releases = append(b.Expectation.Releases, bundle.Release{Name: release, Component: release, Namespace: "ns-" + release})
		}
	}
	return b
}

func envWith(t *testing.T, live ...string) *lane.Env {
	t.Helper()
	var objects []runtime.Object
	for _, text := range live {
		objects = append(objects, testkit.Parsed(t, text))
	}
	return &lane.Env{Clients: &infra.Clients{Dynamic: dynamicfake.NewSimpleDynamicClient(runtime.NewScheme(), objects...)}, Tell: func(string) {}}
}

// What an operator wrote must be there after the delivery. A Secret that is rendered empty is filled
// as an operator would, and is as before afterwards. No value is ever in a message.
func TestFilled(t *testing.T) {
	secret := func(data string) string {
		return `{apiVersion: v1, kind: Secret, metadata: {namespace: ns, name: certs, uid: u}, data: ` + data + `}`
	}
	for name, tc := range map[string]struct {
		old, now, live, after string // after: what the delivery makes of it; empty: nothing
		note                  bool
		want, story           string
	}{
		"an operator's stays":  {old: secret("{}"), now: secret("{}"), live: secret("{tls.crt: c2VjcmV0}"), after: ""},
		"an operator's, gone":  {old: secret("{}"), now: secret("{}"), live: secret("{tls.crt: c2VjcmV0}"), after: secret("{}"), want: "the upgrade empties Secret ns/certs: data[tls.crt] had 6 bytes, which no chart rendered, and has none now", story: "replaced all of its data"},
		"rendered empty":       {old: secret(`{tls.crt: ""}`), now: secret(`{tls.crt: ""}`), live: secret(`{tls.crt: ""}`), after: secret(`{tls.crt: ""}`), note: true, want: "data[tls.crt] had 22 bytes", story: "renders it without a value"},
		"no longer rendered":   {old: secret(`{tls.crt: ""}`), now: secret("{}"), live: secret(`{tls.crt: ""}`), after: secret(`{}`), note: true, want: "data[tls.crt] had 22 bytes", story: "the old template renders it and the new one does not"},
		"created again":        {old: secret("{}"), now: secret("{}"), live: secret("{}"), after: strings.Replace(secret("{}"), "uid: u", "uid: v", 1), note: true, want: "data[operator] had 22 bytes", story: "deleted and created again"},
		"kept":                 {old: secret("{}"), now: secret("{}"), live: secret("{}"), note: true},
		"the chart's own":      {old: secret("{a: YQ==}"), now: secret(`{a: ""}`), live: secret("{a: YQ==}"), after: secret(`{a: ""}`)},
		"the chart's own now":  {old: secret("{}"), now: secret("{a: YQ==}"), live: secret("{a: c2VjcmV0}"), after: secret("{a: YQ==}")},
		"Kubernetes' own kind": {old: secret("{}"), now: secret("{}"), live: strings.Replace(secret("{}"), "kind: Secret,", "kind: Secret, type: kubernetes.io/service-account-token,", 1)},
	} {
		t.Run(name, func(t *testing.T) {
			env := envWith(t, tc.live)
			filled, err := Fill(t.Context(), env, &lanetest.Lane{}, Bundles{Before: bundleOf(t, tc.old), Now: bundleOf(t, tc.now)})
			if err != nil {
				t.Fatal(err)
			}
			if (len(filled.Notes()) > 0) != tc.note {
				t.Errorf("got the notes %q, want some: %t", filled.Notes(), tc.note)
			}
			secrets := env.Clients.Dynamic.Resource(corev1.SchemeGroupVersion.WithResource("secrets")).Namespace("ns")
			if tc.after != "" {
				if _, err := secrets.Update(t.Context(), testkit.Parsed(t, tc.after), metav1.UpdateOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			err = filled.Taken(t.Context(), env, &lanetest.Lane{}, "the upgrade", reason.UpgradeDiverged)
			if v := result.VerdictOf(err); tc.want == "" && err != nil || tc.want != "" && (v.Reason != reason.UpgradeDiverged || !strings.Contains(v.Cause, tc.want) || !strings.Contains(strings.Join(v.Details, "\n"), tc.story)) {
				t.Errorf("got %s: %s\n%q\nwant %q, %q", v.Reason, v.Cause, v.Details, tc.want, tc.story)
			}
			live, err := secrets.Get(t.Context(), "certs", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if n := lengths(live)["operator"]; tc.want == "" && n > 0 {
				t.Errorf("what this program wrote is still there: %v", live.Object)
			}
		})
	}
	var none *Filled
	if err := none.Taken(t.Context(), nil, nil, "", ""); err != nil || none.Notes() != nil {
		t.Errorf("nothing filled: got %v", err)
	}
}

const definition = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.x.y, uid: u}}`

// An object that another release has now and that the delivery deleted is the cause of whatever
// follows. One that stays is not.
func TestMoved(t *testing.T) {
	moved := Bundles{Before: bundleOf(t, "a "+definition), Now: bundleOf(t, "a {apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: x}}", "crds "+definition)}
	uid := func(result.Ref) types.UID { return "u" }
	failed := reason.New(reason.DeployFailed, "no matches for kind")
	gone := Lost(t.Context(), "the upgrade from main", failed, envWith(t), moved, uid)
	v := result.VerdictOf(gone)
	testkit.WantText(t, "cause", v.Cause, "the upgrade from main: CustomResourceDefinition widgets.x.y was deleted, and every object of its kind in the cluster with it: release a had it and has it no more, release crds has it now")
	testkit.WantText(t, "details", strings.Join(v.Details, "\n"), "no matches for kind", "annotate it helm.sh/resource-policy=keep in the cluster before the upgrade")
	if v.Reason != reason.UpgradeFailed {
		t.Errorf("got %s", v.Reason)
	}
	again := Lost(t.Context(), "the upgrade", failed, envWith(t, strings.Replace(definition, "uid: u", "uid: v", 1)), moved, uid)
	testkit.WantText(t, "cause", result.VerdictOf(again).Cause, "was deleted")
	if err := Lost(t.Context(), "the upgrade", failed, envWith(t, definition), moved, uid); err == nil || err.Error() != failed.Error() {
		t.Errorf("what stays: got %v, want the error that it was", err)
	}
	if err := Lost(t.Context(), "the upgrade", failed, envWith(t), Bundles{Before: moved.Before, Now: bundleOf(t, "a "+definition)}, uid); err == nil || err.Error() != failed.Error() {
		t.Errorf("what is not moved: got %v, want the error that it was", err)
	}
	crash := reason.New(reason.ClusterFailed, "gone")
	if err := Lost(t.Context(), "the upgrade", crash, envWith(t), moved, uid); err == nil || err.Error() != crash.Error() {
		t.Errorf("got %v, want the machine's error to stay", err)
	}
	removed := Bundles{Before: moved.Before, Now: bundleOf(t, "crds "+definition)}
	testkit.WantText(t, "details", strings.Join(result.VerdictOf(Lost(t.Context(), "the upgrade", failed, envWith(t), removed, uid)).Details, "\n"), "before the component is removed")
	ref := moved.Now.Expectation.Objects[1].Ref()
	testkit.WantText(t, "recreated", result.VerdictOf(moved.Recreated("the upgrade", []result.Ref{ref})).Cause, "the upgrade: CustomResourceDefinition widgets.x.y was deleted, and every object of its kind")
	if err := moved.Recreated("the upgrade", []result.Ref{{Kind: "ConfigMap", Namespace: "ns", Name: "x"}}); err != nil {
		t.Errorf("a ConfigMap holds nothing: got %v", err)
	}
}

// A hook that is missing after an upgrade, since it runs at installation only, is named as such.
func TestNotRun(t *testing.T) {
	hook := func(events string) string {
		return `hook-b {apiVersion: x.y/v1, kind: Widget, metadata: {namespace: ns, name: w, annotations: {helm.sh/hook: "` + events + `"}}}`
	}
	ref := result.Ref{Group: "x.y", Kind: "Widget", Namespace: "ns", Name: "w"}
	missing := &reason.Error{Reason: reason.DeployFailed, Err: result.NewFailure(result.Finding{Object: &ref, Cause: "does not exist"})}
	before := bundleOf(t, "hook-b {apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: x}}")
	for events, want := range map[string]bool{"post-install": true, "post-install,post-upgrade": false} {
		v := result.VerdictOf(Failed(UpgradeFrom("main"), missing, Bundles{Before: before, Now: bundleOf(t, hook(events))}, nil))
		if got := strings.Contains(strings.Join(v.Details, "\n"), "is a hook that runs at installation only (post-install), and release hook-b was installed before it had it; add post-upgrade in hook-b/templates/x.yaml"); got != want {
			t.Errorf("%s: got %q", events, v.Details)
		}
	}
}

// What becomes a hook that runs before the upgrade is removed after it: the release has it no more.
func TestNotRun_OrdinaryBefore(t *testing.T) {
	object := func(name, annotations string) string {
		return name + ` {apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: w, annotations: {` + annotations + `}}}`
	}
	ref := result.Ref{Kind: "ConfigMap", Namespace: "ns", Name: "w"}
	missing := &reason.Error{Reason: reason.DeployFailed, Err: result.NewFailure(result.Finding{Object: &ref, Cause: "does not exist"})}
	now := bundleOf(t, object("hook-b", `helm.sh/hook: "pre-install,pre-upgrade"`))
	for name, want := range map[string]bool{"hook-b": false, "b": true} {
		before := bundleOf(t, object(name, ""))
		before.Expectation.Objects[0].Release = now.Expectation.Objects[0].Release
		v := result.VerdictOf(Failed(UpgradeFrom("main"), missing, Bundles{Before: before, Now: now}, nil))
		if got := strings.Contains(strings.Join(v.Details, "\n"), "and is a hook now (pre-install,pre-upgrade): Helm runs the hook, and then removes"); got != want {
			t.Errorf("%s: got %q", name, v.Details)
		}
	}
}

// A definition that moves from a chart's templates into its crds/ is one that Helm removes: it may be on
// its way out still.
func TestMoved_IntoCRDs(t *testing.T) {
	b := Bundles{Before: bundleOf(t, "a "+definition), Now: bundleOf(t, "a "+definition)}
	failed := reason.New(reason.DeployFailed, "create not allowed while custom resource definition is terminating")
	uid := func(result.Ref) types.UID { return "u" }
	leaving := strings.Replace(definition, "uid: u", "uid: u, finalizers: [x/y], deletionTimestamp: \"2026-01-01T00:00:00Z\"", 1)
	if err := Lost(t.Context(), "the upgrade", failed, envWith(t, leaving), b, uid); err.Error() != failed.Error() {
		t.Errorf("among the templates before and now: got %v, want the error that it was", err)
	}
	b.Now.Expectation.Objects[0].Template = "a/crds/x.yaml"
	v := result.VerdictOf(Lost(t.Context(), "the upgrade", failed, envWith(t, leaving), b, uid))
	testkit.WantText(t, "cause", v.Cause, "the upgrade: CustomResourceDefinition widgets.x.y was deleted, and every object of its kind in the cluster with it: the chart of release a had it in its templates and has it in crds/ now")
	testkit.WantText(t, "details", strings.Join(v.Details, "\n"), "annotate it helm.sh/resource-policy=keep in the cluster before the upgrade")
}

// A new pod that waits for its own old pod's room is the upgrade's fault. One that would not fit
// without it, or whose old pods go first, is not.
func TestStandoff(t *testing.T) {
	eight := corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("8"), "pods": resource.MustParse("110")}
	for name, tc := range map[string]struct {
		missing string // maxUnavailable
		holder  string // the template of the pod that has the GPUs
		want    reason.Reason
	}{
		"stuck":             {"25%", "old", reason.UpgradeFailed},
		"one may be absent": {"1", "old", reason.SchedulingFailed},
		"another's":         {"25%", "", reason.SchedulingFailed},
	} {
		t.Run(name, func(t *testing.T) {
			yes, one, surge, missing := true, int32(1), intstr.FromString("25%"), intstr.Parse(tc.missing)
			pod := func(name, template, node string) *corev1.Pod {
				p := &corev1.Pod{
					ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name), Labels: map[string]string{appsv1.DefaultDeploymentUniqueLabelKey: template}},
					Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Limits: eight, Requests: corev1.ResourceList{"nvidia.com/gpu": eight["nvidia.com/gpu"]}}}}},
				}
				if template != "" {
					p.OwnerReferences = []metav1.OwnerReference{{Kind: "Deployment", Name: "web", UID: "d", Controller: &yes}}
				}
				return p
			}
			waiting := pod("new", "new", "")
			waiting.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."}}
			view := lanetest.ViewOf(t, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Status: corev1.NodeStatus{Capacity: eight, Allocatable: eight}}, waiting, pod("holder", tc.holder, "n"), pod("spare", "old", "elsewhere"),
				&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "d"}, Spec: appsv1.DeploymentSpec{Replicas: &one, Strategy: appsv1.DeploymentStrategy{RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &surge, MaxUnavailable: &missing}}}})
			b := Bundles{Before: &bundle.Bundle{}, Now: bundleOf(t, "{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: ns, name: web}}")}
			b.Now.Expectation.Workloads = []bundle.Workload{{Component: "b", Kind: "Deployment", Namespace: "ns", Name: "web", Replicas: 1, Node: bundle.NodeAny}}
			ref := result.Ref{Group: "apps", Kind: "Deployment", Namespace: "ns", Name: "web"}
			err := &reason.Error{Reason: reason.SchedulingFailed, Err: result.NewFailure(result.Finding{Object: &ref, Cause: "no node"})}
			v := result.VerdictOf(Failed(UpgradeFrom("main"), err, b, view))
			if v.Reason != tc.want {
				t.Fatalf("got %s: %s, want %s", v.Reason, v.Cause, tc.want)
			}
			if tc.want == reason.UpgradeFailed {
				testkit.WantText(t, "cause", v.Cause, "the upgrade from main: no node; its rolling update (maxSurge 25%, maxUnavailable 25%; pods: 1) removes no old pod", "room of ns/holder")
				testkit.WantText(t, "edit", v.Details[0], "strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}", "in b/templates/x.yaml")
			}
		})
	}
}

// A template is no YAML: the line of a field is the first such key behind those above it, in the one
// document of the kind, or the line of what is above it; none if that is not clear.
func TestPlace(t *testing.T) {
	text := `{{- if .Values.x }}
apiVersion: v1
kind: Service
spec: {selector: {a: b}}
{{- end }}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  {{- with .Values.y }}
  strategy: {type: Recreate}
  {{- end }}
---
kind: Deployment
metadata:
  name: other
`
	b := bundleOf(t, "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}}")
	b.Installs = []bundle.Install{{Release: bundle.Release{Name: "b"}, Chart: &chart.Chart{Metadata: &chart.Metadata{Name: "b"}, Templates: []*chart.File{{Name: "templates/x.yaml", Data: []byte(text)}}}}}
	o := &b.Expectation.Objects[0]
	for path, want := range map[string]string{"": ":8", "spec": ":11", "spec.strategy": ":13", "spec.nothing": ":11"} {
		if got := place(b, o, path); got != "b/templates/x.yaml"+want {
			t.Errorf("%q: got %s, want line %s", path, got, want)
		}
	}
	o.Object.SetName("third")
	if got := place(b, o, "spec"); got != "b/templates/x.yaml" {
		t.Errorf("got %s, want no line: two Deployments, neither of that name", got)
	}
	o.Manifest = &recipe.Manifest{File: "recipes/components/b/x.yaml", Content: []byte(text)} // b's template is made of it
	o.Object.SetName("web")
	if got := place(b, o, "spec.strategy"); got != "recipes/components/b/x.yaml:13" {
		t.Errorf("got %s, want the manifest's line", got)
	}
}
