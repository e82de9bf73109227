package argocd

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// applicationItem applies the rules for one Application (lanes: what passes): the operation has
// Succeeded, and it is Synced with Healthy (the canonical state), Progressing or Degraded, or
// OutOfSync with Healthy.
func applicationItem(name string, app *unstructured.Unstructured, root bool) lane.Item {
	it := lane.Item{ID: "Application " + name, Ref: applicationRef(name)}
	if app == nil {
		it.Text = "does not exist yet"
		return it
	}
	get := func(fields ...string) string {
		s, _, _ := unstructured.NestedString(app.Object, append([]string{"status"}, fields...)...)
		return s
	}
	sync, health := get("sync", "status"), get("health", "status")
	phase, message := get("operationState", "phase"), get("operationState", "message")
	it.Text = fmt.Sprintf("%s, %s, operation %s", lane.OrUnknown(sync), lane.OrUnknown(health), lane.OrUnknown(phase))
	it.Different = outOfSyncResources(app)
	it.Attempt = get("operationState", "startedAt") + " " + get("operationState", "syncResult", "revision")
	if !root { // its health is its children's
		it.Timing = applicationTiming(app)
	}
	if kind, text := errorCondition(app); kind != "" {
		it.State, it.Text = lane.ItemSuspect, kind+": "+text
		switch {
		case schemaTooOld(text):
			it.Reason = reason.ArgoCDSchemaTooOld
		case schemaBehind(text):
			it.Reason, it.Patience = reason.ArgoCDSchemaTooOld, schemaPatience
		}
		return it
	}
	if refused, again, degraded := failedResources(app); phase != "Succeeded" && len(refused)+len(again)+len(degraded) > 0 {
		it.Text = strings.Join(slices.Concat(refused, again, degraded), "\n")
		switch {
		case len(refused) > 0:
			it.State = lane.ItemFailed
		case phase == "Failed" || phase == "Error": // its retries are used up
			it.State = lane.ItemSuspect
		case len(degraded) > 0:
			it.State, it.Patience = lane.ItemSuspect, degradedPatience
		}
		return it
	}
	switch phase {
	case "Failed", "Error":
		it.State, it.Text = lane.ItemFailed, "sync "+strings.ToLower(phase)+": "+message
		if lane.Retryable(message) {
			it.State = lane.ItemSuspect
		}
		return it
	case "Succeeded":
	default:
		if message != "" {
			it.Text += ": " + message
		}
		if what, asks := strings.CutPrefix(message, pruneAsks); asks {
			it.State, it.Text = lane.ItemFailed, fmt.Sprintf("it waits until somebody confirms that %s is pruned, for as long as that takes (argocd.argoproj.io/sync-options: Prune=confirm): argocd app confirm-deletion %s, or take the option off the object before", strings.Trim(what, "/"), name)
		}
		return it
	}
	if hm := get("health", "message"); hm != "" {
		it.Text += ": " + hm
	}
	switch {
	case sync == "Synced" && health == "Healthy":
		it.State = lane.ItemGood
	case root && sync == "Synced":
		it.State = lane.ItemGood // only the root's operation counts; its health is its children's
	case (sync == "Synced" || onlyKept(app)) && (health == "Progressing" || health == "Degraded"), sync == "OutOfSync" && health == "Healthy":
		it.State = lane.ItemAccepted
	}
	return it
}

// pruneAsks is what an operation says while it waits for a person (gitops-engine, sync_context.go).
const pruneAsks = "waiting for pruning confirmation of "

// onlyKept reports whether an Application is OutOfSync for nothing but objects that are not in it any
// more, and that its sync has left: they ask not to be pruned. All that it has is in sync.
func onlyKept(app *unstructured.Unstructured) bool {
	resources, _, _ := unstructured.NestedSlice(app.Object, "status", "resources")
	kept := 0
	for _, r := range resources {
		m, _ := r.(map[string]any)
		if m["status"] != "OutOfSync" {
			continue
		}
		if gone, _ := m["requiresPruning"].(bool); !gone {
			return false
		}
		kept++
	}
	return kept > 0
}

// outOfSyncResources returns the objects that Argo CD itself finds different from its rendering.
func outOfSyncResources(app *unstructured.Unstructured) []result.Ref {
	var found []result.Ref
	resources, _, _ := unstructured.NestedSlice(app.Object, "status", "resources")
	for _, r := range resources {
		m, _ := r.(map[string]any)
		if m["status"] != "OutOfSync" {
			continue
		}
		found = append(found, resourceRef(m))
	}
	return found
}

// resourceRef is the object of an entry of an Application's status.resources.
func resourceRef(resource map[string]any) result.Ref {
	text := func(field string) string { s, _ := resource[field].(string); return s }
	return result.Ref{Group: text("group"), Kind: text("kind"), Namespace: text("namespace"), Name: text("name")}
}

// schemaTooOld reports whether Argo CD's schema is older than the API server's: it does not know a
// field that the API server keeps in a live object (faults F21, NVIDIA/aicr#2602). A field of the
// recipe's own that neither knows is in the "config resource".
func schemaTooOld(message string) bool {
	return strings.Contains(message, "typed value from live resource") && strings.Contains(message, "field not declared in schema")
}

// schemaPatience is how long the controller may lag behind the API server's schema. It reads the
// schema again at each event of a CRD, one after the other; with two dozen CRDs on a slow machine
// that takes as long.
const schemaPatience = 60 * time.Second

// schemaBehind reports whether the controller has seen an object before it has read the schema of
// its CRD. This was seen with a load of 30 on two cores; it passes.
func schemaBehind(message string) bool {
	return strings.Contains(message, "unable to resolve parseableType")
}

// errorCondition returns Argo CD's own error that it cannot compare or sync.
func errorCondition(app *unstructured.Unstructured) (string, string) {
	conditions, _, _ := unstructured.NestedSlice(app.Object, "status", "conditions")
	for _, c := range conditions {
		m, _ := c.(map[string]any)
		t, _ := m["type"].(string)
		text, _ := m["message"].(string)
		if strings.HasSuffix(t, "Error") && t != "SyncError" { // a SyncError repeats the operation's own message
			return t, text
		}
	}
	return "", ""
}

// degradedPatience is how long a sync may rest between two tries because an object is Degraded. An operator that runs
// says of its object that no pod is ready, until one is; each of the five tries looks again, after 5, 10, 20, 40 and 80
// seconds.
const degradedPatience = 45 * time.Second

// failedResources quotes the API server on the objects that could not be applied: those that it
// rejects for good, and those that another try may apply. Those that were applied, and that a sync with
// a later wave or hook does not wait for since they are Degraded, come last (gitops-engine, sync_context.go).
func failedResources(app *unstructured.Unstructured) (refused, again, degraded []string) {
	results, _, _ := unstructured.NestedSlice(app.Object, "status", "operationState", "syncResult", "resources")
	for _, r := range results {
		m, _ := r.(map[string]any)
		if m["status"] != "SyncFailed" && m["hookPhase"] != "Failed" {
			continue
		}
		kind, _ := m["kind"].(string)
		namespace, _ := m["namespace"].(string)
		name, _ := m["name"].(string)
		message, _ := m["message"].(string)
		text := fmt.Sprintf("%s %s: %s", kind, infra.NamespacedName(namespace, name), message)
		hook, _ := m["hookType"].(string)
		switch {
		case m["status"] == "Synced" && hook == "":
			degraded = append(degraded, text+" (applied, and Argo CD finds it Degraded)")
		case lane.Retryable(message):
			again = append(again, text)
		default:
			refused = append(refused, text)
		}
	}
	return refused, again, degraded
}
