package simulate

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// manyNodes are Ready or not, as KWOK would leave them.
func manyNodes(count int, ready corev1.ConditionStatus) []*corev1.Node {
	var nodes []*corev1.Node
	for i := range count {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("n-%04d", i), Labels: map[string]string{"pool": "a"}}}
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}
		nodes = append(nodes, n)
	}
	return nodes
}

func names(t *testing.T, kube kubernetes.Interface) []string {
	t.Helper()
	list, err := kube.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for i := range list.Items {
		all = append(all, list.Items[i].Name)
	}
	return all
}

func TestEnsureNodes_Missing(t *testing.T) {
	kube := fake.NewClientset(manyNodes(1, corev1.ConditionTrue)[0]) // one is there already
	nodes := manyNodes(50, corev1.ConditionTrue)
	if err := EnsureNodes(t.Context(), &infra.Clients{Kube: kube}, nodes); err != nil {
		t.Fatal(err)
	}
	if got := names(t, kube); len(got) != len(nodes) {
		t.Errorf("%d nodes; want %d", len(got), len(nodes))
	}
}

// Nodes that KWOK makes Ready one by one are noticed as they are, and the wait goes on for the last
// one.
func TestEnsureNodes_BecomeReady(t *testing.T) {
	kube := fake.NewClientset()
	nodes := manyNodes(3, corev1.ConditionFalse)
	done := make(chan error, 1)
	go func() { done <- EnsureNodes(t.Context(), &infra.Clients{Kube: kube}, nodes) }()
	ready := manyNodes(3, corev1.ConditionTrue)
	tainted := ready[2].DeepCopy() // a moment before the node controller takes its taint off, the scheduler refuses it
	tainted.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}}
	for _, n := range []*corev1.Node{ready[0], ready[1], tainted, ready[2]} {
		select {
		case err := <-done:
			t.Fatalf("ended with %v before %s was Ready", err, n.Name)
		case <-time.After(500 * time.Millisecond): // more than two polls
		}
		if _, err := kube.CoreV1().Nodes().Update(t.Context(), n, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A cluster whose nodes cannot be listed: the reason for waiting has its answer.
func TestEnsureNodes_ListFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kube := fake.NewClientset()
		refuse := func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(corev1.Resource("nodes"), "", errors.New("not yours"))
		}
		kube.PrependReactor("list", "nodes", refuse)
		kube.PrependWatchReactor("nodes", func(a clienttesting.Action) (bool, watch.Interface, error) {
			_, _, err := refuse(a)
			return true, nil, err
		})
		err := EnsureNodes(t.Context(), &infra.Clients{Kube: kube}, manyNodes(1, corev1.ConditionTrue))
		testkit.WantText(t, "error", fmt.Sprint(err), "waited 1m0s for 1 node to be Ready", "not yours")
	})
}

// The server answers the first create only when as many are in flight as may be: one after the
// other would never get an answer.
func TestEnsureNodes_Concurrent(t *testing.T) {
	var mu sync.Mutex
	inFlight, most, made := 0, 0, 0
	full := make(chan struct{})
	var once sync.Once
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodGet {
			list := corev1.NodeList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "NodeList"}}
			for _, n := range manyNodes(1000, corev1.ConditionTrue) {
				list.Items = append(list.Items, *n)
			}
			_ = json.NewEncoder(w).Encode(list)
			return
		}
		mu.Lock()
		inFlight++
		made++
		most = max(most, inFlight)
		if inFlight == nodesAtATime {
			once.Do(func() { close(full) })
		}
		mu.Unlock()
		select {
		case <-full:
		case <-r.Context().Done():
		case <-time.After(20 * time.Second):
			w.WriteHeader(http.StatusTeapot)
		}
		mu.Lock()
		inFlight--
		mu.Unlock()
		_ = json.NewEncoder(w).Encode(corev1.Node{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}})
	}))
	defer server.Close()
	kube, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	if err := EnsureNodes(t.Context(), &infra.Clients{Kube: kube}, manyNodes(1000, corev1.ConditionTrue)); err != nil {
		t.Fatal(err)
	}
	if made != 1000 || most != nodesAtATime {
		t.Errorf("%d nodes, at most %d at a time; want 1000 and %d", made, most, nodesAtATime)
	}
}

