// Package preconditions has the checks that AICR's bundler makes of a recipe, its values and the bundler's
// flags before it writes anything: which of them there are, the registry says for each component. It must not
// know deployers.
package preconditions

import (
	"errors"
	"fmt"
	"path"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/recipe/document"
)

// Asked is what the checks ask of the bundler's flags.
type Asked struct {
	WorkloadSelector, SystemSelector, AcceleratedSelector bool // whether there is one
	AcceleratedTolerations                                []corev1.Toleration
	// StorageClassPaths are the values of a component that name its StorageClass.
	StorageClassPaths func(component string) []string
	// Advice: what only informs is said, too. It is about the flags, which the caller may have no say in.
	Advice bool
}

// The severity of a check, by which it refuses the recipe; others warn or inform.
const (
	refuses = "error"
	informs = "info"
)

// bundled are the components that a bundle will have.
type bundled struct {
	recipe     *recipe.Result
	asked      Asked
	components []recipe.Component
}

// checks are those that are known: what is wrong with a component, and what to do about it, or "".
func checks() map[string]func(bundled, *recipe.Component) string {
	return map[string]func(bundled, *recipe.Component) string{
		"CheckWorkloadSelectorMissing":         workloadSelector,
		"CheckAcceleratedSelectorMissing":      acceleratedSelector,
		"CheckWildcardAcceleratedToleration":   everyTaint,
		"CheckHostMofedWithoutNetworkOperator": hostDrivers,
		"CheckDriverOwnershipCoherence":        driverRoot,

		"CheckNVSentinelDriverLabelDetectable":          driverLabel,
		"CheckNVSentinelRuntimeClassCoherence":          sameRuntimeClass,
		"CheckNVSentinelTracingEndpointRequired":        tracingEndpoint,
		"CheckNVSentinelPreflightDCGMReachable":         dcgmReachable,
		"CheckNVSentinelPreflightGangSchedulerRequired": gangScheduler,
		"CheckNPDNotDuplicatingProviderNPD":             providersOwn,

		"CheckGKETCPXOInterfacesCoherence": tcpxoInterfaces,
	}
}

// Check makes the checks of all components. What refuses is the error; what warns is added to the components, for the
// result to say. A check that is not known is said if it could refuse.
func Check(result *recipe.Result, components []recipe.Component, asked Asked) error {
	known, all := checks(), []error(nil)
	in := bundled{result, asked, components}
	for i := range components {
		c := &components[i]
		if c.Disabled() {
			continue
		}
		refuse := func(at recipe.Origin, problem string) {
			if problem != "" {
				all = append(all, &document.FileError{File: at.File, Line: at.Line, Err: fmt.Errorf("%s: %s", c.Name, problem)})
			}
		}
		refuse(c.Declared, sharedStorage(c))
		refuse(c.Declared, accounting(in, result, c))
		refuse(c.Registered, selectors(asked, c))
		c.Undone = slices.Clone(c.Undone)
		for _, v := range c.Validations {
			if !applies(v, result.Criteria) {
				continue
			}
			check := known[v.Function]
			if check == nil {
				if v.Severity == refuses {
					c.Undone = append(c.Undone, fmt.Sprintf("%s has the check %s (%s), by which AICR's bundler may refuse the recipe. It was not made here", c.Name, v.Function, v.Origin))
				}
				continue
			}
			problem := check(in, c)
			switch {
			case problem == "":
			case v.Severity == refuses:
				all = append(all, &document.FileError{File: v.Origin.File, Line: v.Origin.Line, Err: fmt.Errorf("%s: %s (AICR's bundler refuses this by its check %s)", c.Name, problem, v.Function)})
			case v.Severity != informs || asked.Advice:
				c.Undone = append(c.Undone, fmt.Sprintf("%s: %s (check %s, %s)", c.Name, problem, v.Function, v.Origin))
			}
		}
	}
	return errors.Join(all...)
}

// Simulated is Check with the flags that AICR passes for simulated nodes. It does nothing unless this program makes the
// bundle: AICR's own CLI makes its checks itself.
func Simulated(result *recipe.Result, components []recipe.Component, own bool) error {
	if !own {
		return nil
	}
	s := bundle.KwokScheduling()
	return Check(result, components, Asked{SystemSelector: true, AcceleratedSelector: true, AcceleratedTolerations: s.AcceleratedTolerations})
}

