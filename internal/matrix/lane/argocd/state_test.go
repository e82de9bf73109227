package argocd

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/testkit/lanetest"
)

type appStatus struct {
	sync, health, phase, message, healthMessage string
	conditions                                  []any
	resources                                   []any
}

func application(name string, s appStatus) *unstructured.Unstructured {
	status := map[string]any{}
	set := func(value string, fields ...string) {
		if value != "" {
			_ = unstructured.SetNestedField(status, value, fields...)
		}
	}
	set(s.sync, "sync", "status")
	set(s.health, "health", "status")
	set(s.healthMessage, "health", "message")
	set(s.phase, "operationState", "phase")
	set(s.message, "operationState", "message")
	if s.conditions != nil {
		status["conditions"] = s.conditions
	}
	if s.resources != nil {
		_ = unstructured.SetNestedSlice(status, s.resources, "operationState", "syncResult", "resources")
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "Application",
		"metadata": map[string]any{"name": name, "namespace": infra.ArgoCDNamespace}, "status": status,
	}}
}

// Every combination of sync, health and operation, by the rule of docs ("what passes"): the
// operation Succeeded, and Synced with Healthy, Progressing or Degraded, or OutOfSync with Healthy.
// Of the root only the operation and Synced count.
func TestApplicationStates(t *testing.T) {
	passes := map[string]lane.ItemState{
		"Synced/Healthy": lane.ItemGood, "Synced/Progressing": lane.ItemAccepted, "Synced/Degraded": lane.ItemAccepted, "OutOfSync/Healthy": lane.ItemAccepted,
	}
	for _, sync := range []string{"", "Unknown", "Synced", "OutOfSync"} {
		for _, health := range []string{"", "Unknown", "Missing", "Suspended", "Progressing", "Degraded", "Healthy"} {
			for _, phase := range []string{"", "Running", "Terminating", "Succeeded", "Failed", "Error"} {
				for _, root := range []bool{false, true} {
					want := lane.ItemWaiting
					switch {
					case phase == "Failed" || phase == "Error":
						want = lane.ItemFailed
					case phase != "Succeeded":
					case root && sync == "Synced":
						want = lane.ItemGood
					default:
						want = passes[sync+"/"+health]
					}
					got := applicationItem("x", application("x", appStatus{sync: sync, health: health, phase: phase}), root)
					if got.State != want {
						t.Errorf("sync %q, health %q, operation %q, root %v: got %s (%s), want %s", sync, health, phase, root, lanetest.StateName(got.State), got.Text, lanetest.StateName(want))
					}
					if got.ID != "Application x" || got.Text == "" {
						t.Errorf("sync %q, health %q, operation %q: got id %q, text %q", sync, health, phase, got.ID, got.Text)
					}
				}
			}
		}
	}
}