// Of a thousand nodes that are not Ready a few are named.
func TestEnsureNodes_ManyNotReady(t *testing.T) {
	for name, c := range map[string]struct {
		count int
		want  string
	}{
		"the usual number": {6, "waited 1m0s for 6 nodes to be Ready: not Ready: n-0000, n-0001, n-0002, n-0003, n-0004, n-0005"},
		"a thousand":       {1000, "waited 2m30s for 1000 nodes to be Ready: not Ready: n-0000, n-0001, n-0002, n-0003, n-0004, n-0005, and 994 more"},
		"five thousand":    {5000, "waited 9m10s for 5000 nodes to be Ready: not Ready: n-0000, n-0001, n-0002, n-0003, n-0004, n-0005, and 4994 more"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				kube := fake.NewClientset()
				kube.PrependReactor("create", "nodes", func(a clienttesting.Action) (bool, runtime.Object, error) {
					return true, a.(clienttesting.CreateAction).GetObject(), nil // kept nowhere: the fake's storage is slow
				})
				err := EnsureNodes(t.Context(), &infra.Clients{Kube: kube}, manyNodes(c.count, corev1.ConditionFalse))
				if err == nil || err.Error() != c.want || reason.Of(err) != reason.NodesFailed {
					t.Errorf("got %v (%s), want %s", err, reason.Of(err), c.want)
				}
			})
		})
	}
}

// The error is that of the first node of the list that failed, not of the one whose answer came
// first, and what follows is left.
func TestEnsureNodes_FirstError(t *testing.T) {
	t.Run("another recipe's", func(t *testing.T) {
		other := manyNodes(1000, corev1.ConditionTrue)
		var there []runtime.Object
		for _, n := range other {
			n.Labels["pool"] = "b"
			there = append(there, n)
		}
		err := EnsureNodes(t.Context(), &infra.Clients{Kube: fake.NewClientset(there...)}, manyNodes(1000, corev1.ConditionTrue))
		want := `create node n-0000: it is there already with pool="b" instead of "a"`
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "n-0001") || reason.Of(err) != reason.NodesFailed {
			t.Errorf("got %v, want %s", err, want)
		}
	})
	t.Run("refused", func(t *testing.T) {
		kube := fake.NewClientset()
		kube.PrependReactor("create", "nodes", func(a clienttesting.Action) (bool, runtime.Object, error) {
			n := a.(clienttesting.CreateAction).GetObject().(*corev1.Node)
			if n.Name == "n-0020" {
				return true, nil, apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Node").GroupKind(), n.Name, nil)
			}
			return false, nil, nil
		})
		err := EnsureNodes(t.Context(), &infra.Clients{Kube: kube}, manyNodes(1000, corev1.ConditionTrue))
		if err == nil || !strings.HasPrefix(err.Error(), "create node n-0020: ") || !apierrors.IsInvalid(err) {
			t.Errorf("got %v, want the refusal of n-0020", err)
		}
		if got := names(t, kube); len(got) >= 500 {
			t.Errorf("%d nodes were created in spite of the error", len(got))
		}
	})
}

func TestNodeReady(t *testing.T) {
	ready := []corev1.NodeCondition{{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse}, {Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	tainted := func(key string) []corev1.Taint {
		return []corev1.Taint{{Key: key, Effect: corev1.TaintEffectNoSchedule}}
	}
	for name, c := range map[string]struct {
		taints     []corev1.Taint
		conditions []corev1.NodeCondition
		want       bool
	}{
		"ready":                       {nil, ready, true},
		"a recipe's taint":            {tainted("nvidia.com/gpu"), ready, true},
		"the taint is not yet gone":   {tainted(corev1.TaintNodeNotReady), ready, false},
		"no condition":                {nil, nil, false},
		"not ready":                   {nil, []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse}}, false},
		"not heard of for some while": {nil, []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			n := &corev1.Node{Spec: corev1.NodeSpec{Taints: c.taints}, Status: corev1.NodeStatus{Conditions: c.conditions}}
			if got := infra.NodeReady(n); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}
