package argocd

import (
	"io"
	"log/slog"
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/argoapi"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/testkit/lanetest"
)

// applicationSet has these conditions with their messages, Applications and elements.
func applicationSet(conditions map[string]string, apps []any, elements ...any) *unstructured.Unstructured {
	var list, resources []any
	for name, message := range conditions {
		list = append(list, map[string]any{"type": name, "status": "True", "message": message})
	}
	for _, a := range apps {
		resources = append(resources, map[string]any{"kind": "Application", "name": a})
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet",
		"metadata": map[string]any{"name": argoapi.AppSetName, "namespace": infra.ArgoCDNamespace},
		"spec": map[string]any{"generators": []any{map[string]any{"matrix": map[string]any{"generators": []any{
			map[string]any{"list": map[string]any{"elements": elements}},
			map[string]any{"clusters": map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"environment": "gpu-enabled"}}}},
		}}}}},
		"status": map[string]any{"conditions": list, "resources": resources},
	}}
}

func inWave(wave string, app *unstructured.Unstructured) *unstructured.Unstructured {
	app.SetLabels(map[string]string{argoapi.WaveLabel: wave})
	return app
}

// neverSynced is an Application that Argo CD has found Synced from the first comparison on.
func neverSynced(name string) *unstructured.Unstructured {
	app := application(name, appStatus{sync: "Synced", health: "Healthy"})
	if err := unstructured.SetNestedField(app.Object, "r", "status", "sync", "revision"); err != nil {
		panic(err) // it is a map
	}
	unstructured.RemoveNestedField(app.Object, "status", "operationState")
	return app
}

