package kind

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

func deployment(namespace, name string, ready int32) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Generation: 2},
		Status:     appsv1.DeploymentStatus{ObservedGeneration: 2, ReadyReplicas: ready, UpdatedReplicas: ready},
	}
}

func failingPod(namespace, why string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "p"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}}},
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Image: "a:1", RestartCount: 3, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: why}}}}},
	}
}

// Pods that are ready end the wait; one that will never be ends it at once, with its log; one that
// may still be is waited for.
func TestWaitPods(t *testing.T) {
	for name, tc := range map[string]struct {
		objs []runtime.Object
		want string
	}{
		"ready":       {[]runtime.Object{deployment("n", "d", 1)}, ""},
		"not yet":     {[]runtime.Object{deployment("n", "d", 0)}, "not ready: Deployment d"},
		"not seen":    {[]runtime.Object{&appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "s", Generation: 1}}}, "not ready: StatefulSet s"},
		"crashes":     {[]runtime.Object{deployment("n", "d", 0), failingPod("n", "CrashLoopBackOff")}, "pod n/p crashes: 3 restarts; the end of its log:\nfake logs"},
		"no image":    {[]runtime.Object{deployment("n", "d", 0), failingPod("n", "ErrImagePull")}, "image a:1 is not in the node (ErrImagePull)"},
		"of no other": {[]runtime.Object{deployment("n", "d", 1), deployment("m", "d", 0), failingPod("m", "ErrImagePull")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := testCluster(t, &fakeEngine{}, &fakeProvider{})
			c.clients = &infra.Clients{Kube: fake.NewClientset(tc.objs...)}
			err := c.waitPods(t.Context(), "n", time.Second)
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

// The registry is ready when its pod is and its port answers.
func TestRegistryStart(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v2/" {
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer server.Close()
	_, text, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c := testCluster(t, &fakeEngine{}, &fakeProvider{})
	if c.registry.port, err = strconv.Atoi(text); err != nil {
		t.Fatal(err)
	}
	c.clients = &infra.Clients{Kube: fake.NewClientset(deployment(registryNamespace, "registry", 1))}
	if err := c.registry.Start(t.Context()); err != nil {
		t.Error(err)
	}
	c.clients = &infra.Clients{Kube: fake.NewClientset(deployment(registryNamespace, "registry", 0), failingPod(registryNamespace, "ErrImagePull"))}
	if err := c.registry.Start(t.Context()); reason.Of(err) != reason.RegistryNotReady {
		t.Errorf("got %s: %v", reason.Of(err), err)
	}
}

// Components have the names of the processes on the embedded platform, so that debug artifacts and
// reports use one name for both.
func TestComponentNames(t *testing.T) {
	want := map[string]bool{
		infra.ArgoCDRepoServer: true, infra.ArgoCDController: true, infra.FluxSourceController: true, infra.FluxKustomizeController: true,
		infra.FluxHelmController: true, infra.FluxSourceWatcher: true, kwokController: true, "registry": true,
	}
	for _, o := range allObjects(t) {
		spec := podSpec(o)
		if spec == nil {
			continue
		}
		template := o.Object["spec"].(map[string]any)["template"].(map[string]any)
		labels := map[string]string{}
		for k, v := range template["metadata"].(map[string]any)["labels"].(map[string]any) {
			labels[k], _ = v.(string)
		}
		delete(want, componentOf(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: labels}}))
	}
	if len(want) > 0 {
		t.Errorf("no pod is called %v", want)
	}
	if got := componentOf(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "x", Labels: map[string]string{"component": "kube-apiserver", "tier": "control-plane"}}}); got != "kube-apiserver" {
		t.Errorf("got %s", got)
	}
}