func TestApplicationItem(t *testing.T) {
	condition := func(kind, message string) []any {
		return []any{map[string]any{"type": kind, "message": message}}
	}
	failed := func(kind, name, message string) map[string]any {
		return map[string]any{"kind": kind, "namespace": "web", "name": name, "status": "SyncFailed", "message": message}
	}
	invalid := failed("DaemonSet", "efa", `DaemonSet.apps "efa" is invalid: privileged and allowPrivilegeEscalation: false`)
	tests := map[string]struct {
		status appStatus
		want   lane.ItemState
		text   []string
	}{
		"comparison error is quoted (F06)": {
			appStatus{sync: "Unknown", health: "Healthy", conditions: condition("ComparisonError", `unsupported scheme "oci"`)},
			lane.ItemSuspect, []string{"ComparisonError", `unsupported scheme "oci"`},
		},
		"an error condition outweighs a good state": {
			appStatus{sync: "Synced", health: "Healthy", phase: "Succeeded", conditions: condition("InvalidSpecError", "no such project")},
			lane.ItemSuspect, []string{"InvalidSpecError: no such project"},
		},
		"a SyncError only repeats the operation": {
			appStatus{sync: "OutOfSync", health: "Missing", phase: "Failed", message: "one or more objects failed", conditions: condition("SyncError", "again")},
			lane.ItemFailed, []string{"sync failed: one or more objects failed"},
		},
		"a warning is no error": {
			appStatus{sync: "Synced", health: "Healthy", phase: "Succeeded", conditions: condition("SharedResourceWarning", "two owners")}, lane.ItemGood, nil,
		},
		"refused object, operation going on (F37)": {
			appStatus{sync: "OutOfSync", health: "Missing", phase: "Running", resources: []any{invalid}},
			lane.ItemFailed, []string{"DaemonSet web/efa: ", "is invalid"},
		},
		"refused object, operation failed": {
			appStatus{sync: "OutOfSync", health: "Missing", phase: "Failed", message: "one or more objects failed", resources: []any{invalid}},
			lane.ItemFailed, []string{"DaemonSet web/efa: ", "is invalid"},
		},
		"refused object of an operation that succeeded later": {
			appStatus{sync: "Synced", health: "Healthy", phase: "Succeeded", resources: []any{invalid}}, lane.ItemGood, nil,
		},
		"a CRD that another Application brings": {
			appStatus{sync: "OutOfSync", health: "Missing", phase: "Running", resources: []any{failed("PodMonitor", "m", "could not find monitoring.coreos.com/PodMonitor")}},
			lane.ItemWaiting, []string{"PodMonitor web/m"},
		},
		"a CRD that nobody brings, once Argo CD gives up (F11)": {
			appStatus{sync: "OutOfSync", health: "Missing", phase: "Failed", message: "one or more synchronization tasks are not valid",
				resources: []any{failed("PodMonitor", "m", "could not find monitoring.coreos.com/PodMonitor")}},
			lane.ItemSuspect, []string{"PodMonitor web/m"},
		},
		"a service account that another wave brings (F42)": {
			appStatus{sync: "OutOfSync", health: "Missing", phase: "Running",
				resources: []any{failed("Pod", "p", `pods "p" is forbidden: error looking up service account web/x: serviceaccount "x" not found`)}},
			lane.ItemWaiting, []string{"Pod web/p"},
		},
		"a forbidden object whose text has words of a retry in it": {
			appStatus{sync: "OutOfSync", health: "Missing", phase: "Running",
				resources: []any{failed("Role", "r", `roles "r" is forbidden: user "x" is attempting to grant RBAC permissions not currently held; clusterrole "y" not found`)}},
			lane.ItemFailed, []string{"Role web/r"},
		},
		"a refused object among retryable ones": {
			appStatus{sync: "OutOfSync", health: "Missing", phase: "Running", resources: []any{failed("PodMonitor", "m", "no matches for kind"), invalid}},
			lane.ItemFailed, []string{"DaemonSet web/efa: "},
		},
		"a refused object whose field is called timeout": {
			appStatus{sync: "OutOfSync", health: "Missing", phase: "Running",
				resources: []any{failed("Deployment", "d", `Deployment.apps "d" is invalid: spec.template.spec.containers[0].livenessProbe.timeoutSeconds: Invalid value: 0`)}},
			lane.ItemFailed, []string{"timeoutSeconds"},
		},
		"a failed hook": {
			appStatus{sync: "OutOfSync", health: "Missing", phase: "Running", resources: []any{
				map[string]any{"kind": "Job", "namespace": "web", "name": "hook", "status": "Synced", "hookType": "PostSync", "hookPhase": "Failed", "message": "Job has reached the specified backoff limit"},
			}},
			lane.ItemFailed, []string{"Job web/hook: Job has reached the specified backoff limit"},
		},
		"an object that is Degraded while a hook waits": { // prometheus-operator says so until the first pod is ready
			appStatus{sync: "OutOfSync", health: "Missing", phase: "Running", resources: []any{
				map[string]any{"kind": "Prometheus", "namespace": "web", "name": "p", "status": "Synced", "hookPhase": "Failed", "message": "p serverside-applied"},
			}},
			lane.ItemSuspect, []string{"Prometheus web/p: p serverside-applied (applied, and Argo CD finds it Degraded)"},
		},
		"an operation that failed for want of a connection": {
			appStatus{sync: "OutOfSync", health: "Missing", phase: "Error", message: "dial tcp: connection refused"}, lane.ItemSuspect, []string{"sync error: dial tcp"},
		},
		"an operation that runs says what it waits for": {
			appStatus{sync: "OutOfSync", health: "Progressing", phase: "Running", message: "waiting for healthy state of Prometheus"},
			lane.ItemWaiting, []string{"OutOfSync, Progressing, operation Running: waiting for healthy state"},
		},
		"an operation that waits for a person": {
			appStatus{sync: "OutOfSync", health: "Healthy", phase: "Running", message: "waiting for pruning confirmation of /ConfigMap/asks and 1 more resources"},
			lane.ItemFailed, []string{"until somebody confirms that ConfigMap/asks and 1 more resources is pruned", "argocd app confirm-deletion x"},
		},
		"an accepted state says why": {
			appStatus{sync: "Synced", health: "Degraded", phase: "Succeeded", healthMessage: "0 of 1 replicas"}, lane.ItemAccepted, []string{"Synced, Degraded", "0 of 1 replicas"},
		},
		"no status yet": {appStatus{}, lane.ItemWaiting, []string{"Unknown, Unknown, operation Unknown"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := applicationItem("x", application("x", tc.status), false)
			if got.State != tc.want {
				t.Errorf("got %s (%s), want %s", lanetest.StateName(got.State), got.Text, lanetest.StateName(tc.want))
			}
			testkit.WantText(t, "text", got.Text, tc.text...)
		})
	}
	t.Run("missing", func(t *testing.T) {
		for _, root := range []bool{false, true} {
			got := applicationItem("x", nil, root)
			if got.State != lane.ItemWaiting || got.Text != "does not exist yet" {
				t.Errorf("root %v: got %s (%s), want it to be waited for", root, lanetest.StateName(got.State), got.Text)
			}
		}
	})
}

