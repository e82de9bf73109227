package main

import (
	"encoding/json"
	"encoding/xml"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
)

// clusterOf is a program whose cluster has these objects, and no custom resources.
func clusterOf(objects ...runtime.Object) bench {
	kinds := map[schema.GroupVersionResource]string{}
	for _, r := range []string{"clusterpolicies.v1.nvidia.com", "nvidiadrivers.v1alpha1.nvidia.com", "nicclusterpolicies.v1alpha1.mellanox.com", "deploymentpolicies.v1alpha1.skyhook.nvidia.com"} {
		gvr, _ := schema.ParseResourceArg(r)
		kinds[*gvr] = "List"
	}
	return bench{client: fake.NewClientset(objects...), objects: dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds)}
}

func TestSnapshot(t *testing.T) {
	b := clusterOf(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"eks.amazonaws.com/nodegroup": "gpu"}}})
	r := b.run(t, "snapshot", "--only", "K8s,NodeTopology")
	r.want(t, 0)
	for _, part := range []string{"kind: Snapshot\n", "eks.amazonaws.com/nodegroup: gpu\n", "type: K8s\n", "type: NodeTopology\n"} {
		if !strings.Contains(r.stdout, part) {
			t.Errorf("want %q in\n%s", part, r.stdout)
		}
	}
	// What it writes is what aicr recipe reads, in each form, and through a ConfigMap.
	for _, format := range []string{"yaml", "json"} {
		file := filepath.Join(t.TempDir(), "s."+format)
		b.run(t, "snapshot", "--only", "NodeTopology", "--format", format, "-o", file).want(t, 0)
		invoke(t, "recipe", "-s", file, "-i", "training").want(t, 0, "note: service eks, by the snapshot: NodeTopology.label.eks.amazonaws.com/nodegroup gpu")
	}
	b.run(t, "snapshot", "--only", "nodetopology", "-o", "cm://gpu/aicr-snapshot").want(t, 0)
	b.run(t, "recipe", "-s", "cm://gpu/aicr-snapshot", "-i", "training").want(t, 0, "note: service eks")
	if table := b.run(t, "snapshot", "--only", "NodeTopology", "--format", "table"); !strings.Contains(table.stdout, "NodeTopology   label     eks.amazonaws.com/nodegroup") {
		t.Errorf("got\n%s%s", table.stdout, table.stderr)
	}
	// A part that cannot be measured is left out, with the reason; nothing at all is an error.
	invoke(t, "snapshot").want(t, 0, "warning: K8s is not measured: no cluster is configured")
	invoke(t, "snapshot", "--only", "K8s").want(t, 6, "nothing could be measured: K8s is not measured: no cluster is configured")
	for want, args := range map[string][]string{
		`--only "cpu": want K8s, NodeTopology, OS, SystemD, GPU`: {"--only", "cpu"},
		`--format "xml": want yaml, json, table`:                 {"--format", "xml"},
		"--timeout 0s: want more than 0":                         {"--timeout", "0s"},
		"nothing can read a table":                               {"--format", "table", "-o", "cm://a/b"},
		"a snapshot cannot be written to https://x.example/":     {"-o", "https://x.example/"},
	} {
		invoke(t, append([]string{"snapshot"}, args...)...).want(t, 2, want)
	}
}

func TestValidate(t *testing.T) {
	made := recipeFile(t)
	r := invoke(t, "validate", "-r", made, "-s", snapshotFile)
	r.want(t, 0, "status pass: 1 passed, 0 failed, 0 skipped")
	for _, part := range []string{"kind: ValidationResult\n", "actual: v1.33.5-eks-3025e55\n", "expected: '>= 1.32.4'\n", "status: pass\n", "line: "} {
		if !strings.Contains(r.stdout, part) {
			t.Errorf("want %q in\n%s", part, r.stdout)
		}
	}
	old := write(t, "s.yaml", strings.Replace(read(t, snapshotFile), "v1.33.5-eks", "v1.29.0-eks", 1))
	failed := invoke(t, "validate", "-r", made, "-s", old, "-o", filepath.Join(t.TempDir(), "result.yaml"))
	failed.want(t, 2, "status fail: 0 passed, 1 failed, 0 skipped", "✗ readiness/K8s.server.version: K8s.server.version is v1.29.0-eks-3025e55, want >= 1.32.4 ("+made+":")
	invoke(t, "validate", "-r", made, "-s", old, "--fail-on-error=false").want(t, 0, "status fail")
	none := write(t, "s.yaml", "apiVersion: aicr.nvidia.com/v1alpha1\nkind: Snapshot\nmeasurements: []\n")
	if partial := invoke(t, "validate", "-r", made, "-s", none, "--format", "table"); partial.code != 0 || !strings.Contains(partial.stdout, "status partial: 0 passed, 0 failed, 1 skipped") {
		t.Errorf("got %d\n%s%s", partial.code, partial.stdout, partial.stderr)
	}
	var doc struct {
		Summary struct{ Total int }
		Results []struct{ Phase, Name, Status string }
	}
	if asJSON := invoke(t, "validate", "-r", made, "-s", snapshotFile, "--format", "json"); json.Unmarshal([]byte(asJSON.stdout), &doc) != nil || doc.Summary.Total != 1 || doc.Results[0].Name != "K8s.server.version" {
		t.Errorf("got\n%s", asJSON.stdout)
	}
}

