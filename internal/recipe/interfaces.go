package recipe

// interfaces.go has a choice of AICR v1 for one recipe: which network each GPU NIC of a GKE node is on
// (--gke-tcpxo-interfaces). The runtime torch-distributed-tcpxo of kubeflow-trainer has them in an annotation of its pods.

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/util/lists"
)

// ConfigurationGKE are the choices for GKE.
type ConfigurationGKE struct {
	TCPXOInterfaces []NetworkInterface `json:"tcpxoInterfaces,omitempty"`
}

// NetworkInterface is a network interface of a pod, eth1 to eth8, and the Network of GKE that it is on.
type NetworkInterface struct {
	InterfaceName string `json:"interfaceName"`
	Network       string `json:"network"`
}

const (
	trainer         = "kubeflow-trainer"
	tcpxoValue      = "tcpxoInterfaces" // of kubeflow-trainer
	tcpxoInstaller  = "gke-nccl-tcpxo"  // the component that the interfaces are for
	tcpxoRuntime    = "components/kubeflow-trainer/manifests/torch-distributed-tcpxo-cluster-training-runtime.yaml"
	interfacesFlag  = "--gke-tcpxo-interfaces"
	mostNetworkName = 41 // of GKE, for networks of devices
	ofGPUNIC        = "gpu-nic"
)

var networkName = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)

// bringsTCPXO reports whether a component brings the runtime that has the interfaces.
func (c ComponentRef) bringsTCPXO() bool {
	return c.Name == trainer && slices.Contains(c.ManifestFiles, tcpxoRuntime)
}

// interfaces are those of a recipe; nil if it says nothing of them.
func (c *Configuration) interfaces() []NetworkInterface {
	if c == nil || c.GKE == nil {
		return nil
	}
	return c.GKE.TCPXOInterfaces
}

// CheckInterfaces refuses a component whose values have other interfaces than its recipe was generated for, or that brings the
// runtime without any. Installer says whether the component that they are for is in the bundle. It is nil where there is
// nothing to check.
func (c *Configuration) CheckInterfaces(of ComponentRef, values map[string]any, installer bool) error {
	const field, again = "configuration.gke.tcpxoInterfaces", "generate the recipe again with " + interfacesFlag + " eth1=NETWORK,...,eth8=NETWORK"
	recorded := c.interfaces()
	switch {
	case !of.bringsTCPXO() && recorded == nil:
		return nil
	case !of.bringsTCPXO():
		return errors.New("the recipe has " + field + ", and nothing that uses it: the runtime torch-distributed-tcpxo is not among its manifestFiles; generate the recipe again")
	case recorded == nil:
		return errors.New("it has the runtime torch-distributed-tcpxo, and the recipe does not say which network each GPU NIC is on (" + field + "); " + again)
	}
	if err := checkInterfaces(recorded); err != nil {
		return fmt.Errorf("%s: %w; %s", field, err, again)
	}
	if !installer {
		return fmt.Errorf("it has the runtime torch-distributed-tcpxo, and component %s, which installs what that needs on the nodes, is left out; bring it back", tcpxoInstaller)
	}
	said, err := interfacesIn(values[tcpxoValue])
	if err != nil {
		return fmt.Errorf("%s: %w; set nothing there, and %s", tcpxoValue, err, again)
	}
	if !slices.Equal(said, recorded) {
		return fmt.Errorf("%s is %v, and %s of the recipe is %v; set nothing there, and %s", tcpxoValue, said, field, recorded, again)
	}
	return nil
}

// interfaceNames are eth1 to eth8: a node of the type a3-megagpu-8g has a NIC for each of its GPUs.
func interfaceNames() (all []string) {
	for i := range 8 {
		all = append(all, fmt.Sprintf("eth%d", i+1))
	}
	return all
}

// checkInterfaces refuses what names not each of the eight interfaces once, or no network of its own for each. AICR finds the
// networks of a cluster by gpu-nic in their names.
func checkInterfaces(all []NetworkInterface) error {
	names, seen, networks := interfaceNames(), map[string]bool{}, map[string]string{}
	for _, n := range all {
		switch other := networks[n.Network]; {
		case !slices.Contains(names, n.InterfaceName):
			return fmt.Errorf("%.100q is no interface%s; want eth1 to eth8", n.InterfaceName, lists.Tail(n.InterfaceName, names))
		case seen[n.InterfaceName]:
			return fmt.Errorf("%s is there twice", n.InterfaceName)
		case n.Network == "default":
			return fmt.Errorf("%s is on the network default, which eth0 has", n.InterfaceName)
		case len(n.Network) > mostNetworkName || !networkName.MatchString(n.Network):
			return fmt.Errorf("%.100q, of %s, is no name of a network: want at most %d lowercase letters, digits and dashes, from a letter to a letter or digit", n.Network, n.InterfaceName, mostNetworkName)
		case !strings.Contains(n.Network, ofGPUNIC):
			return fmt.Errorf("%s, of %s, has no %s in its name, by which AICR finds the networks of GPU NICs", n.Network, n.InterfaceName, ofGPUNIC)
		case other != "":
			return fmt.Errorf("%s and %s are both on the network %s", other, n.InterfaceName, n.Network)
		}
		seen[n.InterfaceName], networks[n.Network] = true, n.InterfaceName
	}
	if len(seen) < len(names) {
		return fmt.Errorf("%s is missing", strings.Join(slices.DeleteFunc(names, func(name string) bool { return seen[name] }), ", "))
	}
	return nil
}

