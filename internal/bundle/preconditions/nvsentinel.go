package preconditions

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/template"

	"github.com/nvidia/aicr-action/internal/recipe"
)

// The checks of AICR v1 that concern NVSentinel (pkg/bundler/validations/checks.go), by what they refuse. Each is about
// something that no object of the bundle shows: a DaemonSet for no node, or a controller that ends when it starts.

const (
	sentinelOverride = "set nv-sentinel:"
	// runtimeClass is what both charts call their RuntimeClass if no value does.
	runtimeClass = "nvidia"
)

// truthy reports what a template's `if` makes of a value.
func truthy(v any) bool {
	truth, ok := template.IsTrue(v)
	return ok && truth
}

func (in bundled) operator() *recipe.Component { return in.find("gpu-operator", "gpu-operator-ocp") }

// off reports whether the values switch a part of NVSentinel off; all of them are on by default.
func off(c *recipe.Component, part string) bool {
	return at(c.Values, "global", part, "enabled") == false
}

// driverLabel: NVSentinel labels the nodes on which it sees the pod of a driver. Where the nodes have the driver already,
// there is none, and what selects this label runs nowhere.
func driverLabel(in bundled, c *recipe.Component) string {
	operator := in.operator()
	if operator == nil || at(operator.Values, "driver", "enabled") != false || in.installerPod() || truthy(at(c.Values, "labeler", "assumeDriverInstalled")) {
		return ""
	}
	var nowhere []string
	for part, sets := range map[string][]string{"metadataCollector": {"metadata-collector"}, "syslogHealthMonitor": {"syslog-health-monitor-regular", "syslog-health-monitor-kata"}} {
		if !off(c, part) {
			nowhere = append(nowhere, sets...)
		}
	}
	if len(nowhere) == 0 {
		return ""
	}
	slices.Sort(nowhere)
	return fmt.Sprintf("%s leaves the driver to the nodes (driver.enabled is false), so there is no driver pod by which NVSentinel labels them, and the DaemonSets %s would have no pod; %slabeler.assumeDriverInstalled=true",
		operator.Name, strings.Join(nowhere, ", "), sentinelOverride)
}

// installerPod reports whether the recipe brings a pod that installs the driver beside the GPU Operator: on GKE's
// Container-Optimized OS, the profile that has Google's installer does.
func (in bundled) installerPod() bool {
	if in.recipe.Criteria.Service != "gke" || in.recipe.Criteria.OS != "cos" {
		return false
	}
	p := in.recipe.Metadata.SelectedProfile
	return p != nil && p.Name == "gpuStack" && p.Value == "bundle-installer"
}

// sameRuntimeClass: the API server refuses pods whose RuntimeClass does not exist, and the GPU Operator makes one.
func sameRuntimeClass(in bundled, c *recipe.Component) string {
	operator := in.operator()
	if operator == nil || off(c, "metadataCollector") {
		return ""
	}
	made, madeIsText := textAt(operator.Values, runtimeClass, "operator", "runtimeClass")
	asked, askedIsText := textAt(c.Values, runtimeClass, "metadata-collector", "runtimeClassName")
	if made = cmp.Or(made, runtimeClass); !madeIsText || !askedIsText || asked == "" || asked == made {
		return ""
	}
	return fmt.Sprintf("metadata-collector.runtimeClassName is %s, and the RuntimeClass that %s makes is %s (operator.runtimeClass): the API server would refuse each of its pods; %smetadata-collector.runtimeClassName=%s",
		asked, operator.Name, made, sentinelOverride, made)
}

// textAt is the text at a path, or what holds where there is no value. It is not ok for a value that is no text.
func textAt(values map[string]any, absent string, keys ...string) (text string, ok bool) {
	v := at(values, keys...)
	if v == nil {
		return absent, true
	}
	text, ok = v.(string)
	return text, ok
}

// tracingEndpoint: the chart renders an exporter without a destination, which fails when it runs.
func tracingEndpoint(_ bundled, c *recipe.Component) string {
	if !truthy(at(c.Values, "global", "tracing", "enabled")) {
		return ""
	}
	if to, ok := textAt(c.Values, "", "global", "tracing", "endpoint"); !ok || strings.TrimSpace(to) == "" {
		return fmt.Sprintf("global.tracing.enabled is true, and global.tracing.endpoint is %q: traces would be sent nowhere; %sglobal.tracing.endpoint=HOST:PORT", to, sentinelOverride)
	}
	return ""
}

