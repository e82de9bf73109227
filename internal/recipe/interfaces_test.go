package recipe

import (
	"strings"
	"testing"
)

// wired is a recipe with the runtime that names the networks of GPU NICs, as AICR has one since v1.
func wired(t *testing.T) *Store {
	t.Helper()
	return open(t, july(t, map[string]string{
		"registry": `
components:
- {name: kubeflow-trainer, helm: {defaultRepository: "https://charts.example", defaultChart: kubeflow-trainer, defaultVersion: "2.2.0"}}
- {name: gke-nccl-tcpxo, manifest: {defaultNamespace: kube-system}}`,
		"overlays/base": `{metadata: {name: base}, spec: {}}`,
		"overlays/gke": `{metadata: {name: gke}, spec: {criteria: {service: gke, accelerator: h100, platform: kubeflow}, componentRefs: [
			{name: gke-nccl-tcpxo, manifestFiles: [components/gke-nccl-tcpxo/manifests/a.yaml]},
			{name: kubeflow-trainer, overrides: {replicas: 2}, manifestFiles: [components/kubeflow-trainer/manifests/torch-distributed-tcpxo-cluster-training-runtime.yaml]}]}}`,
		"overlays/a100":                         `{metadata: {name: a100}, spec: {criteria: {service: gke, accelerator: a100, platform: kubeflow}, componentRefs: [{name: kubeflow-trainer}]}}`,
		"components/gke-nccl-tcpxo/manifests/a": `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`,
		"components/kubeflow-trainer/manifests/torch-distributed-tcpxo-cluster-training-runtime": `{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}`,
	}))
}

// A recipe with the runtime torch-distributed-tcpxo has to be told the networks of a cluster, and says them in its
// configuration and as a value. By name, where there is no cluster, samples stand for them.
func TestInterfaces(t *testing.T) {
	s, query := wired(t), Criteria{Service: "gke", Accelerator: "h100", Platform: "kubeflow"}
	asked := strings.ReplaceAll(sampleInterfaces(), "gpu-nic-", "demo-gpu-nic-")
	r, err := s.ResolveWith(query, Choices{Configuration: ConfigurationChoice{Interfaces: asked}})
	if err != nil {
		t.Fatal(err)
	}
	text, err := r.YAML()
	if err != nil {
		t.Fatal(err)
	}
	back, err := ReadResult("recipe.yaml", text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	all, err := s.Components(back)
	if err != nil {
		t.Fatal(err)
	}
	values, err := interfacesIn(all[len(all)-1].Values[tcpxoValue])
	if err != nil || formatInterfaces(values) != asked || back.Configuration.Choice().Interfaces != asked || len(back.Unknown()) > 0 {
		t.Errorf("the value is %v, %v, and the configuration %v; want %s", values, err, back.Configuration.interfaces(), asked)
	}
	if byName, err := s.ResolveName("gke"); err != nil || formatInterfaces(byName.Configuration.interfaces()) != sampleInterfaces() {
		t.Errorf("by name: %v, %+v", err, byName)
	}
	with := func(old, now string) string { return strings.Replace(sampleInterfaces(), old, now, 1) }
	for name, c := range map[string]struct {
		query Criteria
		value string
		want  string
	}{
		"none":            {query, "", "pass --gke-tcpxo-interfaces eth1=NETWORK,...,eth8=NETWORK"},
		"another recipe":  {Criteria{Service: "gke", Accelerator: "a100", Platform: "kubeflow"}, asked, "it is for service gke, accelerator h100 and platform kubeflow, and the recipe is for gke, a100 and kubeflow"},
		"no pair":         {query, "8", `"8" is no INTERFACE=NETWORK`},
		"seven":           {query, with(",eth8=gpu-nic-7", ""), "eth8 is missing"},
		"nine":            {query, sampleInterfaces() + ",eth9=gpu-nic-8", `"eth9" is no interface`},
		"twice":           {query, with("eth8=", "eth7="), "eth7 is there twice"},
		"one network":     {query, with("gpu-nic-7", "gpu-nic-6"), "eth7 and eth8 are both on the network gpu-nic-6"},
		"the default":     {query, with("gpu-nic-7", "default"), "which eth0 has"},
		"no name":         {query, with("gpu-nic-7", "GPU-nic-7"), "is no name of a network"},
		"too long a name": {query, with("gpu-nic-7", "gpu-nic-7"+strings.Repeat("x", 33)), "at most 41 lowercase letters"},
		"never found":     {query, with("gpu-nic-7", "net-7"), "by which AICR finds the networks"},
	} {
		_, err := s.ResolveWith(c.query, Choices{Configuration: ConfigurationChoice{Interfaces: c.value}})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}
