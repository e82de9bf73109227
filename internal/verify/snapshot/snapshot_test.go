package snapshot

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
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
		"l40s":             {"- {type: GPU, subtypes: [{subtype: smi, data: {product-name: NVIDIA L40S}}]}\n", "accelerator=l40"},
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
