package snapshot

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/recipe/document"
	"time"
)

const head = "apiVersion: aicr.nvidia.com/v1alpha1\nkind: Snapshot\n"

func of(t *testing.T, measurements string) *Snapshot {
	t.Helper()
	s, err := Read("s.yaml", []byte(head+"measurements:\n"+measurements))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestValue(t *testing.T) {
	s := of(t, `- type: K8s
  subtypes:
  - {subtype: server, data: {version: 1.30, ready: true, nodes: 8, none: null}}
- type: OS
  subtypes:
  - {subtype: sysctl, data: {/proc/sys/kernel/osrelease: 6.8.0-1028-aws, a.b.c: x}, context: {a.b.c: a key}}
`)
	for path, want := range map[string]string{
		"K8s.server.version": "1.30", "k8s.server.version": "1.30", "K8s.server.ready": "true", "K8s.server.nodes": "8",
		"OS.sysctl./proc/sys/kernel/osrelease": "6.8.0-1028-aws", "OS.sysctl.a.b.c": "x",
	} {
		if got, ok := s.Value(path); !ok || got != want {
			t.Errorf("%s: got %q, %v, want %q", path, got, ok, want)
		}
	}
	for _, path := range []string{"", "K8s", "K8s.server", "K8s.server.none", "K8s.server.other", "K8s.other.version", "GPU.server.version"} {
		if got, ok := s.Value(path); ok {
			t.Errorf("%s: got %q", path, got)
		}
	}
	raw, err := json.Marshal(s.Measurements[0].Subtypes[0].Data)
	if err != nil || string(raw) != `{"nodes":8,"none":null,"ready":true,"version":1.3}` {
		t.Errorf("got %s, %v", raw, err)
	}
	if _, err := Read("s.json", []byte(`{"apiVersion": "aicr.nvidia.com/v1alpha1", "kind": "Snapshot", "measurements": []}`)); err != nil {
		t.Errorf("as JSON: %v", err)
	}
}

func TestReadRefuses(t *testing.T) {
	bomb := "a0: &a0 [x,x,x,x,x,x,x,x,x]\n"
	for i := range 9 {
		bomb += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d,", i), 9))
	}
	for name, c := range map[string]struct{ text, want string }{
		"empty":           {"", "s.yaml: the file is empty"},
		"nothing":         {"---\n", "s.yaml:1: it is not a Snapshot document"},
		"text":            {"hello\n", "s.yaml:1: it is not a Snapshot document"},
		"HTML":            {"<!DOCTYPE html>\n<html>\n", "s.yaml:1: it is not a Snapshot document"},
		"another kind":    {strings.Replace(head, "Snapshot", "Recipe", 1), `s.yaml:2: kind is "Recipe", and must be "Snapshot"`},
		"another version": {strings.Replace(head, "v1alpha1", "v2", 1), `s.yaml:1: apiVersion is "aicr.nvidia.com/v2"`},
		"no version":      {"kind: Snapshot\n", `apiVersion is ""`},
		"truncated":       {head + "measurements:\n- type: K8s\n  subtypes: [", "s.yaml:"},
		"unknown field":   {head + "measurement: []\n", "s.yaml:3: it is no snapshot: field measurement not found"},
		"a bomb":          {bomb, "stands for more than 64 MiB"},
		"two documents":   {head + "---\n" + head, "s.yaml:3: a second document starts here"},
		"a list":          {head + "measurements: [{type: K8s, subtypes: [{subtype: a, data: {b: [1]}}]}]\n", "s.yaml:3: it is no snapshot: a reading must be a text, a number or a boolean"},
		"no type":         {head + "measurements: [{subtypes: []}]\n", "s.yaml: measurements[0] has no type"},
		"no subtype":      {head + "measurements: [{type: K8s, subtypes: [{data: {}}]}]\n", "s.yaml: measurements[0].subtypes[0] (K8s) has no subtype"},
		"twice":           {head + "measurements: [{type: K8s, subtypes: [{subtype: a}]}, {type: k8s, subtypes: [{subtype: a}]}]\n", "s.yaml: it has the subtype k8s.a twice"},
	} {
		start := time.Now()
		if _, err := Read("s.yaml", []byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%s: it took %s", name, took)
		}
	}
}

func TestInfer(t *testing.T) {
	for name, c := range map[string]struct{ measurements, want string }{
		"eks by version":   {"- {type: K8s, subtypes: [{subtype: server, data: {version: v1.33.5-eks-3025e55}}]}\n", "service=eks"},
		"gke by version":   {"- {type: K8s, subtypes: [{subtype: server, data: {version: v1.33.5-gke.1080000}}]}\n", "service=gke"},
		"aks by image":     {"- {type: K8s, subtypes: [{subtype: server, data: {version: v1.33.5}}, {subtype: image, data: {mcr.microsoft.com/oss/kubernetes/coredns: v1}}]}\n", "service=aks"},
		"kind by image":    {"- {type: K8s, subtypes: [{subtype: image, data: {kindnetd: docker.io/kindest/kindnetd}}]}\n", "service=kind"},
		"oke by label":     {"- {type: NodeTopology, subtypes: [{subtype: label, data: {oci.oraclecloud.com/x: y}}]}\n", "service=oke"},
		"contradiction":    {"- {type: NodeTopology, subtypes: [{subtype: label, data: {oci.oraclecloud.com/x: y, eks.amazonaws.com/nodegroup: z}}]}\n", "service="},
		"h100":             {"- {type: GPU, subtypes: [{subtype: smi, data: {product-name: NVIDIA H100 80GB HBM3}}]}\n", "accelerator=h100"},
		"gb200, not b200":  {"- {type: GPU, subtypes: [{subtype: smi, data: {gpu.model: NVIDIA GB200}}]}\n", "accelerator=gb200"},
		"l40s":             {"- {type: GPU, subtypes: [{subtype: smi, data: {product-name: NVIDIA L40S}}]}\n", "accelerator=l40s"},
		"by AICR's CLI":    {"- {type: GPU, subtypes: [{subtype: hardware, data: {model: rtx-pro-6000, gpu-count: 8}}]}\n", "accelerator=rtx-pro-6000"},
		"by a label":       {"- {type: NodeTopology, subtypes: [{subtype: label, data: {nvidia.com/gpu.product: \"NVIDIA-H100-80GB-HBM3|a,b\"}}]}\n- {type: GPU, subtypes: [{subtype: hardware, data: {model: a100}}]}\n", "accelerator=h100"},
		"by two labels":    {"- {type: NodeTopology, subtypes: [{subtype: label, data: {nvidia.com/gpu.product.a: \"NVIDIA-H100|a\", nvidia.com/gpu.product.b: \"NVIDIA-L40S|b\"}}]}\n- {type: GPU, subtypes: [{subtype: hardware, data: {model: a100}}]}\n", "accelerator="},
		"provider":         {"- {type: K8s, subtypes: [{subtype: node, data: {provider: rke2}}, {subtype: image, data: {mcr.microsoft.com/aks/x: v1}}]}\n", "service=rke2"},
		"provider of old":  {"- {type: K8s, subtypes: [{subtype: node, data: {provider: ocid1.instance.oc1}}]}\n", "service=oke"},
		"oracle":           {"- {type: OS, subtypes: [{subtype: release, data: {ID: ol}}]}\n", "os=ol"},
		"red hat":          {"- {type: OS, subtypes: [{subtype: release, data: {ID: RedHatEnterpriseLinux}}]}\n", "os=rhel"},
		"workstation":      {"- {type: GPU, subtypes: [{subtype: smi, data: {product-name: NVIDIA RTX PRO 6000 Blackwell}}]}\n", "accelerator=rtx-pro-6000"},
		"two GPUs":         {"- {type: GPU, subtypes: [{subtype: smi, data: {product-a: H100, product-b: A100}}]}\n", "accelerator="},
		"no product":       {"- {type: GPU, subtypes: [{subtype: smi, data: {serial: H100}}]}\n", "accelerator="},
		"ubuntu":           {"- {type: OS, subtypes: [{subtype: release, data: {ID: ubuntu}}]}\n", "os=ubuntu"},
		"amazon":           {"- {type: OS, subtypes: [{subtype: release, data: {ID: amzn}}]}\n", "os=amazonlinux"},
		"another os":       {"- {type: OS, subtypes: [{subtype: release, data: {ID: debian, NAME: ubuntu}}]}\n", "os="},
		"nothing measured": {"  []\n", "os="},
	} {
		criterion, want, _ := strings.Cut(c.want, "=")
		for _, got := range of(t, c.measurements).Infer() {
			if got.Criterion == criterion && (got.Value != want || got.From == "") {
				t.Errorf("%s: got %+v, want %s", name, got, c.want)
			}
		}
	}
}

// A path may lead to one of several things, and a unit has a dot in its name.
func TestValue_Paths(t *testing.T) {
	s := of(t, `- type: NetworkTopology
  subtypes:
  - subtype: pfs
    data: {}
    items: [{data: {rail: 0}, context: {traffic: east}}, {data: {rail: 1, pci: "0:1"}, context: {traffic: east}}]
- {type: SystemD, subtypes: [{subtype: containerd.service, data: {ActiveState: active}}]}
`)
	for path, want := range map[string]string{
		"NetworkTopology.pfs[1].rail": "1", "NetworkTopology.pfs[rail=1].pci": "0:1", "NetworkTopology.pfs[0].traffic": "east", "SystemD.containerd.service.ActiveState": "active",
		"NetworkTopology.pfs[2].rail": "", "NetworkTopology.pfs[-1].rail": "", "NetworkTopology.pfs[x].rail": "", "NetworkTopology.pfs[traffic=east].rail": "", "NetworkTopology.pfs[rail=7].pci": "",
		"NetworkTopology.pfs[0]": "", "NetworkTopology.pfs.rail": "", "NetworkTopology.other[0].rail": "", "SystemD.containerd.ActiveState": "", "": "",
	} {
		if got, ok := s.Value(path); got != want || ok != (want != "") {
			t.Errorf("%s: got %q, %v", path, got, ok)
		}
	}
}

// A constraint about the labels of GPU nodes is about each of them.
func TestMeasure_GPUNodes(t *testing.T) {
	const nodes = `cloud.google.com/gke-accelerator: "nvidia-h100|a,b"`
	for labels, conditions := range map[string]map[string]string{
		nodes + `, own: "true|a,b,c"`:                        {"own=true": "holds", "!own": "fails", "own=false": "fails", "other=1": "fails", "!other": "holds"},
		nodes + `, own: "true|a"`:                            {"own=true": "fails", "!own": "fails"},
		nodes + `, own.true: "true|a", own.false: "false|b"`: {"own=true": "fails", "!own": "fails"},
		nodes + `, own.true: "true|a", own.false: "false|a"`: {"own=true": "do not say which nodes"},
		nodes + `, own: "|a,b"`:                              {"own=": "holds", "own=true": "fails"},
		nodes + `, own: "true|a,b (+3 more)"`:                {"own=true": "does not name all of its nodes", "!own": "does not name all of its nodes"},
		nodes + `, own: "true"`:                              {"own=true": "does not name all of its nodes"},
		`own: "true|a,b"`:                                    {"own=true": "unknown", "!own": "unknown"},
		nodes:                                                {"own": "is not KEY=VALUE or !KEY", "!own=1": "is not KEY=VALUE", ">= 1": "is not KEY=VALUE", "a//b=1": "is not KEY=VALUE", "!": "is not KEY=VALUE"},
	} {
		s := of(t, "- {type: NodeTopology, subtypes: [{subtype: label, data: {"+labels+"}}]}\n")
		for condition, want := range conditions {
			got, err := s.Measure(document.Constraint{Name: "NodeTopology.gpu-nodes.label", Value: condition})
			text := "unknown"
			switch {
			case err != nil:
				text = err.Error()
			case got.Found && got.Holds:
				text = "holds"
			case got.Found:
				text = "fails"
			}
			if !strings.Contains(text, want) {
				t.Errorf("%s of {%s}: got %s %+v, want %s", condition, labels, text, got, want)
			}
		}
	}
	s := of(t, "- {type: K8s, subtypes: [{subtype: server, data: {version: v1.33.5}}]}\n")
	if got, err := s.Measure(document.Constraint{Name: "K8s.server.version", Value: ">= 1.30"}); err != nil || !got.Found || !got.Holds || got.Have != "v1.33.5" {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err := s.Measure(document.Constraint{Name: "K8s.server.platform", Value: "x"}); err != nil || got.Found {
		t.Errorf("got %+v, %v", got, err)
	}
}
