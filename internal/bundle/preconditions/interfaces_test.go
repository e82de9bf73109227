package preconditions

import (
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/recipe"
)

// What kubeflow-trainer is told of the networks of GPU NICs is what the recipe was generated for.
func TestInterfaces(t *testing.T) {
	const manifest = "components/kubeflow-trainer/manifests/torch-distributed-tcpxo-cluster-training-runtime.yaml"
	list := func(networks string) (recorded []recipe.NetworkInterface, value []any) {
		for i, network := range strings.Fields(networks) {
			name := "eth" + string(rune('1'+i))
			recorded = append(recorded, recipe.NetworkInterface{InterfaceName: name, Network: network})
			value = append(value, m("interfaceName", name, "network", network))
		}
		return recorded, value
	}
	const networks = "x-gpu-nic-0 x-gpu-nic-1 x-gpu-nic-2 x-gpu-nic-3 x-gpu-nic-4 x-gpu-nic-5 x-gpu-nic-6 x-gpu-nic-7"
	recorded, value := list(networks)
	few, fewValues := list("x-gpu-nic-0 x-gpu-nic-1")
	_, others := list(strings.ReplaceAll(networks, "x-", "y-"))
	for name, c := range map[string]struct {
		ships, installer bool
		recorded         []recipe.NetworkInterface
		value            any
		want             string // "" if nothing is wrong
	}{
		"neither":            {false, true, nil, nil, ""},
		"coherent":           {true, true, recorded, value, ""},
		"nothing uses them":  {false, true, recorded, value, "is not among its manifestFiles"},
		"not recorded":       {true, true, nil, value, "does not say which network each GPU NIC is on (configuration.gke.tcpxoInterfaces)"},
		"some are recorded":  {true, true, few, fewValues, "eth3, eth4, eth5, eth6, eth7, eth8 is missing"},
		"no installer":       {true, false, recorded, value, "component gke-nccl-tcpxo, which installs what that needs on the nodes, is left out"},
		"other values":       {true, true, recorded, others, "and configuration.gke.tcpxoInterfaces of the recipe is"},
		"another order":      {true, true, recorded, append(value[1:8:8], value[0]), "set nothing there, and generate the recipe again"},
		"no values":          {true, true, recorded, nil, "want a list of interfaceName and network"},
		"no list of entries": {true, true, recorded, []any{"eth1"}, "item 0 is eth1"},
	} {
		trainer := with("kubeflow-trainer", m("tcpxoInterfaces", c.value), declared("CheckGKETCPXOInterfacesCoherence", "error"))
		if c.ships {
			trainer.ManifestFiles = []string{manifest}
		}
		result := recipe.Result{}
		if c.recorded != nil {
			result.Configuration = &recipe.Configuration{GKE: &recipe.ConfigurationGKE{TCPXOInterfaces: c.recorded}}
		}
		all := []recipe.Component{trainer}
		if c.installer {
			all = append(all, with("gke-nccl-tcpxo", nil))
		}
		err := Check(&result, all, Asked{})
		if len(all[0].Undone) > 0 {
			t.Errorf("%s: not made: %q", name, all[0].Undone)
		}
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}