func TestAppSetPoll(t *testing.T) {
	const upToDate, failed = "ResourcesUpToDate", "ErrorOccurred"
	good := appStatus{sync: "Synced", health: "Healthy", phase: "Succeeded"}
	open := appStatus{sync: "OutOfSync", health: "Missing"}
	element := map[string]any{"component": "a"}
	three := []any{"a", "b", "c"}
	cluster := func(labels map[string]string) *corev1.Secret {
		all := map[string]string{"argocd.argoproj.io/secret-type": "cluster"}
		maps.Copy(all, labels)
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "in-cluster", Namespace: infra.ArgoCDNamespace, Labels: all}}
	}
	enabled := map[string]string{"environment": "gpu-enabled"}
	for name, tc := range map[string]struct {
		objects []runtime.Object
		cluster map[string]string
		want    []string
		text    []string // of the item that is not good, the first one
	}{
		"not there": {want: []string{"aicr-stack waiting", "a waiting", "b waiting", "c waiting"}, text: []string{"does not exist yet"}},
		"not looked at yet": {
			objects: []runtime.Object{applicationSet(nil, nil, element)},
			want:    []string{"aicr-stack waiting", "a waiting", "b waiting", "c waiting"}, text: []string{"generated 0 applications"},
		},
		"no cluster has the label": {
			objects: []runtime.Object{applicationSet(map[string]string{upToDate: ""}, nil, element)}, cluster: map[string]string{"environment": "cpu"},
			want: []string{"aicr-stack failed", "a blocked", "b blocked", "c blocked"},
			text: []string{"generated 0 applications: no cluster has the label environment=gpu-enabled (registered by Secret: in-cluster)", "local-cluster-secret.yaml"},
		},
		"the controller has not seen the cluster yet": {
			objects: []runtime.Object{applicationSet(map[string]string{upToDate: ""}, nil, element)}, cluster: enabled,
			want: []string{"aicr-stack waiting", "a waiting", "b waiting", "c waiting"}, text: []string{"generated 0 applications"},
		},
		"no elements": {
			objects: []runtime.Object{applicationSet(map[string]string{upToDate: ""}, nil)}, cluster: enabled,
			want: []string{"aicr-stack failed", "a blocked", "b blocked", "c blocked"}, text: []string{"generated 0 applications: its list generator has no elements"},
		},
		"another's": {
			objects: []runtime.Object{applicationSet(map[string]string{failed: "Object argocd/b is already owned by another ApplicationSet controller other"}, three, element)}, cluster: enabled,
			want: []string{"aicr-stack failed", "a blocked", "b blocked", "c blocked"}, text: []string{"already owned by another ApplicationSet controller other"},
		},
		"an error that may pass": {
			objects: []runtime.Object{applicationSet(map[string]string{failed: "application references project aicr-stack which does not exist"}, nil, element)}, cluster: enabled,
			want: []string{"aicr-stack suspect", "a blocked", "b blocked", "c blocked"}, text: []string{"which does not exist"},
		},
		"waves": {
			objects: []runtime.Object{
				applicationSet(map[string]string{upToDate: ""}, three, element), inWave("1", application("a", good)),
				inWave("2", application("b", appStatus{sync: "Synced", health: "Healthy", phase: "Running"})), inWave("3", application("c", open)),
			}, cluster: enabled,
			want: []string{"aicr-stack good", "a good", "b waiting", "c blocked"}, text: []string{"operation Running"},
		},
		// Elsewhere Progressing is accepted; here the next wave never starts, and the cause is the
		// Application that is not Healthy.
		"a wave that never gets healthy": {
			objects: []runtime.Object{
				applicationSet(map[string]string{upToDate: ""}, three, element), inWave("1", application("a", appStatus{sync: "Synced", health: "Progressing", phase: "Succeeded"})),
				inWave("2", application("b", open)), inWave("3", application("c", open)),
			}, cluster: enabled,
			want: []string{"aicr-stack good", "a waiting", "b blocked", "c blocked"}, text: []string{"RollingSync waits for it to be Synced and Healthy"},
		},
		"a wave that failed": {
			objects: []runtime.Object{
				applicationSet(map[string]string{upToDate: ""}, three, element), inWave("1", application("a", appStatus{phase: "Failed", message: "denied"})),
				inWave("2", application("b", open)), inWave("3", application("c", open)),
			}, cluster: enabled,
			want: []string{"aicr-stack good", "a failed", "b blocked", "c blocked"}, text: []string{"sync failed: denied"},
		},
		// RollingSync goes on behind an Application that is Synced and Healthy, synced or not.
		"one renders to nothing": {
			objects: []runtime.Object{
				applicationSet(map[string]string{upToDate: ""}, three, element), inWave("1", neverSynced("a")), inWave("2", application("b", good)), inWave("3", application("c", good)),
			}, cluster: enabled,
			want: []string{"aicr-stack good", "a good", "b good", "c good"},
		},
		"all there": {
			objects: []runtime.Object{
				applicationSet(map[string]string{upToDate: ""}, three, element), inWave("1", application("a", good)), inWave("2", application("b", good)),
				inWave("3", application("c", appStatus{sync: "Synced", health: "Progressing", phase: "Succeeded"})),
			}, cluster: enabled,
			want: []string{"aicr-stack good", "a good", "b good", "c accepted"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
				infra.ApplicationGVR: "ApplicationList", infra.ApplicationSetGVR: "ApplicationSetList",
			}, tc.objects...)
			env := &lane.Env{
				Clients: &infra.Clients{Dynamic: client, Kube: fake.NewClientset(cluster(tc.cluster))}, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
				Bundle: &bundle.Bundle{Expectation: bundle.Expectation{Delivered: []bundle.Delivered{
					{Ref: result.Ref{Group: "argoproj.io", Kind: "ApplicationSet", Namespace: infra.ArgoCDNamespace, Name: argoapi.AppSetName}, Root: true},
					{Ref: applicationRef("a")}, {Ref: applicationRef("b")}, {Ref: applicationRef("c")},
				}}},
			}
			state, err := NewAppSet(nil).Poll(t.Context(), env)
			if err != nil {
				t.Fatal(err)
			}
			if state.RootSeen != (len(tc.objects) > 0) {
				t.Errorf("root seen: got %v", state.RootSeen)
			}
			testkit.WantEach(t, "items", lanetest.ItemStates(state), tc.want)
			for _, it := range state.Items {
				if it.State != lane.ItemGood {
					if tc.text != nil {
						testkit.WantText(t, "text of "+it.ID, it.Text, tc.text...)
					}
					break
				}
			}
		})
	}
}
