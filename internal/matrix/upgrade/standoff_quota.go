package upgrade

import (
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result"
)

// overQuota is what the API server says of a pod that a ResourceQuota has no room for.
var overQuota = regexp.MustCompile(`exceeded quota: \S+, requested: (\S+), used: (\S+), limited: (\S+)`)

// quotaless says which workloads wait for what their own old pods use of a quota; nil if another one is
// rejected for something else.
func quotaless(report observe.WorkloadReport, view *observe.View) map[result.Ref]string {
	waits := map[result.Ref]string{}
	for _, r := range report.Refused {
		live := view.Live[observe.WorkloadKey(r.Workload.Kind, r.Workload.Namespace, r.Workload.Name)]
		old := view.PodsOf[live.UID] // no new one was created
		m := overQuota.FindStringSubmatch(r.Text)
		if m == nil || live.Surge == "" || len(old) == 0 || !fitsQuotaWithout(m[1], m[2], m[3], old) {
			return nil
		}
		waits[observe.WorkloadRef(r.Workload.Kind, r.Workload.Namespace, r.Workload.Name)] = waitsFor(live, "quota", old)
	}
	return waits
}

// fitsQuotaWithout reports whether a quota would admit what is requested if these pods were gone. The
// three lists are the API server's: "pods=1,requests.cpu=2".
func fitsQuotaWithout(requested, used, limited string, old []*corev1.Pod) bool {
	want, have, most := amounts(requested), amounts(used), amounts(limited)
	for name, q := range want {
		left, ok := have[name]
		limit, known := most[name]
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
	return len(want) > 0
}

func amounts(list string) map[string]resource.Quantity {
	all := map[string]resource.Quantity{}
	for _, item := range strings.Split(list, ",") {
		name, text, _ := strings.Cut(item, "=")
		if q, err := resource.ParseQuantity(text); err == nil {
			all[name] = q
		}
	}
	return all
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
