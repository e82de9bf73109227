package matrix

import (
	_ "embed"
	"slices"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// deviceFaults are claims of devices that no node, no driver or no class satisfies.
func deviceFaults() []fault {
	claiming := func(request string) func(*tinyRecipe) {
		return func(r *tinyRecipe) { claimant(r, request) }
	}
	const some, other = "deviceClassName: gpu.nvidia.com", `selectors: [{cel: {expression: 'device.attributes["gpu.nvidia.com"].productName == "NVIDIA X9000"'}}]`
	return []fault{
		{
			id: "F123", what: "a claim for more GPUs than a node has", verdict: "exit 1: the scheduler's message, and the claim, its class and what each node has; a claim that fits is allocated by the real scheduler",
			seeds: []seed{
				{name: "fits", nightly: families, recipe: claiming(some + ", allocationMode: ExactCount, count: 8"), want: outcomeWanted{check: devicesPublished}},
				{name: "more", nightly: families, recipe: claiming(some + ", allocationMode: ExactCount, count: 9"),
					want: red(reason.SchedulingFailed, "Deployment b/b (b): 0/6 nodes are available", "cannot allocate all claims").and("4 accelerated nodes", "claim gpu of ResourceClaimTemplate b/gpu: DeviceClass gpu.nvidia.com: asks for 9 devices, has 8")},
			},
			tests: []string{"internal/infra/simulate TestDevices", "internal/matrix/why TestRefusals"},
		},
		{
			id: "F124", what: "a claim with a CEL selector for a product that no node has, or for an attribute that no device has", verdict: "exit 1: the selector, and what the devices have instead",
			seeds: []seed{
				{name: "product", nightly: families, recipe: claiming(some + ", " + other),
					want: red(reason.SchedulingFailed, "cannot allocate all claims").and(`none of its 8 devices has device.attributes["gpu.nvidia.com"].productName == "NVIDIA X9000" (has productName NVIDIA H100 80GB HBM3)`)},
				{name: "attribute", nightly: families, recipe: claiming(some + `, selectors: [{cel: {expression: 'device.attributes["gpu.nvidia.com"].nvlink == "4"'}}]`),
					want: red(reason.SchedulingFailed, "CEL runtime error: no such key: nvlink").and(`device.attributes["gpu.nvidia.com"].nvlink == "4" cannot be evaluated for device gpu-0`)},
			},
			tests: []string{"internal/matrix/why TestRefusals"},
		},
		{
			id: "F125", what: "a claim of a DeviceClass that no component installs, a template of claims that nothing makes", verdict: "exit 1, before anything is delivered where nothing of the recipe can make it; of a workload without pods too",
			seeds: []seed{
				{name: "class", nightly: families, recipe: claiming("deviceClassName: gpus.example.com"),
					want: red(reason.SchedulingFailed, "claims a device of DeviceClass gpus.example.com, which does not exist")},
				{name: "no pods", nightly: families, recipe: func(r *tinyRecipe) {
					claimant(r, "deviceClassName: gpus.example.com")
					r.part("b").edit("  replicas: 1\n", "  replicas: 0\n")
				}, want: red(reason.SchedulingFailed, "ResourceClaimTemplate b/gpu (b): claims a device of DeviceClass gpus.example.com, which does not exist, and nothing in the recipe installs it")},
			},
			tests: []string{"internal/matrix/checks TestCases"},
		},
		{
			id: "F126", what: "a DRA driver that publishes no devices: it is not installed, or its role does not let it", verdict: "exit 1: that no driver publishes any there, with what the API server refused",
			seeds: []seed{
				{name: "role", nightly: families, recipe: func(r *tinyRecipe) {
					claimant(r, some)
					a := r.part("a").templates["driver.yaml"]
					r.part("a").add("driver.yaml", strings.Replace(a, "[resourceslices]", "[resourceclaims]", 1))
				}, want: red(reason.SchedulingFailed, "cannot allocate all claims").and("has no devices, since no DRA driver publishes any there", `DRA driver gpu.nvidia.com publishes no devices on 4 nodes`, `cannot create resource "resourceslices"`)},
			},
			tests: []string{"internal/infra/simulate TestPublisher"},
		},
	}
}

func devicesPublished(t *testing.T, r result.Result) {
	t.Helper()
	if !slices.Contains(r.StandIns, "ResourceSlices of gpu.nvidia.com for 4 nodes (by the nodes' labels)") {
		t.Errorf("got the stand-ins %q, want the devices of 4 nodes", r.StandIns)
	}
}

// claimant has component a install a DRA driver, and b's Deployment claim devices.
func claimant(r *tinyRecipe, request string) {
	r.part("a").add("driver.yaml", draDriver)
	r.part("b").add("claim.yaml", "apiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\nmetadata: {name: gpu}\nspec: {spec: {devices: {requests: [{name: gpu, exactly: {"+request+"}}]}}}\n")
	r.part("b").edit("      nodeSelector: {{ toYaml .Values.nodeSelector | nindent 8 }}\n      tolerations: {{ toYaml .Values.tolerations | nindent 8 }}\n      containers: [{name: main,",
		"      tolerations: [{operator: Exists}]\n      resourceClaims: [{name: gpu, resourceClaimTemplateName: gpu}]\n      containers: [{name: main, resources: {claims: [{name: gpu}]},")
}

//go:embed testdata/objects/dra_driver.yaml
var draDriver string