// applies reports whether the conditions, each a list of values of a criterion, hold for the query.
// One that is not of this form holds: a note too many is better than one too few.
func applies(v recipe.Validation, query recipe.Criteria) bool {
	asked := map[string]string{
		"service": query.Service, "accelerator": query.Accelerator, "intent": query.Intent, "os": query.OS, "platform": query.Platform,
	}
	for name, values := range v.Conditions {
		list, isList := values.([]any)
		value, known := asked[name]
		if isList && known && !slices.Contains(list, any(value)) {
			return false
		}
	}
	return true
}

func (in bundled) find(names ...string) *recipe.Component {
	for i := range in.components {
		if c := &in.components[i]; slices.Contains(names, c.Name) && !c.Disabled() {
			return c
		}
	}
	return nil
}

// at is the value at a path; nil if there is none.
func at(values map[string]any, keys ...string) any {
	var v any = values
	for _, key := range keys {
		m, _ := v.(map[string]any)
		v = m[key]
	}
	return v
}

func workloadSelector(in bundled, _ *recipe.Component) string {
	if in.asked.WorkloadSelector {
		return ""
	}
	return "no --workload-selector says which pods must not be evicted when nodes are tuned, so that running jobs may be; name a label that they have"
}

func acceleratedSelector(in bundled, _ *recipe.Component) string {
	if in.asked.AcceleratedSelector {
		return ""
	}
	return "no --accelerated-node-selector says which nodes it is for, so that it runs on all of them; name a label of the GPU nodes"
}

func everyTaint(in bundled, _ *recipe.Component) string {
	all := in.asked.AcceleratedTolerations
	if len(all) > 0 && !slices.ContainsFunc(all, func(t corev1.Toleration) bool { return t.Key == "" }) {
		return ""
	}
	return "its pods tolerate every taint. There, the API server leaves them this toleration alone, and the operator evicts the pods that tune a node; name the taints of the GPU nodes with --accelerated-node-toleration, or leave the component out"
}

// hostDrivers: without the network operator nothing installs the network drivers of the host that the GPU
// driver is told to use.
func hostDrivers(in bundled, c *recipe.Component) string {
	if in.find("network-operator") != nil || at(c.Values, "driver", "rdma", "useHostMofed") != true {
		return ""
	}
	return "driver.rdma.useHostMofed is true, and network-operator, which installs these drivers, is not in the bundle; set driver.rdma.useHostMofed to false, unless the nodes have them already"
}

// operatorRoot is where the GPU Operator's driver is if no value says otherwise.
const operatorRoot = "/run/nvidia/driver"

// driverRoot: the DRA driver looks for the GPU driver where whoever installs that puts it.
func driverRoot(in bundled, c *recipe.Component) string {
	install := operatorRoot
	if own := at(c.Values, "hostPaths", "driverInstallDir"); own != nil && own != "" {
		text, ok := own.(string)
		if !ok || !path.IsAbs(text) || path.Clean(text) == "/" {
			return fmt.Sprintf("hostPaths.driverInstallDir is %v; write an absolute path below /, e.g. %s", own, operatorRoot)
		}
		install = path.Clean(text)
	}
	managed := true
	if own := at(c.Values, "driver", "enabled"); own != nil {
		on, ok := own.(bool)
		if !ok {
			return fmt.Sprintf("driver.enabled is %#v; write true or false, without quotes", own)
		}
		managed = on
	}
	dra := in.find("nvidia-dra-driver-gpu", "nvidia-dra-driver-gpu-ocp")
	if dra == nil {
		return ""
	}
	const field = "nvidiaDriverRoot"
	root := ""
	if own, set := dra.Values[field]; set {
		text, ok := own.(string)
		if !ok || !path.IsAbs(text) {
			return fmt.Sprintf("%s of %s is %v; write an absolute path", field, dra.Name, own)
		}
		root = path.Clean(text)
	}
	switch {
	case managed && root == "":
		return fmt.Sprintf("the GPU Operator installs the driver in %s, and %s has no %s, which is / then: its pods would not find the driver; set %s:%s=%s", install, dra.Name, field, dra.Name, field, install)
	case managed && root != install:
		return fmt.Sprintf("the GPU Operator installs the driver in %s, and %s looks for it in %s (%s): its pods would not find it; set %s:%s=%s", install, dra.Name, root, field, dra.Name, field, install)
	case !managed && root == operatorRoot:
		return fmt.Sprintf("driver.enabled is false, and %s looks for the driver in %s (%s), where only the GPU Operator would put it; set %s to where the nodes have theirs, e.g. /, or generate the recipe again", dra.Name, operatorRoot, field, field)
	}
	return ""
}
