package embedded

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/testkit/infratest"
	"github.com/nvidia/aicr-action/internal/util/wait"
	"github.com/nvidia/aicr-action/kwok"
)

// testAPIService: the server of an aggregated API is a simulated pod, and the stand-in answers
// instead.
func testAPIService(t *testing.T, c *testCluster) {
	state, err := FindCluster(c.paths, c.Name())
	if err != nil {
		t.Fatal(err)
	}
	c.apply(t, podYAML("adapter", "")+`---
apiVersion: v1
kind: Service
metadata: {name: adapter}
spec: {selector: {app: adapter}, ports: [{port: 443, targetPort: 6443}]}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1beta1.custom.metrics.k8s.io}
spec:
  group: custom.metrics.k8s.io
  version: v1beta1
  insecureSkipTLSVerify: true
  groupPriorityMinimum: 100
  versionPriority: 100
  service: {namespace: default, name: adapter}
`)
	services := schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
	available := func(want string) {
		t.Helper()
		waitObject(t, c, services, "", "v1beta1.custom.metrics.k8s.io", func(o *unstructured.Unstructured) wait.Result {
			if status, message := infra.Condition(o, "Available"); status != want {
				return wait.NotYet("Available is %q: %s", status, message)
			}
			return wait.Done()
		})
	}
	available("False") // no process serves a simulated pod
	standIn, err := simulate.StartAPIServiceStandIn(EgressSocket(state.Dir()), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer standIn.Close()
	available("True")
	if used := standIn.Used(); !slices.Equal(used, []string{"custom.metrics.k8s.io/v1beta1"}) {
		t.Errorf("answered for %v", used)
	}
	// An error here would hold up namespace deletion and every controller. The API server renews
	// its own list a moment later.
	testkit.Eventually(t, "discovery to be whole", time.Minute, func() wait.Result {
		if _, _, err := c.clients.Discovery.ServerGroupsAndResources(); err != nil {
			return wait.NotYet("%v", err)
		}
		return wait.Done()
	})
}

// settled applies the CRD of Prometheus until its time of being Established was set back. The API
// server lets nobody wait for a CRD that seems to be Established for two seconds, so one that the
// stand-ins see later than that, on a busy machine, is left alone, and is made once more.
func settled(t *testing.T, c *testCluster, crd string) {
	t.Helper()
	const name = "prometheuses.monitoring.coreos.com"
	for range 10 {
		begun, late := time.Now(), false
		c.apply(t, crd) // the stand-ins run already: the CRD comes later, as with a chart
		waitObject(t, c, infra.CRDResource, "", name, func(o *unstructured.Unstructured) wait.Result {
			conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
			for _, raw := range conditions {
				condition, _ := raw.(map[string]any)
				at, err := time.Parse(time.RFC3339, fmt.Sprint(condition["lastTransitionTime"]))
				if condition["type"] != "Established" || condition["status"] != "True" || err != nil {
					continue
				}
				setBack := at.Before(begun.Add(-time.Second)) // times in an object are whole seconds
				if late = !setBack && time.Since(at) > 10*time.Second; setBack || late {
					return wait.Done()
				}
			}
			return wait.NotYet("conditions %v", conditions)
		})
		if !late {
			return
		}
		if err := c.clients.Dynamic.Resource(infra.CRDResource).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		testkit.Eventually(t, "the CRD to be gone", time.Minute, func() wait.Result {
			if _, err := c.clients.Dynamic.Resource(infra.CRDResource).Get(t.Context(), name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
				return wait.NotYet("%v", err)
			}
			return wait.Done()
		})
	}
	t.Fatalf("the CRD's time of being Established was never set back, in ten attempts")
}

func testOperators(t *testing.T, c *testCluster) {
	ctx, stop := context.WithCancel(t.Context())
	operators := simulate.NewOperatorStandIns(c.clients, slog.New(slog.DiscardHandler), infratest.OperatorStages(t), nil)
	operators.SettleCRDs()
	ended := make(chan struct{})
	go func() { defer close(ended); operators.Run(ctx) }()
	defer func() { stop(); <-ended }()
	crd, err := fs.ReadFile(kwok.Files, "charts/kube-prometheus-stack/charts/crds/crds/prometheuses.monitoring.coreos.com.yaml")
	if err != nil {
		t.Fatal(err)
	}
	settled(t, c, string(crd))
	prometheuses := schema.GroupVersionResource{Group: "monitoring.coreos.com", Version: "v1", Resource: "prometheuses"}
	sets := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "statefulsets"}
	for generation, replicas := range []int64{1, 2} {
		c.apply(t, fmt.Sprintf("{apiVersion: monitoring.coreos.com/v1, kind: Prometheus, metadata: {name: kps}, spec: {replicas: %d, tolerations: [{operator: Exists}]}}", replicas))
		waitObject(t, c, sets, "default", "prometheus-kps", func(o *unstructured.Unstructured) wait.Result {
			ready, _, _ := unstructured.NestedInt64(o.Object, "status", "readyReplicas")
			if ready != replicas {
				return wait.NotYet("%d of %d ready", ready, replicas)
			}
			if owner := metav1.GetControllerOf(o); owner == nil || owner.Kind != "Prometheus" || owner.Name != "kps" {
				return wait.Never(fmt.Errorf("its owner is %v: nobody would delete it", owner))
			}
			return wait.Done()
		})
		waitObject(t, c, prometheuses, "default", "kps", func(o *unstructured.Unstructured) wait.Result {
			status, message := infra.Condition(o, "Available")
			available, _, _ := unstructured.NestedInt64(o.Object, "status", "availableReplicas")
			if status != "True" || available != replicas || o.GetGeneration() != int64(generation+1) {
				return wait.NotYet("Available is %q %s with %d replicas at generation %d", status, message, available, o.GetGeneration())
			}
			return wait.Done()
		})
	}
	if used := operators.Used(); !slices.Equal(used, []string{"Prometheus default/kps"}) {
		t.Errorf("used %v", used)
	}
}
