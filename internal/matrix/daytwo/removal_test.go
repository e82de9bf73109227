package daytwo

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	discoveryfake "k8s.io/client-go/discovery/fake"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/testkit/lanetest"
)

// removing is a lane that removes for a while, and then says something.
type removing struct {
	lanetest.Lane
	takes time.Duration
	says  error
}

func (l *removing) Remove(ctx context.Context, _ *lane.Env, _ time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(l.takes):
		return l.says
	}
}

const (
	gone     = `metadata: {namespace: b, name: x, deletionTimestamp: "2026-01-01T00:00:00Z"`
	closedBy = `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: hook}, webhooks: [{name: b.example.com, clientConfig: {service: {namespace: b, name: web}}, rules: [{apiGroups: [apps], resources: [deployments]}]}]}`
)

// What only stays is a list, and what blocks is LEFT_BEHIND: in 20 s where it is certain.
func TestLeftover(t *testing.T) {
	const hour = time.Hour
	for name, test := range map[string]struct {
		objects []string // the first is the expectation's
		hook    bool
		takes   time.Duration
		says    error
		want    reason.Reason
		text    string
		within  time.Duration
	}{
		"nothing":     {within: 5 * time.Second},
		"stays":       {objects: []string{`{apiVersion: v1, kind: ConfigMap, metadata: {namespace: b, name: x}}`}, text: "not deleted: b/x", within: 5 * time.Second},
		"kept":        {objects: []string{`{apiVersion: v1, kind: ConfigMap, metadata: {namespace: b, name: x, annotations: {helm.sh/resource-policy: keep}}}`}, text: "kept by the annotation helm.sh/resource-policy: b/x", within: 5 * time.Second},
		"no delete":   {objects: []string{`{apiVersion: v1, kind: ConfigMap, metadata: {namespace: b, name: x, annotations: {argocd.argoproj.io/sync-options: "Prune=false, Delete=false"}}}`}, text: "kept by the annotation argocd.argoproj.io/sync-options: b/x", within: 5 * time.Second},
		"hook":        {objects: []string{`{apiVersion: v1, kind: ConfigMap, metadata: {namespace: b, name: x}}`}, hook: true, text: "of hooks, which the deployer does not delete: b/x", within: 5 * time.Second},
		"claim":       {objects: []string{`{apiVersion: v1, kind: Secret, metadata: {namespace: other, name: x}}`, `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {namespace: b, name: data}}`}, text: "claims with their data: b/data", within: 5 * time.Second},
		"finalizer":   {objects: []string{`{apiVersion: v1, kind: ConfigMap, ` + gone + `, finalizers: [example.com/cleanup]}}`}, takes: hour, want: reason.LeftBehind, text: "ConfigMap b/x is being deleted for ever: it has the finalizer example.com/cleanup", within: 30 * time.Second},
		"operator's":  {objects: []string{`{apiVersion: v1, kind: ConfigMap, ` + gone + `, finalizers: [tools.nvidia.com/cleanup]}}`}, takes: hour, text: "whether an operator of nvidia.com, which is only simulated here, removes it is not verified", within: 30 * time.Second},
		"does not go": {objects: []string{`{apiVersion: v1, kind: ConfigMap, ` + gone + `, finalizers: [foregroundDeletion]}}`}, want: reason.LeftBehind, text: "ConfigMap b/x is being deleted and does not go", within: 3 * time.Minute},
		"namespace":   {objects: []string{`{apiVersion: v1, kind: Namespace, metadata: {name: b, deletionTimestamp: "2026-01-01T00:00:00Z"}, status: {conditions: [{type: NamespaceContentRemaining, status: "True", message: "widgets remain"}]}}`}, want: reason.LeftBehind, text: "Namespace b is being deleted for ever: widgets remain", within: 3 * time.Minute},
		"webhook":     {objects: []string{closedBy}, want: reason.LeftBehind, text: "ValidatingWebhookConfiguration hook stays, and its webhook b.example.com fails closed: its Service b/web is gone, so that the API server refuses every request for deployments.apps", within: 5 * time.Second},
		"served":      {objects: []string{closedBy, `{apiVersion: v1, kind: Service, metadata: {namespace: b, name: web}}`}, text: "not deleted: hook", within: 5 * time.Second},
		"fails":       {says: reason.New(reason.DeployFailed, "pre-delete hook failed"), want: reason.LeftBehind, text: "the deployer did not remove the bundle: pre-delete hook failed", within: 5 * time.Second},
		"machine":     {says: reason.New(reason.ClusterFailed, "no answer"), want: reason.ClusterFailed, text: "no answer", within: 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				run := Removal{Env: clusterOf(t, test.hook, test.objects...), Lane: &removing{takes: test.takes, says: test.says}, Budget: time.Minute}
				lines, _, err := run.Do(t.Context())
				text := strings.Join(lines, "\n")
				if err != nil {
					text = err.Error()
				}
				if reason.Of(err) != test.want || !strings.Contains(text, test.text) || test.text == "" && text != "" {
					t.Errorf("got %s %q, want %s %q", reason.Of(err), text, test.want, test.text)
				}
				if took := time.Since(began); took > test.within {
					t.Errorf("it took %s, want %s at most", took, test.within)
				}
			})
		})
	}
}

