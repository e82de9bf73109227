package recipe

// configuration.go has the choices that AICR makes for a recipe besides its criteria and its
// profile: whose database Slurm's accounting uses (AICR's ADR-016), whether the runtime inventory is
// installed (ADR-019), and the networks of GPU NICs (interfaces.go). It knows which values of which components follow. It must not know how a recipe
// is resolved.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/util/lists"
)

// Configuration is what a resolved recipe says of the choices.
type Configuration struct {
	Slurm            *ConfigurationSlurm `json:"slurm,omitempty"`
	RuntimeInventory *ConfigurationMode  `json:"runtimeInventory,omitempty"`
	GKE              *ConfigurationGKE   `json:"gke,omitempty"`
}

// ConfigurationSlurm are the choices for a Slurm cluster.
type ConfigurationSlurm struct {
	Accounting *ConfigurationMode `json:"accounting,omitempty"`
}

// ConfigurationMode is a choice.
type ConfigurationMode struct {
	Mode string `json:"mode"`
}

// The modes of Slurm's accounting: none, with a database of the customer's, or with one that the
// recipe installs.
const (
	AccountingDisabled    = "disabled"
	CustomerManaged       = "customer-managed"
	ConfigurationProvided = "aicr-provided"
)

// AccountingModes and InventoryModes are the values of the flags --slurm-accounting-mode and
// --runtime-inventory.
func AccountingModes() []string {
	return []string{AccountingDisabled, CustomerManaged, ConfigurationProvided}
}

// InventoryModes see AccountingModes.
func InventoryModes() []string { return []string{enabled, AccountingDisabled} }

const enabled = "enabled"

// The components that the choices are about.
const (
	slurm     = "slinky-slurm"
	inventory = "k8s-aibom"
	// inventoryService is where AICR has tried the inventory with every recipe (its issue 2962).
	inventoryService = "gke"
	install          = "install"
)

// databases are the components of the recipe's own database.
func databases() []string {
	return []string{"mariadb-operator-crds", "mariadb-operator", "slurm-accounting-mariadb"}
}

// ConfigurationChoice is what was asked for. What is empty is AICR's default.
type ConfigurationChoice struct {
	Accounting, Inventory string
	// Interfaces are pairs INTERFACE=NETWORK with commas between them.
	Interfaces string
}

// Check refuses values that are none.
func (c ConfigurationChoice) Check() error {
	for _, f := range []struct {
		flag, value string
		all         []string
	}{{"--slurm-accounting-mode", c.Accounting, AccountingModes()}, {"--runtime-inventory", c.Inventory, InventoryModes()}} {
		if f.value != "" && !slices.Contains(f.all, f.value) {
			return fmt.Errorf("%s: %.100q is none of %s%s", f.flag, f.value, strings.Join(f.all, ", "), lists.Tail(f.value, f.all))
		}
	}
	return nil
}

// Granted is the component that a choice adds to a recipe of a service which does not have it, and does not leave it out;
// empty if there is none.
func (c ConfigurationChoice) Granted(service string) string {
	if c.Inventory == enabled && service == inventoryService {
		return inventory
	}
	return ""
}

// Choice is what a recipe was resolved with.
func (c *Configuration) Choice() (made ConfigurationChoice) {
	if c == nil {
		return made
	}
	if c.Slurm != nil && c.Slurm.Accounting != nil {
		made.Accounting = c.Slurm.Accounting.Mode
	}
	if c.RuntimeInventory != nil {
		made.Inventory = c.RuntimeInventory.Mode
	}
	made.Interfaces = formatInterfaces(c.interfaces())
	return made
}

// configurationRecipe is what the choices depend on.
type configurationRecipe struct {
	Platform, Service, Accelerator string
	// BringsTCPXO: a component brings the runtime for which there are interfaces.
	BringsTCPXO bool
	// Has reports whether the recipe has a component, On whether it has one that is not left out.
	Has, On func(component string) bool
}

// configurationOf gives what the recipe is to say of a choice, and the overrides that follow from it, by component.
// The configuration is nil if there is nothing to choose: recipes before AICR v1.0 have none of the
// components.
func configurationOf(r configurationRecipe, c ConfigurationChoice) (*Configuration, map[string]map[string]any, error) {
	if err := c.Check(); err != nil {
		return nil, nil, err
	}
	made, overrides := &Configuration{}, map[string]map[string]any{}
	needed := append([]string{slurm}, databases()...)
	missing := slices.DeleteFunc(slices.Clone(needed), r.Has)
	switch {
	case r.Platform != "slurm" && c.Accounting != "":
		return nil, nil, fmt.Errorf("--slurm-accounting-mode %s: the recipe's platform is %s and not slurm; leave it away, or pass --platform slurm", c.Accounting, orNone(r.Platform))
	case r.Platform != "slurm":
	case len(missing) > 0 && c.Accounting != "":
		return nil, nil, fmt.Errorf("--slurm-accounting-mode %s: the recipe has no component %s; leave it away, or add them to an overlay", c.Accounting, strings.Join(missing, ", "))
	case len(missing) == 0:
		if c.Accounting == "" {
			c.Accounting = AccountingDisabled
		}
		made.Slurm = &ConfigurationSlurm{&ConfigurationMode{c.Accounting}}
		overrides[slurm] = map[string]any{"accounting": map[string]any{"enabled": c.Accounting != AccountingDisabled}}
		for _, name := range databases() {
			overrides[name] = map[string]any{install: c.Accounting == ConfigurationProvided}
		}
	}
	if c.Inventory != "" {
		switch {
		case !r.Has(inventory):
			return nil, nil, fmt.Errorf("--runtime-inventory %s: the recipe has no component %s, and only on %s is it added to one; leave it away, or add the component to an overlay", c.Inventory, inventory, inventoryService)
		case c.Inventory == enabled && !r.On(inventory):
			return nil, nil, fmt.Errorf("--runtime-inventory %s: the recipe leaves component %s out on purpose; leave it away, or correct the overlay", c.Inventory, inventory)
		}
		made.RuntimeInventory = &ConfigurationMode{c.Inventory}
		overrides[inventory] = map[string]any{install: c.Inventory == enabled}
	}
	interfaces, err := interfacesOf(r, c.Interfaces)
	if err != nil {
		return nil, nil, err
	}
	if interfaces != nil {
		made.GKE = &ConfigurationGKE{interfaces}
		overrides[trainer] = map[string]any{tcpxoValue: interfacesValue(interfaces)}
	}
	if made.Slurm == nil && made.RuntimeInventory == nil && made.GKE == nil {
		return nil, nil, nil
	}
	return made, overrides, nil
}

func orNone(platform string) string {
	if platform == "" {
		return "any"
	}
	return platform
}