func preflight(c *recipe.Component) bool {
	return truthy(at(c.Values, "global", "preflight", "enabled"))
}

// The container of the preflight check that asks the GPU Operator's DCGM, and where it is told which.
const (
	diagnosis = "preflight-dcgm-diag"
	dcgmAddr  = "DCGM_HOSTENGINE_ADDR"
)

// dcgmReachable: the preflight check asks DCGM at an address of its own, which must be a Service that the bundle brings.
func dcgmReachable(in bundled, c *recipe.Component) string {
	if !preflight(c) {
		return ""
	}
	list := at(c.Values, "preflight", "initContainers")
	if _, ok := list.([]any); list != nil && !ok {
		return fmt.Sprintf("preflight.initContainers is %T; write a list of containers", list)
	}
	found := named(list, diagnosis)
	if len(found) == 0 {
		return ""
	}
	if len(found) > 1 {
		return fmt.Sprintf("preflight.initContainers has %s %d times; keep one, or it is not known which address holds", diagnosis, len(found))
	}
	env := named(found[0]["env"], dcgmAddr)
	if len(env) == 0 {
		return fmt.Sprintf("the container %s in preflight.initContainers has no %s, so that it asks nobody; set it to nvidia-dcgm.gpu-operator.svc:5555", diagnosis, dcgmAddr)
	}
	addr, _ := env[0]["value"].(string)
	if strings.TrimSpace(addr) == "" {
		return fmt.Sprintf("%s of the container %s is %v; write HOST:PORT", dcgmAddr, diagnosis, env[0]["value"])
	}
	host, _, _ := strings.Cut(addr, ":")
	service := strings.Split(host, ".")
	if len(service) < 3 || service[2] != "svc" || service[0] != "nvidia-dcgm" {
		return "" // somebody else's, of which nothing is known here
	}
	why, operator := "", in.find("gpu-operator")
	switch {
	case operator == nil:
		why = "the GPU Operator, which makes that Service, is not in the bundle"
	case service[1] != cmp.Or(operator.Namespace, "gpu-operator"):
		why = fmt.Sprintf("the GPU Operator is in the namespace %s", cmp.Or(operator.Namespace, "gpu-operator"))
	case at(operator.Values, "dcgm", "enabled") != nil && !truthy(at(operator.Values, "dcgm", "enabled")):
		why = "dcgm.enabled of the GPU Operator is false, so that there is no such Service"
	default:
		return ""
	}
	return fmt.Sprintf("the preflight check %s asks %s, and %s: every pod that it checks would fail; correct %s, or leave the mixin nvsentinel-preflight out", diagnosis, addr, why, dcgmAddr)
}

// named are the mappings of a list that have this name.
func named(list any, name string) (found []map[string]any) {
	items, _ := list.([]any)
	for _, raw := range items {
		if entry, _ := raw.(map[string]any); entry["name"] == name {
			found = append(found, entry)
		}
	}
	return found
}

// gangScheduler: the preflight controller ends when the kind of the pod groups that it is told of does not exist.
func gangScheduler(in bundled, c *recipe.Component) string {
	kind, _ := at(c.Values, "preflight", "gangDiscovery", "podGroupGVR").(map[string]any)
	if !preflight(c) || !truthy(at(c.Values, "preflight", "gangCoordination", "enabled")) || kind["group"] != "scheduling.run.ai" {
		return ""
	}
	const ends = "the preflight controller looks for that kind when it starts, and ends without it; pods would be admitted unchecked"
	if kind["version"] != "v2alpha2" || kind["resource"] != "podgroups" {
		return fmt.Sprintf("preflight.gangDiscovery.podGroupGVR is %v of scheduling.run.ai/%v, and KAI has podgroups of scheduling.run.ai/v2alpha2: %s; write these", kind["resource"], kind["version"], ends)
	}
	if in.find("kai-scheduler") == nil {
		return "preflight.gangDiscovery.podGroupGVR is of KAI, and kai-scheduler is not in the bundle: " + ends + "; bring it back, or leave the mixin nvsentinel-preflight out"
	}
	return ""
}

// providersOwn: the nodes of these providers have a node-problem-detector already, and two write the same conditions.
func providersOwn(in bundled, _ *recipe.Component) string {
	if service := in.recipe.Criteria.Service; service == "gke" || service == "aks" {
		return fmt.Sprintf("the nodes of %s have a node-problem-detector already, and two would write the same conditions of a node; leave the mixin npd out", service)
	}
	return ""
}
