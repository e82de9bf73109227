package daytwo

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result"
)

// quotaless says which workloads wait for what their own old pods use of a quota; nil if another one is
// rejected for something else.
func quotaless(report observe.WorkloadReport, view *observe.View) map[result.Ref]string {
	waits := map[result.Ref]string{}
	for _, r := range report.Refused {
		live := view.Live[observe.WorkloadKey(r.Workload.Kind, r.Workload.Namespace, r.Workload.Name)]
		old := view.PodsOf[live.UID] // no new one was created
		over, ok := observe.QuotaOverrun(r.Text)
		if !ok || live.Surge == "" || len(old) == 0 || !fitsQuotaWithout(over, old) {
			return nil
		}
		waits[observe.WorkloadRef(r.Workload.Kind, r.Workload.Namespace, r.Workload.Name)] = waitsFor(live, "quota", old)
	}
	return waits
}

// fitsQuotaWithout reports whether a quota would admit what is requested if these pods were gone.
func fitsQuotaWithout(over observe.Overrun, old []*corev1.Pod) bool {
	for name, q := range over.Requested {
		left, ok := over.Used[name]
		limit, known := over.Limited[name]
		if !ok || !known {
			return false
		}
		for _, p := range old {
			left.Sub(usedOf(p, name))
		}
		left.Add(q)
		if left.Cmp(limit) > 0 {
			return false
		}
	}
	return len(over.Requested) > 0
}

// usedOf is what a pod uses of a quota's resource, by the quota's name for it.
func usedOf(p *corev1.Pod, name string) resource.Quantity {
	if name == "pods" || name == "count/pods" {
		return resource.MustParse("1")
	}
	if of, ok := strings.CutPrefix(name, "limits."); ok {
		return resourcehelper.PodLimits(p, resourcehelper.PodResourcesOptions{})[corev1.ResourceName(of)]
	}
	return resourcehelper.PodRequests(p, resourcehelper.PodResourcesOptions{})[corev1.ResourceName(strings.TrimPrefix(name, "requests."))]
}