// A hook whose pod no node takes is waited for in vain, whoever waits.
func TestFarewell(t *testing.T) {
	for annotation, want := range map[string]reason.Reason{"helm.sh/hook: pre-delete": reason.LeftBehind, "helm.sh/hook: pre-install": "", "argocd.argoproj.io/hook: 'PreDelete, Sync'": reason.LeftBehind} {
		synctest.Test(t, func(t *testing.T) {
			env := clusterOf(t, true, `{apiVersion: batch/v1, kind: Job, metadata: {namespace: b, name: bye, annotations: {`+annotation+`}}}`)
			env.Bundle.Expectation.Releases = []bundle.Release{{Name: "b", Namespace: "b", Component: "b"}}
			pod := testkit.Pod("bye-1", "Job", "bye", "", testkit.Refused("0/6 nodes are available"))
			pod.Namespace, pod.Labels = "b", map[string]string{"batch.kubernetes.io/job-name": "bye"}
			if _, err := env.Clients.Kube.CoreV1().Pods("b").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			_, _, err := (&Removal{Env: env, Lane: &removing{takes: time.Minute}, Budget: 5 * time.Minute}).Do(t.Context())
			if reason.Of(err) != want || want != "" && (!strings.Contains(err.Error(), "the removal: Job b/bye, a hook (") || !strings.Contains(err.Error(), ") of release b, cannot run: 0/6 nodes are available") || time.Since(began) > 15*time.Second) {
				t.Errorf("%s: got %v after %s", annotation, err, time.Since(began))
			}
		})
	}
}

// The API server may reject the hook's pods: there is none that the scheduler could speak of.
func TestFarewell_Rejected(t *testing.T) {
	for name, tc := range map[string]struct {
		of   types.UID
		want reason.Reason
	}{"the hook's": {"u", reason.LeftBehind}, "of an earlier Job": {"other", ""}} {
		synctest.Test(t, func(t *testing.T) {
			env := clusterOf(t, true, `{apiVersion: batch/v1, kind: Job, metadata: {namespace: b, name: bye, uid: u, annotations: {helm.sh/hook: pre-delete}}}`)
			env.Bundle.Expectation.Releases = []bundle.Release{{Name: "b", Namespace: "b", Component: "b"}}
			event := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "b", Name: "bye.1"}, InvolvedObject: corev1.ObjectReference{Kind: "Job", Name: "bye", UID: tc.of}, Reason: "FailedCreate", Message: `Error creating: pods "bye-" is forbidden: error looking up service account b/gone: serviceaccount "gone" not found`}
			if _, err := env.Clients.Kube.CoreV1().Events("b").Create(t.Context(), event, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			_, _, err := (&Removal{Env: env, Lane: &removing{takes: time.Minute}, Budget: 5 * time.Minute}).Do(t.Context())
			if reason.Of(err) != tc.want || tc.want != "" && !strings.Contains(err.Error(), `of release b, cannot run: the API server rejects its pods: pods "bye-" is forbidden: error looking up service account b/gone`) {
				t.Errorf("%s: got %v", name, err)
			}
		})
	}
}

// Argo CD may go on although the hook has no node: it did not run.
func TestFarewell_Unrun(t *testing.T) {
	for name, want := range map[string]reason.Reason{"it goes": reason.LeftBehind, "it gets a node": ""} {
		synctest.Test(t, func(t *testing.T) {
			env := clusterOf(t, true, `{apiVersion: batch/v1, kind: Job, metadata: {namespace: b, name: bye, annotations: {helm.sh/hook: pre-delete}}}`)
			env.Bundle.Expectation.Releases = []bundle.Release{{Name: "b", Namespace: "b"}}
			pod := testkit.Pod("bye-1", "Job", "bye", "", testkit.Refused("0/6 nodes are available"))
			pod.Namespace, pod.Labels = "b", map[string]string{"batch.kubernetes.io/job-name": "bye"}
			kube := env.Clients.Kube
			if _, err := kube.CoreV1().Pods("b").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			time.AfterFunc(5*time.Second, func() {
				if want == "" {
					pod.Status.Conditions = nil
					_, _ = kube.CoreV1().Pods("b").UpdateStatus(context.Background(), pod, metav1.UpdateOptions{})
					return
				}
				_ = kube.BatchV1().Jobs("b").Delete(context.Background(), "bye", metav1.DeleteOptions{})
			})
			_, _, err := (&Removal{Env: env, Lane: &removing{takes: 9 * time.Second}, Budget: time.Minute}).Do(t.Context())
			if reason.Of(err) != want {
				t.Errorf("%s: got %v", name, err)
			}
		})
	}
}

