package change

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nvidia/aicr-action/internal/result"
)

// budgets notes the PodDisruptionBudgets that let no pod of a rolling workload be evicted.
func (c *comparison) budgets() {
	for _, key := range slices.Sorted(maps.Keys(c.after.objects)) {
		o := c.after.objects[key]
		if o.ref.GVK.Kind != "PodDisruptionBudget" || o.content == nil || !o.expected {
			continue
		}
		selector, ok := selectorOf(o.content)
		if !ok {
			continue
		}
		held := map[string][]result.Ref{} // workloads, by the setting that holds them
		for _, one := range c.components {
			for _, roll := range one.Rolls {
				if why := c.holds(o, selector, roll); why != "" {
					held[why] = append(held[why], roll.Ref)
				}
			}
		}
		for _, why := range slices.Sorted(maps.Keys(held)) {
			slices.SortFunc(held[why], func(a, b result.Ref) int { return cmp.Compare(a.String(), b.String()) })
			one := c.of(o.component)
			one.Budgets = append(one.Budgets, result.BudgetHold{Ref: o.ref.Ref(), Why: why, Workloads: held[why]})
		}
	}
}

// selectorOf is the selector of a budget; false if it cannot be read.
func selectorOf(budget *unstructured.Unstructured) (labels.Selector, bool) {
	raw, _, _ := unstructured.NestedMap(budget.Object, "spec", "selector")
	var s metav1.LabelSelector
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw, &s); err != nil {
		return nil, false
	}
	selector, err := metav1.LabelSelectorAsSelector(&s)
	return selector, err == nil
}

// holds returns the setting by which a budget lets no pod of the workload be evicted; empty if it
// does let one, or is for other pods.
func (c *comparison) holds(budget *object, selector labels.Selector, roll result.Roll) string {
	workload := c.workload(roll)
	if workload == nil || roll.Namespace != budget.ref.Namespace {
		return ""
	}
	own, _, _ := unstructured.NestedStringMap(workload.template(), "metadata", "labels")
	if !selector.Matches(labels.Set(own)) {
		return ""
	}
	want := c.podsWanted(workload)
	spec, _, _ := unstructured.NestedMap(budget.content.Object, "spec")
	if most, ok := spec["maxUnavailable"]; ok {
		if text := fmt.Sprint(most); strings.TrimSuffix(text, "%") == "0" {
			return "maxUnavailable: " + text
		}
		return ""
	}
	least, ok := spec["minAvailable"]
	if !ok {
		return ""
	}
	text := fmt.Sprint(least)
	var number int
	if percent, is := strings.CutSuffix(text, "%"); is {
		if percent != "100" {
			return ""
		}
		return fmt.Sprintf("minAvailable: %s of %d", text, want)
	}
	if _, err := fmt.Sscan(text, &number); err != nil || want == 0 || number < want {
		return ""
	}
	return fmt.Sprintf("minAvailable: %s of %d", text, want)
}

func (c *comparison) workload(roll result.Roll) *object {
	for _, o := range c.after.objects {
		if o.ref.Ref() == roll.Ref {
			return o
		}
	}
	return nil
}

// podsWanted is how many pods the workload has: those that live, or those that it asks for.
func (c *comparison) podsWanted(o *object) int {
	if o.ref.GVK.Kind == "DaemonSet" {
		return len(c.after.pods[o.ref.Key()])
	}
	return replicas(o)
}