// The expected set comes from the bundle, by name (F01, F02).
func TestArgoCDPoll(t *testing.T) {
	good := appStatus{sync: "Synced", health: "Healthy", phase: "Succeeded"}
	broken := appStatus{sync: "Unknown", health: "Healthy", conditions: []any{map[string]any{"type": "ComparisonError", "message": "no layer"}}}
	tests := map[string]struct {
		live []runtime.Object
		seen bool
		want []string
	}{
		"nothing yet":                      {nil, false, []string{"root waiting", "one waiting", "two waiting"}},
		"root before its children (F01)":   {[]runtime.Object{application("root", good)}, true, []string{"root good", "one waiting", "two waiting"}},
		"one of two (F02)":                 {[]runtime.Object{application("root", good), application("one", good)}, true, []string{"root good", "one good", "two waiting"}},
		"all, and one that nobody expects": {[]runtime.Object{application("root", good), application("one", good), application("two", good), application("x", broken)}, true, []string{"root good", "one good", "two good"}},
		"children wait for a broken root":  {[]runtime.Object{application("root", broken), application("two", good)}, true, []string{"root suspect", "one blocked", "two good"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{infra.ApplicationGVR: "ApplicationList"}, tc.live...)
			env := &lane.Env{Clients: &infra.Clients{Dynamic: client}, Bundle: &bundle.Bundle{Expectation: bundle.Expectation{Delivered: testkit.MustDeliver("*Application root", "Application one", "Application two")}}}
			state, err := (&appLane{}).Poll(t.Context(), env)
			if err != nil {
				t.Fatalf("look: %v", err)
			}
			if state.RootSeen != tc.seen {
				t.Errorf("root seen: got %v, want %v", state.RootSeen, tc.seen)
			}
			testkit.WantEach(t, "items", lanetest.ItemStates(state), tc.want)
		})
	}
}

