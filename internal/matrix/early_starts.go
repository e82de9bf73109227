package matrix

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/result"
)

// timing is when a deployer delivered one object, by its own record, in whole seconds as Kubernetes has them. Zero times: it does not say.
type timing struct {
	// began and ended are those of the first delivery: a later one repairs what is there already.
	began, ended time.Time
	// wave is Argo CD's sync wave; after are the objects that the deployer was told to wait for, in Flux dependsOn.
	wave  int
	after []result.Ref
}

// earlyStarts are the deliveries that began before something that comes earlier had ended: in an earlier wave, or named in dependsOn. The
// order is observed here, and never assumed (faults F30: Argo CD's waves order the creation of Applications and do not wait for them).
func earlyStarts(items []Item) []string {
	var lines []string
	for _, it := range items {
		if it.timing == nil || it.timing.began.IsZero() {
			continue
		}
		var first *Item // of those that it did not wait for, the one that took longest
		count := 0
		for i, other := range items {
			if other.timing == nil {
				continue
			}
			earlier := slices.Contains(it.timing.after, other.Ref) || len(it.timing.after) == 0 && other.timing.wave < it.timing.wave
			if !earlier || !it.timing.began.Before(other.timing.ended) {
				continue
			}
			count++
			if first == nil || other.timing.ended.After(first.timing.ended) {
				first = &items[i]
			}
		}
		if first == nil {
			continue
		}
		line := fmt.Sprintf("%s started %s before %s finished", it.ID, first.timing.ended.Sub(it.timing.began), first.ID)
		if count > 1 {
			line += fmt.Sprintf(" (and before %s)", otherItems(count-1))
		}
		lines = append(lines, line)
	}
	return lines
}

func otherItems(n int) string {
	if n == 1 {
		return "1 other earlier item"
	}
	return fmt.Sprintf("%d other earlier items", n)
}

// applicationTiming reads an Application's wave and its first sync.
func applicationTiming(app *unstructured.Unstructured) *timing {
	t := &timing{}
	t.wave, _ = strconv.Atoi(app.GetAnnotations()[waveAnnotation]) // none is wave 0, as for Argo CD
	history, _, _ := unstructured.NestedSlice(app.Object, "status", "history")
	if len(history) > 0 { // the oldest is first
		sync, _ := history[0].(map[string]any)
		t.began, t.ended = timeOf(sync["deployStartedAt"]), timeOf(sync["deployedAt"])
	}
	return t
}

const waveAnnotation = "argocd.argoproj.io/sync-wave"

// releaseTiming reads a HelmRelease's dependsOn, when Helm began with its first release, and when it became Ready.
func releaseTiming(hr *unstructured.Unstructured) *timing {
	t := &timing{}
	deps, _, _ := unstructured.NestedSlice(hr.Object, "spec", "dependsOn")
	for _, dep := range deps {
		m, _ := dep.(map[string]any)
		after := result.Ref{Group: hr.GroupVersionKind().Group, Kind: hr.GetKind(), Namespace: hr.GetNamespace()}
		after.Name, _ = m["name"].(string)
		if namespace, _ := m["namespace"].(string); namespace != "" {
			after.Namespace = namespace
		}
		if after.Name != "" {
			t.after = append(t.after, after)
		}
	}
	history, _, _ := unstructured.NestedSlice(hr.Object, "status", "history")
	if len(history) > 0 { // the newest is first
		release, _ := history[len(history)-1].(map[string]any)
		t.began = timeOf(release["firstDeployed"])
	}
	if ready := conditionOf(hr, "Ready"); ready.status == "True" {
		t.ended = ready.since
	}
	return t
}

func timeOf(v any) time.Time {
	text, _ := v.(string)
	t, _ := time.Parse(time.RFC3339, text)
	return t
}
