package why

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// A pod of a Kustomize component: the first place is the patch behind the refusal, then the
// manifest, and the kustomization is named.
func TestProvenance_Kustomize(t *testing.T) {
	at := func(file string, line int) recipe.Origin {
		return recipe.Origin{File: "recipes/app/" + file, Line: line}
	}
	place := func(fields map[string]recipe.Origin, patches ...recipe.PlacePatch) *recipe.Place {
		return &recipe.Place{Kustomization: "recipes/app/kustomization.yaml", From: at("web.yaml", 10), Fields: fields, Patches: patches}
	}
	workload := func(built *recipe.Place, change func(*corev1.PodSpec)) *bundle.Workload {
		w := testkit.Expected("Deployment", "web", 1, testkit.Sys)
		w.Built = built
		change(&w.PodSpec)
		return &w
	}
	untolerated := func(s *corev1.PodSpec) { s.Tolerations = nil }
	for name, c := range map[string]struct {
		w     *bundle.Workload
		place string
		want  []string
	}{
		"a patch": {
			workload(place(map[string]recipe.Origin{"tolerations": at("web.yaml", 14)}, recipe.PlacePatch{Origin: at("other.yaml", 1), Parts: []string{"hostNetwork"}}, recipe.PlacePatch{Origin: at("drop.yaml", 3), Parts: []string{"nodeSelector", "tolerations"}}), untolerated),
			"recipes/app/drop.yaml:3",
			[]string{
				"  tolerations: set in recipes/app/web.yaml:14, a file of the kustomization recipes/app/kustomization.yaml", "  tolerations: changed by the patch in recipes/app/drop.yaml:3",
				"  edit: tolerate every taint (`operator: Exists`) in the patch in recipes/app/drop.yaml:3 (over recipes/app/web.yaml:14)",
			},
		},
		"no patch, no tolerations": {
			workload(place(nil), untolerated), "recipes/app/web.yaml:10",
			[]string{"  tolerations: none set in recipes/app/web.yaml:10, a file of the kustomization", "  edit: tolerate every taint (`operator: Exists`) in recipes/app/web.yaml:10"},
		},
		"a selector": {
			workload(place(map[string]recipe.Origin{"nodeSelector": at("web.yaml", 12)}), func(s *corev1.PodSpec) { s.NodeSelector["disktype"] = "ssd" }), "recipes/app/web.yaml:12",
			[]string{"  nodeSelector disktype=ssd: set in recipes/app/web.yaml:12", "  edit: remove `disktype: ssd` in recipes/app/web.yaml:12"},
		},
		"resources": {
			workload(place(map[string]recipe.Origin{"containers": at("web.yaml", 11)}, recipe.PlacePatch{Origin: at("big.yaml", 2), Parts: []string{"containers"}}), func(s *corev1.PodSpec) {
				s.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("1000")}}}}
			}), "recipes/app/big.yaml:2",
			[]string{"  cpu: changed by the patch in recipes/app/big.yaml:2", "in the patch in recipes/app/big.yaml:2 (over recipes/app/web.yaml:11)"},
		},
	} {
		report := observe.WorkloadReport{Pending: []observe.PendingPod{{Workload: c.w, PodFacts: observe.FactsOf(testkit.Pod("web-1", "", "", "", testkit.Refused("no"), func(p *corev1.Pod) { p.Spec = c.w.PodSpec })), Message: "no"}}}
		f := SchedulingFinding(nil, report, &observe.View{Nodes: testkit.NodeList(testkit.TestNodes())}).Findings[0]
		story := strings.Join(f.Story, "\n")
		for _, want := range c.want {
			if !strings.Contains(story, want) {
				t.Errorf("%s: no %q in\n%s", name, want, story)
			}
		}
		if got := (recipe.Origin{File: f.Place.File, Line: f.Place.Line}).String(); got != c.place || strings.Contains(story, "templates/") {
			t.Errorf("%s: place %s, want %s; story\n%s", name, got, c.place, story)
		}
	}
	w := workload(place(map[string]recipe.Origin{"nodeSelector": at("web.yaml", 12)}), untolerated)
	f := SchedulingFinding(nil, observe.WorkloadReport{Wrong: []observe.WrongWorkload{{Workload: w, Text: "pod ns/web-1 is on node a0", Node: true}}}, &observe.View{Nodes: testkit.NodeList(testkit.TestNodes())}).Findings[0]
	if f.Place.Line != 12 || !strings.Contains(strings.Join(f.Story, "\n"), "  selector: set in recipes/app/web.yaml:12") {
		t.Errorf("got %+v", f)
	}
}
