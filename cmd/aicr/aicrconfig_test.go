package main

import (
	"fmt"
	"strings"
	"testing"
)

const head = "apiVersion: aicr.run/v1alpha2\nkind: AICRConfig\nspec:\n"

const whole = head + `  recipe:
    criteria: {service: eks, accelerator: h100, nodes: 8}
    profile: gpuStack=managed
    output: {path: recipe.yaml, format: json}
    data: ./mine
    criteriaStrict: false
  bundle:
    input: {recipe: recipe.yaml}
    output: {target: "oci://example.com/a/b"}
    deployment:
      deployer: flux-oci
      repo: oci://example.com/a/b
      set: [gpuoperator:a=b, "gpuoperator:c=d"]
      dynamic: [gpuoperator:e]
      appName: mine
      vendorCharts: true
    scheduling:
      systemNodeSelector: {role: system, a: b}
      systemNodeTolerations: [x=y:NoSchedule]
      acceleratedNodeSelector: {gpu: "true"}
      acceleratedNodeTolerations: [z:NoExecute]
      workloadGate: g=h:NoSchedule
      workloadSelector: {type: training}
      nodes: 2
      storageClass: gp3
      sharedStorageClass: efs
      draEvictionNodeLabel: a=b
    attestation: {enabled: false}
    registry: {plainHTTP: true}
  verify: {policy: {minTrustLevel: max}}
`

// Every field is a flag, with its line.
func TestRead(t *testing.T) {
	c, err := readAICRConfig("c.yaml", []byte(whole))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, v := range append(c.Values(aicrConfigRecipe), c.Values(aicrConfigBundle)...) {
		got = append(got, fmt.Sprintf("%d --%s %s", v.At.Line, v.Flag, strings.Join(v.Texts, " | ")))
	}
	want := []string{
		"5 --service eks", "5 --accelerator h100", "5 --nodes 8", "6 --profile gpuStack=managed", "7 --output recipe.yaml", "7 --format json", "8 --data ./mine", "9 --criteria-strict false",
		"11 --recipe recipe.yaml", "12 --output oci://example.com/a/b", "14 --deployer flux-oci", "15 --repo oci://example.com/a/b", "16 --set gpuoperator:a=b | gpuoperator:c=d", "17 --dynamic gpuoperator:e",
		"18 --app-name mine", "21 --system-node-selector a=b | role=system", "22 --system-node-toleration x=y:NoSchedule", "23 --accelerated-node-selector gpu=true", "24 --accelerated-node-toleration z:NoExecute",
		"25 --workload-gate g=h:NoSchedule", "26 --workload-selector type=training", "27 --nodes 2", "28 --storage-class gp3", "29 --shared-storage-class efs", "30 --dra-eviction-node-label a=b",
		"19 --vendor-charts true", "32 --plain-http true",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if len(c.Notes) != 0 {
		t.Errorf("got notes %q", c.Notes)
	}
	newer, err := readAICRConfig("c.yaml", []byte(strings.Replace(whole, "v1alpha2", "v9", 1)))
	if err != nil || len(newer.Notes) != 1 || !strings.Contains(newer.Notes[0], "c.yaml:1: apiVersion aicr.run/v9 of AICRConfig is newer than this tool") {
		t.Errorf("got %v, %v", newer, err)
	}
}

func TestReadRefuses(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"empty":        {"", "c.yaml: the file is empty"},
		"kind":         {"apiVersion: aicr.run/v1beta1\nkind: RecipeCriteria\n", `c.yaml:2: kind is "RecipeCriteria" but must be "AICRConfig"`},
		"apiVersion":   {"apiVersion: v1\nkind: AICRConfig\n", `c.yaml:1: apiVersion is "v1"`},
		"no section":   {head, "c.yaml:3: spec has none of"},
		"field":        {head + "  recipe: {criteria: {servise: eks}}\n", "c.yaml:4: "},
		"both":         {head + "  recipe:\n    criteria: {service: eks}\n    input: {snapshot: s.yaml}\n", "c.yaml:6: spec.recipe has criteria and input.snapshot"},
		"format":       {head + "  recipe: {output: {format: xml}}\n", `c.yaml:4: spec.recipe.output.format is "xml"`},
		"two recipes":  {head + "  recipe: {output: {path: a}}\n  bundle: {input: {recipe: b}}\n", "c.yaml:5: spec.bundle.input.recipe is b, and spec.recipe.output.path is a"},
		"signing":      {head + "  bundle: {attestation: {enabled: true}}\n", "c.yaml:4: spec.bundle.attestation.enabled is not for this program: it signs nothing"},
		"certificates": {head + "  bundle:\n    registry:\n      insecureTLS: true\n", "c.yaml:6: spec.bundle.registry.insecureTLS is not for this program"},
		"not a number": {head + "  bundle: {scheduling: {nodes: many}}\n", "c.yaml:4: spec.bundle.scheduling.nodes must be a whole number"},
	} {
		if _, err := readAICRConfig("c.yaml", []byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}
