package why

import (
	"cmp"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result"
)

// TemplateRefusal says why no node admits the pod template of a workload, as if there were no other pods: it uses the
// view's nodes and not its pods. The text is one line, more is what a person reads next, and the place is what steers
// the pods. The text is empty if some node admits it.
func TemplateRefusal(w *bundle.Workload, view *observe.View) (text string, more []string, place result.Place) {
	e := explainTemplate(w, view)
	if !e.Refused() {
		return "", nil, result.Place{}
	}
	return cmp.Or(strings.Join(groupTexts(e.Groups), ", "), "it has none"), e.lines(), placeOf(e.sources)
}

// ofClass adds to a pod what the API server takes from its RuntimeClass: which nodes it is for, which
// taints it tolerates, and what it takes besides its containers.
func ofClass(spec *corev1.PodSpec, view *observe.View) {
	if spec.RuntimeClassName == nil {
		return
	}
	class := view.RuntimeClasses[*spec.RuntimeClassName]
	if class == nil {
		return
	}
	if class.Overhead != nil && spec.Overhead == nil {
		spec.Overhead = class.Overhead.PodFixed
	}
	if class.Scheduling == nil {
		return
	}
	spec.Tolerations = append(spec.Tolerations, class.Scheduling.Tolerations...)
	if spec.NodeSelector == nil && len(class.Scheduling.NodeSelector) > 0 {
		spec.NodeSelector = map[string]string{}
	}
	maps.Copy(spec.NodeSelector, class.Scheduling.NodeSelector)
}

// byClass is the RuntimeClass that has a pod select its nodes by a label which its template does not
// name; empty if none does.
func (p *provenance) byClass(key string) string {
	if p.w == nil || p.w.PodSpec.RuntimeClassName == nil {
		return ""
	}
	if _, own := p.w.PodSpec.NodeSelector[key]; own {
		return ""
	}
	return *p.w.PodSpec.RuntimeClassName
}
