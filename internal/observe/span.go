package observe

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result"
)

// SpansOf says of each component from when to when its workloads became ready, the earliest first: from the
// creation of the first to the moment when the last of their pods was ready or had ended. Kubernetes writes these
// times in whole seconds. Components without workloads have none. Begin is the start of the cell.
func SpansOf(expected []bundle.Workload, v *View, begin time.Time) []result.Span {
	if v == nil {
		return nil
	}
	spans := map[string]*result.Span{}
	since := func(at time.Time) int64 { return max(0, at.Sub(begin).Milliseconds()) }
	for i := range expected {
		w, ok := v.Live[WorkloadKey(expected[i].Kind, expected[i].Namespace, expected[i].Name)]
		if !ok {
			continue
		}
		from := since(w.Object.GetCreationTimestamp().Time)
		s := spans[expected[i].Component]
		if s == nil {
			s = &result.Span{Component: expected[i].Component, From: from, Until: from, Ready: true}
			spans[s.Component] = s
		}
		s.From = min(s.From, from)
		for _, pod := range v.PodsOf[w.UID] {
			at, ready := readyAt(pod)
			if !ready {
				at, s.Ready = v.Taken, false
			}
			s.Until = max(s.Until, since(at))
		}
		if len(v.PodsOf[w.UID]) < w.want {
			s.Until, s.Ready = max(s.Until, since(v.Taken)), false
		}
	}
	all := make([]result.Span, 0, len(spans))
	for _, s := range spans {
		all = append(all, *s)
	}
	slices.SortFunc(all, func(a, b result.Span) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Until, b.Until), strings.Compare(a.Component, b.Component))
	})
	return all
}

// readyAt is when a pod became ready, or its last container ended.
func readyAt(p *corev1.Pod) (time.Time, bool) {
	if infra.PodEnded(p) {
		at := p.CreationTimestamp.Time
		for _, c := range p.Status.ContainerStatuses {
			if t := c.State.Terminated; t != nil && t.FinishedAt.After(at) {
				at = t.FinishedAt.Time
			}
		}
		return at, true
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Time, true
		}
	}
	return time.Time{}, false
}