// A race that was won is a warning, in Flux's lanes.
func TestRaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		env := clusterOf(t, false)
		for release, text := range map[string]string{"a": `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.x.y}, spec: {group: x.y, names: {kind: Widget}}}`, "b": `{apiVersion: x.y/v1, kind: Widget, metadata: {namespace: b, name: one}}`} {
			env.Bundle.Expectation.Objects = append(env.Bundle.Expectation.Objects, bundle.Object{Release: release, Component: release, Object: testkit.Parsed(t, text)})
		}
		_, warnings, err := (&Removal{Env: env, Lane: &fluxLane{}, Budget: time.Minute}).Do(t.Context())
		if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0].Cause, "remove component b first") {
			t.Errorf("got %v, %v", warnings, err)
		}
	})
}

// fluxLane removes at once.
type fluxLane struct{ removing }

func (*fluxLane) Controllers() []infra.ControllerKind {
	return []infra.ControllerKind{infra.FluxControllers}
}

// uninstalling is a lane that removes with helm uninstall.
type uninstalling struct{ removing }

func (*uninstalling) Order(*lane.Env) lane.Order { return lane.Order{Uninstalls: true} }

// What Helm cannot delete is LEFT_BEHIND though the simulated webhook lets it go; controllers try again.
func TestLeftover_Guarded(t *testing.T) {
	closed := strings.Replace(closedBy, "rules: [{", "rules: [{apiVersions: [v1], operations: [DELETE], ", 1)
	for _, tc := range []struct {
		lane lane.Lane
		want reason.Reason
	}{{&uninstalling{}, reason.LeftBehind}, {&removing{}, ""}} {
		synctest.Test(t, func(t *testing.T) {
			env := clusterOf(t, false)
			env.Bundle.Expectation.Releases = []bundle.Release{{Name: "b", Namespace: "b"}}
			for _, text := range []string{`{apiVersion: v1, kind: Service, metadata: {namespace: b, name: web}}`, `{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: b, name: web}}`, closed} {
				env.Bundle.Expectation.Objects = append(env.Bundle.Expectation.Objects, bundle.Object{Release: "b", Object: testkit.Parsed(t, text)})
			}
			_, _, err := (&Removal{Env: env, Lane: tc.lane, Budget: time.Minute}).Do(t.Context())
			if reason.Of(err) != tc.want {
				t.Errorf("%T: got %v, want %q", tc.lane, err, tc.want)
			}
		})
	}
}

// clusterOf has these objects, of which the first is a chart's, beside a definition of nvidia.com
// that is gone.
func clusterOf(t *testing.T, hook bool, texts ...string) *lane.Env {
	t.Helper()
	e := bundle.Expectation{Objects: []bundle.Object{{Object: testkit.Parsed(t, `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: gpus.nvidia.com}, spec: {group: nvidia.com}}`)}}}
	var typed, untyped []runtime.Object
	for i, text := range texts {
		obj := testkit.Parsed(t, text)
		untyped = append(untyped, obj)
		if i == 0 {
			e.Objects = append(e.Objects, bundle.Object{Object: obj, Hook: hook})
		}
		one, err := scheme.Scheme.New(obj.GroupVersionKind())
		if err != nil {
			t.Fatal(err)
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, one); err != nil {
			t.Fatal(err)
		}
		typed = append(typed, one)
	}
	kube := fake.NewClientset(typed...)
	served := kube.Discovery().(*discoveryfake.FakeDiscovery)
	served.Resources = []*metav1.APIResourceList{
		{GroupVersion: "v1", APIResources: []metav1.APIResource{{Name: "configmaps", Kind: "ConfigMap", Namespaced: true}, {Name: "namespaces", Kind: "Namespace"}}},
		{GroupVersion: "admissionregistration.k8s.io/v1", APIResources: []metav1.APIResource{{Name: "validatingwebhookconfigurations", Kind: "ValidatingWebhookConfiguration"}}},
	}
	return &lane.Env{Clients: &infra.Clients{Kube: kube, Dynamic: dynamicfake.NewSimpleDynamicClient(scheme.Scheme, untyped...), Discovery: served}, Bundle: &bundle.Bundle{Expectation: e}}
}

// Which finalizers something here removes, and which an operator might.
func TestLeaving(t *testing.T) {
	e := bundle.Expectation{Objects: []bundle.Object{{Object: &unstructured.Unstructured{Object: map[string]any{"kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "skyhooks.skyhook.nvidia.com"}}}}}}
	for finalizer, want := range map[string]string{
		"kubernetes.io/pvc-protection": "kubernetes", "foregroundDeletion": "kubernetes", "orphan": "kubernetes", "finalizers.fluxcd.io": "kubernetes",
		"resources-finalizer.argocd.argoproj.io": "kubernetes", "customresourcecleanup.apiextensions.k8s.io": "kubernetes", "argocd.argoproj.io/hook-finalizer": "kubernetes",
		"service.kubernetes.io/load-balancer-cleanup": "kubernetes",
		"nvidia.com/gpu": "skyhook.nvidia.com", "example.com/cleanup": "",
	} {
		got := operatorOf(finalizer, e)
		if kubernetesOwn(finalizer) {
			got = "kubernetes"
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", finalizer, got, want)
		}
	}
}