// parseInterfaces reads the flag: eth1=NETWORK,...,eth8=NETWORK.
func parseInterfaces(text string) ([]NetworkInterface, error) {
	var all []NetworkInterface
	for pair := range strings.SplitSeq(text, ",") {
		name, network, ok := strings.Cut(strings.TrimSpace(pair), "=")
		if !ok {
			return nil, fmt.Errorf("%s: %.100q is no INTERFACE=NETWORK; want eth1=NETWORK,...,eth8=NETWORK", interfacesFlag, pair)
		}
		all = append(all, NetworkInterface{strings.TrimSpace(name), strings.TrimSpace(network)})
	}
	if err := checkInterfaces(all); err != nil {
		return nil, fmt.Errorf("%s: %w", interfacesFlag, err)
	}
	return all, nil
}

// formatInterfaces is the flag's value for them.
func formatInterfaces(all []NetworkInterface) string {
	var pairs []string
	for _, n := range all {
		pairs = append(pairs, n.InterfaceName+"="+n.Network)
	}
	return strings.Join(pairs, ",")
}

// interfacesValue are they as a value of kubeflow-trainer.
func interfacesValue(all []NetworkInterface) []any {
	var list []any
	for _, n := range all {
		list = append(list, map[string]any{"interfaceName": n.InterfaceName, "network": n.Network})
	}
	return list
}

// interfacesIn reads such a value.
func interfacesIn(value any) ([]NetworkInterface, error) {
	list, ok := value.([]any)
	if !ok {
		return nil, fmt.Errorf("it is %T; want a list of interfaceName and network", value)
	}
	var all []NetworkInterface
	for i, item := range list {
		entry, _ := item.(map[string]any)
		name, _ := entry["interfaceName"].(string)
		network, _ := entry["network"].(string)
		if name == "" || network == "" || len(entry) != 2 {
			return nil, fmt.Errorf("item %d is %v; want interfaceName and network", i, item)
		}
		all = append(all, NetworkInterface{name, network})
	}
	return all, nil
}

// errNoInterfaces is of a recipe that needs them, where none are given.
var errNoInterfaces = errors.New("the recipe has the runtime torch-distributed-tcpxo of " + trainer + ", which names the networks of a cluster's GPU NICs; pass " + interfacesFlag + " eth1=NETWORK,...,eth8=NETWORK")

// sampleInterfaces stands for those of a cluster where there is none.
func sampleInterfaces() string {
	var all []NetworkInterface
	for i, name := range interfaceNames() {
		all = append(all, NetworkInterface{name, fmt.Sprintf("%s-%d", ofGPUNIC, i)})
	}
	return formatInterfaces(all)
}

// interfacesOf gives what a recipe is to say of the interfaces that were asked for; nil if there is nothing to say.
func interfacesOf(r configurationRecipe, asked string) ([]NetworkInterface, error) {
	refused := func(format string, args ...any) error {
		return fmt.Errorf(interfacesFlag+": "+format+"; leave it away", args...)
	}
	switch {
	case asked == "" && r.BringsTCPXO:
		return nil, errNoInterfaces
	case asked == "":
		return nil, nil
	case r.Service != "gke" || r.Accelerator != "h100" || r.Platform != "kubeflow":
		return nil, refused("it is for service gke, accelerator h100 and platform kubeflow, and the recipe is for %s, %s and %s", orNone(r.Service), orNone(r.Accelerator), orNone(r.Platform))
	case !r.BringsTCPXO:
		return nil, refused("the recipe does not have the runtime torch-distributed-tcpxo of %s", trainer)
	case !r.Has(tcpxoInstaller) || !r.On(tcpxoInstaller):
		return nil, fmt.Errorf("%s: the recipe has no component %s, whose networks these are; add it to an overlay", interfacesFlag, tcpxoInstaller)
	}
	return parseInterfaces(asked)
}
