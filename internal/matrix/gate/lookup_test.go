package gate

import (
	"errors"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result"
	reasons "github.com/nvidia/aicr-action/internal/result/reason"
)

const (
	ofHelm = "annotations: {meta.helm.sh/release-name: web, meta.helm.sh/release-namespace: x}"
	ofArgo = "annotations: {argocd.argoproj.io/tracking-id: 'web:apps/Deployment:x/extra'}"
)

// What a release delivered is found by its deployer's mark, unless it was foreseen, has an owner, or
// is another's.
func TestFind(t *testing.T) {
	old := &bundle.Bundle{Expectation: bundle.Expectation{Workloads: []bundle.Workload{{Kind: "Deployment", Namespace: "x", Name: "extra"}}}}
	for name, c := range map[string]struct {
		meta, name string
		before     *bundle.Bundle
		want       bool
	}{
		"Helm's":                  {meta: ofHelm, want: true},
		"Argo CD's":               {meta: ofArgo, want: true},
		"of a qualified name":     {meta: strings.Replace(ofArgo, "'web:", "'argocd_web:", 1), want: true},
		"a copy of Argo CD's":     {meta: strings.Replace(ofArgo, "x/extra", "x/web", 1)},
		"another release's":       {meta: strings.Replace(ofHelm, "name: web", "name: other", 1)},
		"a hook":                  {meta: "annotations: {helm.sh/hook: post-install}", want: true},
		"a hook of an upgrade":    {meta: "annotations: {helm.sh/hook: pre-upgrade}", before: &bundle.Bundle{}},
		"nobody's":                {meta: "labels: {app.kubernetes.io/managed-by: Helm}"},
		"foreseen":                {meta: ofHelm, name: "web"},
		"foreseen before":         {meta: ofHelm, before: old},
		"with an owner":           {meta: ofHelm + ", ownerReferences: [{apiVersion: v1, kind: Thing, name: t, uid: u}]"},
		"delivered by an upgrade": {meta: ofHelm, before: &bundle.Bundle{}, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			if c.name == "" {
				c.name = "extra"
			}
			live := &appsv1.Deployment{}
			if err := yaml.UnmarshalStrict([]byte("metadata: {name: "+c.name+", namespace: x, "+c.meta+"}\nspec: {replicas: 3, template: {spec: {containers: [{name: m, image: i}]}}}"), live); err != nil {
				t.Fatal(err)
			}
			view, err := observe.Poll(t.Context(), fake.NewClientset(live))
			if err != nil {
				t.Fatal(err)
			}
			found := findUnforeseen(bundleOf(), c.before, view)
			if !c.want {
				if len(found) > 0 {
					t.Errorf("got %+v, want none", found)
				}
				return
			}
			if len(found) != 1 || found[0].Name != "extra" || found[0].Replicas != 3 || found[0].Component != "b" || len(found[0].PodSpec.Containers) != 1 {
				t.Fatalf("got %+v", found)
			}
			if want := "Deployment x/extra (b) was not foreseen: the cluster has it of chart/templates/extra.yaml:2, and what was rendered without a cluster does not"; !strings.Contains(unforeseenLine(&found[0]), want) {
				t.Errorf("got %q, want %q", unforeseenLine(&found[0]), want)
			}
			ref := observe.WorkloadRef("Deployment", "x", "extra")
			failure := result.NewFailure(result.Finding{Cause: "no node", Object: &ref})
			explainUnforeseen(&reasons.Error{Reason: reasons.SchedulingFailed, Err: failure}, found)
			if len(failure.Findings[0].Story) != 1 || failure.Findings[0].Story[0] != unforeseenLine(&found[0]) {
				t.Errorf("got the story %q", failure.Findings[0].Story)
			}
			failure = result.NewFailure(result.Finding{Cause: "no node", Object: &ref, Story: []string{"  pods: x/extra-1"}})
			if explainUnforeseen(failure, found); len(failure.Findings[0].Story) != 2 || failure.Findings[0].Story[1] != "  "+unforeseenLine(&found[0]) {
				t.Errorf("beside lines that are indented: got the story %q", failure.Findings[0].Story)
			}
			explainUnforeseen(errors.New("no finding"), found)
		})
	}
}

// A pod that a controller made is its workload's; one of its own is a workload.
func TestFind_Pods(t *testing.T) {
	a := map[string]string{helmName: "web", helmNamespace: "x"}
	pod := func(name string, owners ...metav1.OwnerReference) runtime.Object {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "x", Annotations: a, OwnerReferences: owners}}
	}
	controller := true
	view, err := observe.Poll(t.Context(), fake.NewClientset(pod("alone"), pod("owned", metav1.OwnerReference{Kind: "ReplicaSet", UID: "u", Controller: &controller})))
	if err != nil {
		t.Fatal(err)
	}
	if found := findUnforeseen(bundleOf(), nil, view); len(found) != 1 || found[0].Kind != "Pod" || found[0].Name != "alone" {
		t.Errorf("got %+v", found)
	}
}

func bundleOf() *bundle.Bundle {
	ch := &chart.Chart{Metadata: &chart.Metadata{Name: "chart"}, Templates: []*chart.File{
		{Name: "templates/web.yaml", Data: []byte("kind: Deployment\nmetadata:\n  name: web\n")},
		{Name: "templates/extra.yaml", Data: []byte("{{ if lookup \"v1\" \"Namespace\" \"\" \"kube-system\" }}\nkind: Deployment\nmetadata:\n  name: extra\n{{ end }}\n")},
	}}
	release := bundle.Release{Component: "b", Name: "web", Namespace: "x"}
	return &bundle.Bundle{Installs: []bundle.Install{{Release: release, Chart: ch}}, Expectation: bundle.Expectation{
		Releases: []bundle.Release{release}, Workloads: []bundle.Workload{{Kind: "Deployment", Namespace: "x", Name: "web"}},
	}}
}