// The same results in the forms that CI systems read.
func TestValidateReports(t *testing.T) {
	made := recipeFile(t)
	old := write(t, "s.yaml", strings.Replace(read(t, snapshotFile), "v1.33.5-eks", "v1.29.0-eks", 1))
	b := bench{stdin: read(t, made)}
	var ctrf struct {
		Results struct {
			Summary struct{ Tests, Failed int }
			Tests   []struct{ Name, Status, Message string }
		}
	}
	r := b.run(t, "validate", "-r", "-", "-s", old, "--format", "ctrf", "--fail-on-error=false")
	if err := json.Unmarshal([]byte(r.stdout), &ctrf); err != nil || ctrf.Results.Summary.Failed != 1 || ctrf.Results.Tests[0].Name != "validate/readiness/K8s.server.version" {
		t.Errorf("got %v\n%s", err, r.stdout)
	}
	var junit struct {
		Suites []struct {
			Name  string `xml:"name,attr"`
			Cases []struct {
				Failure struct {
					Message string `xml:"message,attr"`
				} `xml:"failure"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	r = b.run(t, "validate", "-r", "-", "-s", old, "--format", "junit", "--fail-on-error=false")
	if err := xml.Unmarshal([]byte(r.stdout), &junit); err != nil || len(junit.Suites) != 1 || junit.Suites[0].Name != "validate/readiness" || !strings.Contains(junit.Suites[0].Cases[0].Failure.Message, "v1.29.0") {
		t.Errorf("got %v\n%s", err, r.stdout)
	}
}

// Checks read the cluster. Without --snapshot a snapshot of it is taken.
func TestValidateCluster(t *testing.T) {
	made := recipeFile(t)
	b := clusterOf()
	r := b.run(t, "validate", "-r", made, "--phase", "deployment,performance")
	if !strings.Contains(r.stdout, "not run, since phase deployment failed") {
		t.Errorf("got\n%s", r.stdout)
	}
	r.stdout = "" // the result is data, though something failed
	r.want(t, 8, "note: without --snapshot, the cluster is measured now", "✗ deployment/operator-health (gpu-operator): namespace gpu-operator has no workload")
	invoke(t, "validate", "-r", made, "-s", snapshotFile, "--phase", "all").want(t, 6, "--phase all looks at the cluster: no cluster is configured")
	invoke(t, "validate", "-r", made).want(t, 6, "without --snapshot the cluster is measured: no cluster is configured")
}

func TestValidate_Invalid(t *testing.T) {
	made := recipeFile(t)
	text := read(t, made)
	for want, args := range map[string][]string{
		"--recipe: name the recipe":                           {},
		`--phase: there is no phase "deploy"`:                 {"-r", made, "--phase", "deploy"},
		`--format "xml": want yaml, json, table, ctrf, junit`: {"-r", made, "--format", "xml"},
		"--format ctrf: write yaml or json to cm://a/b":       {"-r", made, "--format", "ctrf", "-o", "cm://a/b"},
		"cannot both be read from standard input":             {"-r", "-", "-s", "-"},
		"snapshot file no.yaml does not exist":                {"-r", made, "-s", "no.yaml"},
		"recipe file no.yaml does not exist":                  {"-r", "no.yaml", "-s", snapshotFile},
		`r.yaml:1: apiVersion is "aicr.nvidia.com/v2"`:        {"-r", write(t, "r.yaml", strings.Replace(text, "v1alpha1", "v2", 1)), "-s", snapshotFile},
		`s.yaml:1: apiVersion is "aicr.nvidia.com/v2"`:        {"-r", made, "-s", write(t, "s.yaml", strings.Replace(read(t, snapshotFile), "v1alpha1", "v2", 1))},
		"cut.yaml": {"-r", write(t, "cut.yaml", text[:len(text)/2]+"\n  [")},
		"validation.deployment.checks must be a list":                  {"-r", write(t, "r.yaml", text[:strings.Index(text, "validation:")]+"validation: {deployment: {checks: x}}\n"), "-s", snapshotFile, "--phase", "deployment"},
		"has no constraints and no checks for --phase conformance, so": {"-r", made, "-s", snapshotFile, "--phase", "conformance"},
	} {
		code := 2
		if strings.Contains(want, "does not exist") {
			code = 3
		}
		invoke(t, append([]string{"validate"}, args...)...).want(t, code, want)
	}
}
