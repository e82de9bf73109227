package storage

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var hugePages = judge.Check{
	ID: "MX317", Name: "huge-pages-not-requested", Needs: judge.Rendered, Gives: reason.WorkloadFailed,
	Title: "Pods with a volume of huge pages request pages of its size",
	Why:   "A kubelet reads the pages' size from the requests, so that the medium without a size needs requests of one size (https://kubernetes.io/docs/tasks/manage-hugepages/scheduling-hugepages/). A limit is the request, too.",
	Fix:   "Request hugepages-SIZE in a container, and name the medium HugePages-SIZE.",
	Says:  "has volume %s of medium %s, and %s", Then: "a kubelet starts none of its containers (FailedMount)",
	Run: func(s *judge.Scope) {
		for _, p := range s.Pods() {
			for i, v := range facts.MountedVolumes(&p.Template.Spec) {
				if v.EmptyDir == nil || !strings.HasPrefix(string(v.EmptyDir.Medium), string(corev1.StorageMediumHugePages)) {
					continue
				}
				if lack := pagesLacking(p, string(v.EmptyDir.Medium)); lack != "" {
					s.Report(p.Object, fmt.Sprintf("%s.volumes[%d].emptyDir.medium", p.Path(), i), v.Name, v.EmptyDir.Medium, lack).OneOfTemplate()
				}
			}
		}
	},
}

// pagesLacking says what the requests of a pod lack for a volume of huge pages; empty if nothing.
func pagesLacking(p facts.PodTemplate, medium string) string {
	var sizes []string
	var all []corev1.ResourceList
	if r := p.Template.Spec.Resources; r != nil {
		all = append(all, r.Requests, r.Limits)
	}
	for _, c := range p.Containers() {
		all = append(all, c.Resources.Requests, c.Resources.Limits)
	}
	for _, list := range all {
		for name := range list {
			if size, is := strings.CutPrefix(string(name), corev1.ResourceHugePagesPrefix); is && !slices.ContainsFunc(sizes, func(s string) bool { return sameSize(s, size) }) {
				sizes = append(sizes, size)
			}
		}
	}
	_, wanted, sized := strings.Cut(medium, "-")
	switch {
	case sized && !slices.ContainsFunc(sizes, func(s string) bool { return sameSize(s, wanted) }):
		return "no container requests hugepages-" + wanted
	case len(sizes) == 0:
		return "no container requests huge pages"
	case !sized && len(sizes) > 1:
		return "its containers request huge pages of several sizes (" + strings.Join(slices.Sorted(slices.Values(sizes)), ", ") + ")"
	}
	return ""
}

// sameSize compares two sizes: 1024Mi is 1Gi.
func sameSize(a, b string) bool {
	x, err := resource.ParseQuantity(a)
	if err != nil {
		return a == b
	}
	y, err := resource.ParseQuantity(b)
	return err == nil && x.Cmp(y) == 0
}
