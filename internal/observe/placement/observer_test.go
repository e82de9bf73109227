package placement

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// A forbidden watch fails at once with the API server's error. A start that the caller cancels
// returns the caller's cause. A started watch outlives its caller's context.
func TestWatch(t *testing.T) {
	watch := func(ctx context.Context, kube kubernetes.Interface) (*Observer, error) {
		watches := observe.NewWatches(ctx, kube)
		t.Cleanup(watches.Stop)
		return Watch(ctx, watches)
	}
	refuses := func(err error) kubernetes.Interface {
		kube := fake.NewClientset()
		kube.PrependReactor("list", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, err })
		return kube
	}
	forbidden := apierrors.NewForbidden(corev1.Resource("nodes"), "", errors.New("the Role has no list"))
	if _, err := watch(t.Context(), refuses(forbidden)); reason.Of(err) != reason.ClusterAccess || !strings.Contains(err.Error(), "the Role has no list") {
		t.Errorf("forbidden: got %v", err)
	}
	gone := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	if _, err := watch(ctx, refuses(errors.New("the API server hangs"))); !errors.Is(err, gone) {
		t.Errorf("given up: got %v", err)
	}

	ctx, end := context.WithCancel(t.Context())
	kube := fake.NewClientset(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"rack": "1"}}})
	o, err := watch(ctx, kube)
	if err != nil {
		t.Fatal(err)
	}
	end()
	if o.NodeLabels("n")["rack"] != "1" {
		t.Error("the node was not seen")
	}
	if _, err := kube.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "later", Labels: map[string]string{"rack": "2"}}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "the node that came later to be seen", time.Minute, func() wait.Result {
		if o.NodeLabels("later")["rack"] != "2" {
			return wait.NotYet("it was not")
		}
		return wait.Done()
	})
}
