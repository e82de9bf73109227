package matrix

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra/embedded"
	"github.com/nvidia/aicr-action/internal/infra/health"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/matrix/gate"
	"github.com/nvidia/aicr-action/internal/testkit"
)

func TestHealthAnswers(t *testing.T) {
	object := func(apiVersion, kind, namespace, name string) bundle.Object {
		o := &unstructured.Unstructured{}
		o.SetAPIVersion(apiVersion)
		o.SetKind(kind)
		o.SetNamespace(namespace)
		o.SetName(name)
		return bundle.Object{Object: o}
	}
	policy := health.Policy{Entries: []health.Entry{{APIVersion: "example.com/v1", Kind: "Listed", Rule: health.RuleExists, Reason: "why", Link: "https://example.com"}}}
	platform := &embedded.Platform{Operators: []simulate.OperatorStage{{Kind: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Played"}}}}
	uses, unanswered := gate.HealthAnswers([]bundle.Object{
		object("v1", "Pod", "ns", "p"), object("apps/v1", "Deployment", "ns", "d"), object("resource.k8s.io/v1", "DeviceClass", "", "c"),
		object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "crd"), object("apiregistration.k8s.io/v1", "APIService", "", "a"),
		object("monitoring.coreos.com/v1", "Prometheus", "ns", "p"), // package operators
		object("example.com/v1", "Played", "", "x"),
		object("example.com/v1", "Listed", "ns", "b"), object("example.com/v1", "Listed", "ns", "a"),
		object("example.com/v1", "Forgotten", "", "f"),
	}, policy, platform.Plays)
	testkit.WantEach(t, "uses", uses, []string{"Listed.example.com (ns/a, ns/b) counts as healthy as soon as it exists: why (https://example.com)"})
	testkit.WantEach(t, "unanswered", unanswered, []string{"Forgotten.example.com (f) was only checked for existence"})
}

// Every custom resource of the shipped charts has an answer.
func TestHealth_ShippedKinds(t *testing.T) {
	r := unitRunner(t)
	for recipe, also := range map[string][]string{
		"eks-training": nil, "h100-eks-ubuntu-inference-dynamo": {"AgentgatewayParameters."}, "h100-gke-cos-training-kubeflow": {"ClusterTrainingRuntime."},
	} {
		plans, err := r.Plan(recipe, bundle.Deployers()[:1])
		if err != nil {
			t.Fatal(err)
		}
		b, err := plans[0].Deployer.Bundle(t.Context(), plans[0].input)
		if err != nil {
			t.Fatal(err)
		}
		uses, unanswered := gate.HealthAnswers(b.Expectation.Objects, r.Health, r.Platform.Plays)
		testkit.WantEach(t, recipe+": unanswered", unanswered, nil)
		testkit.WantEach(t, recipe+": uses", uses, append(also, "PodMonitor.", "PrometheusRule.", "Queue.", "ServiceMonitor."))
	}
}
