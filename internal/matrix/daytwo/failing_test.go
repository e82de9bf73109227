package daytwo

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
)

// Each release fails in the way that leaves the most: by a hook Job, the later one, or by its last workload, and never by what
// all others need.
func TestNewFailing(t *testing.T) {
	const (
		namespace  = "{apiVersion: v1, kind: Namespace, metadata: {name: ns}}"
		config     = "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: c}}"
		deployment = "{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: ns, name: d}, spec: {template: {spec: {containers: [{name: a, image: b}]}}}}"
		definition = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: a.b.c}}"
	)
	job := func(name, hook string) string {
		return "{apiVersion: batch/v1, kind: Job, metadata: {namespace: ns, name: " + name + ", annotations: {helm.sh/hook: '" + hook + "'}}, spec: {template: {spec: {containers: [{name: a, image: b}]}}}}"
	}
	for name, tc := range map[string]struct {
		objects []string
		order   lane.Order
		want    string
	}{
		"the last object":          {[]string{namespace, config, definition}, lane.Order{}, "ConfigMap ns/c is rejected"},
		"a workload before others": {[]string{deployment, config}, lane.Order{}, "Deployment ns/d is rejected"},
		"a hook":                   {[]string{deployment, job("m", "pre-install,pre-upgrade")}, lane.Order{}, "hook Job ns/m fails"},
		"the later hook":           {[]string{deployment, job("after", "post-install"), job("before", "pre-install")}, lane.Order{}, "hook Job ns/after fails"},
		"a hook of an upgrade":     {[]string{deployment, job("m", "pre-upgrade")}, lane.Order{}, "Deployment ns/d is rejected"},
		"hooks that are no hooks":  {[]string{deployment, job("m", "pre-install")}, lane.Order{AtOnce: true}, "is rejected"},
		"nothing to fail by":       {[]string{namespace, definition}, lane.Order{}, ""},
	} {
		b := bundleOf(t, tc.objects...)
		for i := range b.Expectation.Objects {
			o := &b.Expectation.Objects[i]
			o.Hook = o.Object.GetAnnotations()["helm.sh/hook"] != ""
		}
		env := envWith(t)
		env.Bundle = b
		got := strings.Join(NewFailing(env, tc.order).How(), "\n")
		if !strings.Contains(got, tc.want) || (tc.want == "") != (got == "") {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}

// A step for one sequence is for that one alone; one for all may find nothing where the upgrade is no ordinary one.
func TestCarry_Sequence(t *testing.T) {
	for text, want := range map[string]map[string]string{
		"before: [{delete: ConfigMap/ns/a, sequence: removed}]\n": {"": "", result.SequenceRemoved: "fails", result.SequenceFailed: ""},
		"before: [{delete: ConfigMap/ns/a, sequence: upgrade}]\n": {"": "fails", result.SequenceRemoved: "", result.SequenceFailed: ""},
		"before: [{delete: ConfigMap/ns/a}]\n":                    {"": "fails", result.SequenceRemoved: "is not there", result.SequenceFailed: "is not there"},
	} {
		s, err := stepsOf(t, text)
		if err != nil {
			t.Fatal(err)
		}
		for sequence, outcome := range want {
			env := envWith(t)
			kube := fake.NewClientset()
			kube.Resources = []*metav1.APIResourceList{{GroupVersion: "v1", APIResources: []metav1.APIResource{{Name: "configmaps", Kind: "ConfigMap", Namespaced: true}}}}
			env.Clients.Kube, env.Clients.Discovery = kube, kube.Discovery()
			done, err := s.Carry(t.Context(), env, &bundle.Bundle{}, result.Cell{Recipe: "r", Sequence: sequence})
			got := strings.Join(done, "")
			if err != nil {
				got = "fails"
			}
			if !strings.Contains(got, outcome) || (outcome == "") != (got == "") {
				t.Errorf("%q in %q: got %q, %v; want %q", text, sequence, got, err, outcome)
			}
		}
	}
	if _, err := stepsOf(t, "before: [{chart: a, sequence: other}]\n"); err == nil || !strings.Contains(err.Error(), `sequence is "other"; want one of upgrade, failed, removed`) {
		t.Errorf("got %v", err)
	}
}