// Of two roots each blocks its own Applications, and both must be there.
func TestAppLane_Roots(t *testing.T) {
	good := appStatus{sync: "Synced", health: "Healthy", phase: "Succeeded"}
	broken := appStatus{conditions: []any{map[string]any{"type": "ComparisonError", "message": "x"}}}
	list := testkit.MustDeliver("*Application core", "*Application ops", "Application a", "Application b")
	list[2].Of, list[3].Of = "core", "ops"
	for name, tc := range map[string]struct {
		live []runtime.Object
		seen bool
		want []string
	}{
		"one is not there": {[]runtime.Object{application("core", good)}, false, []string{"core good", "ops waiting", "a waiting", "b waiting"}},
		"core is broken":   {[]runtime.Object{application("core", broken), application("ops", good)}, true, []string{"core suspect", "ops good", "a blocked", "b waiting"}},
		"ops is broken":    {[]runtime.Object{application("core", good), application("ops", broken)}, true, []string{"core good", "ops suspect", "a waiting", "b blocked"}},
	} {
		client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{infra.ApplicationGVR: "ApplicationList"}, tc.live...)
		state, err := (&appLane{}).Poll(t.Context(), &lane.Env{Clients: &infra.Clients{Dynamic: client}, Bundle: &bundle.Bundle{Expectation: bundle.Expectation{Delivered: list}}})
		if err != nil || state.RootSeen != tc.seen {
			t.Errorf("%s: the roots are seen: %t, %v", name, state.RootSeen, err)
		}
		testkit.WantEach(t, name, lanetest.ItemStates(state), tc.want)
	}
}

// When an Application was delivered for the first time, and its wave.
func TestApplicationTiming(t *testing.T) {
	app := testkit.Parsed(t, `{metadata: {annotations: {argocd.argoproj.io/sync-wave: "-1"}}, status: {history: [
		{deployStartedAt: "2026-01-01T00:00:01Z", deployedAt: "2026-01-01T00:00:05Z"}, {deployStartedAt: "2026-01-01T00:00:50Z", deployedAt: "2026-01-01T00:00:59Z"}]}}`)
	if got := applicationTiming(app); got.Wave != -1 || got.Began.Second() != 1 || got.Ended.Second() != 5 {
		t.Errorf("got %+v", got)
	}
	if got := applicationTiming(testkit.Parsed(t, `{metadata: {name: a}}`)); got.Wave != 0 || !got.Began.IsZero() {
		t.Errorf("without a history: got %+v", got)
	}
}

// Versions of the stack that do not fit each other are no fault of the recipe; a field that the
// recipe makes up is (faults F21, F45).
func TestArgoCDSchema(t *testing.T) {
	for name, tc := range map[string]struct {
		message  string
		reason   reason.Reason
		patience time.Duration
	}{
		"a field that Argo CD does not know": {"error building typed value from live resource: .spec.preventPodSchedulingIfMissing: field not declared in schema", reason.ArgoCDSchemaTooOld, 0},
		"a field that nobody knows":          {"error building typed value from config resource: .spec.made.up: field not declared in schema", "", 0},
		"a schema that has not been read":    {"unable to resolve parseableType for GroupVersionKind: kai.scheduler/v1, Kind=SchedulingShard", reason.ArgoCDSchemaTooOld, schemaPatience},
	} {
		it := applicationItem("csi", application("csi", appStatus{sync: "Unknown", health: "Healthy", phase: "Succeeded", conditions: []any{map[string]any{
			"type": "ComparisonError", "message": "Failed to compare desired state to live state: " + tc.message,
		}}}), false)
		if it.State != lane.ItemSuspect || it.Reason != tc.reason || it.Patience != tc.patience || !strings.Contains(it.Text, "ComparisonError: ") {
			t.Errorf("%s: got %+v", name, it)
		}
	}
}
