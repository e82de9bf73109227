package preconditions

import (
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/recipe"
)

func TestSentinel(t *testing.T) {
	operator := func(pairs ...any) recipe.Component { return with("gpu-operator", m(pairs...)) }
	hosts := operator("driver", m("enabled", false))
	moved, elsewhere := operator(), operator("operator", m("runtimeClass", "nvidia-container-runtime"))
	moved.Namespace = "privileged-gpu-operator"
	gke := recipe.Result{Criteria: recipe.Criteria{Service: "gke", OS: "cos"}, Metadata: recipe.Metadata{SelectedProfile: &recipe.ProfileSelected{Name: "gpuStack", Value: "bundle-installer"}}}
	onEKS := gke
	onEKS.Criteria.Service = "eks"
	diag := func(addr any) map[string]any {
		return m("global", m("preflight", m("enabled", true)), "preflight", m("initContainers", []any{
			m("name", "preflight-nccl-loopback"), m("name", "preflight-dcgm-diag", "env", []any{m("name", "A", "value", "b"), m("name", "DCGM_HOSTENGINE_ADDR", "value", addr)})}))
	}
	twice := diag("nvidia-dcgm.gpu-operator.svc:5555")
	containers := twice["preflight"].(map[string]any)["initContainers"].([]any)
	twice["preflight"] = m("initContainers", append(containers, containers[1]))
	gang := func(group, version, resource string, on any) map[string]any {
		return m("global", m("preflight", m("enabled", true)), "preflight", m("gangCoordination", m("enabled", on), "gangDiscovery", m("podGroupGVR", m("group", group, "version", version, "resource", resource))))
	}
	kai := with("kai-scheduler", nil)
	kaiOff := with("kai-scheduler", nil)
	kaiOff.Overrides = m("enabled", false)
	const label, class, tracing, dcgm, scheduler = "CheckNVSentinelDriverLabelDetectable", "CheckNVSentinelRuntimeClassCoherence", "CheckNVSentinelTracingEndpointRequired",
		"CheckNVSentinelPreflightDCGMReachable", "CheckNVSentinelPreflightGangSchedulerRequired"
	for name, c := range map[string]struct {
		function string
		result   recipe.Result
		values   map[string]any
		others   []recipe.Component
		want     string // "" if nothing is wrong
	}{
		"no operator":                     {label, recipe.Result{}, m(), nil, ""},
		"a driver pod":                    {label, recipe.Result{}, m(), []recipe.Component{operator()}, ""},
		"the nodes' driver":               {label, recipe.Result{}, m(), []recipe.Component{hosts}, "metadata-collector, syslog-health-monitor-kata, syslog-health-monitor-regular would have no pod; set nv-sentinel:labeler.assumeDriverInstalled=true"},
		"the nodes' driver, assumed":      {label, recipe.Result{}, m("labeler", m("assumeDriverInstalled", true)), []recipe.Component{hosts}, ""},
		"one that needs the label is off": {label, recipe.Result{}, m("global", m("metadataCollector", m("enabled", false))), []recipe.Component{hosts}, "DaemonSets syslog-health-monitor-kata, "},
		"all that need the label are off": {label, recipe.Result{}, m("global", m("metadataCollector", m("enabled", false), "syslogHealthMonitor", m("enabled", false))), []recipe.Component{hosts}, ""},
		"Google's installer":              {label, gke, m(), []recipe.Component{hosts}, ""},
		"a profile of that name, on EKS":  {label, onEKS, m(), []recipe.Component{hosts}, "would have no pod"},
		"the default class":               {class, recipe.Result{}, m(), []recipe.Component{operator()}, ""},
		"another class":                   {class, recipe.Result{}, m(), []recipe.Component{elsewhere}, "set nv-sentinel:metadata-collector.runtimeClassName=nvidia-container-runtime"},
		"the same other class":            {class, recipe.Result{}, m("metadata-collector", m("runtimeClassName", "nvidia-container-runtime")), []recipe.Component{elsewhere}, ""},
		"no class":                        {class, recipe.Result{}, m("metadata-collector", m("runtimeClassName", "")), []recipe.Component{elsewhere}, ""},
		"another class, off":              {class, recipe.Result{}, m("global", m("metadataCollector", m("enabled", false))), []recipe.Component{elsewhere}, ""},
		"no tracing":                      {tracing, recipe.Result{}, m(), nil, ""},
		"tracing":                         {tracing, recipe.Result{}, m("global", m("tracing", m("enabled", true, "endpoint", "otel:4317"))), nil, ""},
		"tracing to nowhere":              {tracing, recipe.Result{}, m("global", m("tracing", m("enabled", "true", "endpoint", " "))), nil, "traces would be sent nowhere"},
		"no preflight":                    {dcgm, recipe.Result{}, m(), nil, ""},
		"no diagnosis":                    {dcgm, recipe.Result{}, m("global", m("preflight", m("enabled", true))), nil, ""},
		"DCGM":                            {dcgm, recipe.Result{}, diag("nvidia-dcgm.gpu-operator.svc:5555"), []recipe.Component{operator()}, ""},
		"DCGM elsewhere":                  {dcgm, recipe.Result{}, diag("10.0.0.1:5555"), nil, ""},
		"DCGM without the operator":       {dcgm, recipe.Result{}, diag("nvidia-dcgm.gpu-operator.svc:5555"), nil, "is not in the bundle"},
		"DCGM in another namespace":       {dcgm, recipe.Result{}, diag("nvidia-dcgm.gpu-operator.svc:5555"), []recipe.Component{moved}, "is in the namespace privileged-gpu-operator"},
		"DCGM is off":                     {dcgm, recipe.Result{}, diag("nvidia-dcgm.gpu-operator.svc.cluster.local"), []recipe.Component{operator("dcgm", m("enabled", false))}, "dcgm.enabled of the GPU Operator is false"},
		"no address":                      {dcgm, recipe.Result{}, diag(""), []recipe.Component{operator()}, "write HOST:PORT"},
		"two of them":                     {dcgm, recipe.Result{}, twice, []recipe.Component{operator()}, "2 times"},
		"no list":                         {dcgm, recipe.Result{}, m("global", m("preflight", m("enabled", true)), "preflight", m("initContainers", m())), nil, "write a list of containers"},
		"gangs of KAI":                    {scheduler, recipe.Result{}, gang("scheduling.run.ai", "v2alpha2", "podgroups", true), []recipe.Component{kai}, ""},
		"gangs of KAI, left out":          {scheduler, recipe.Result{}, gang("scheduling.run.ai", "v2alpha2", "podgroups", true), []recipe.Component{kaiOff}, "kai-scheduler is not in the bundle"},
		"gangs of KAI, another version":   {scheduler, recipe.Result{}, gang("scheduling.run.ai", "v2", "podgroups", true), []recipe.Component{kai}, "write these"},
		"gangs of another":                {scheduler, recipe.Result{}, gang("scheduling.x-k8s.io", "v1alpha1", "podgroups", true), nil, ""},
		"no gangs":                        {scheduler, recipe.Result{}, gang("scheduling.run.ai", "v2alpha2", "podgroups", false), nil, ""},
		"a second detector":               {"CheckNPDNotDuplicatingProviderNPD", gke, m(), nil, "the nodes of gke have a node-problem-detector"},
		"the only detector":               {"CheckNPDNotDuplicatingProviderNPD", onEKS, m(), nil, ""},
	} {
		all := append([]recipe.Component{with("nvsentinel", c.values, declared(c.function, "error"))}, c.others...)
		err := Check(&c.result, all, Asked{})
		if len(all[0].Undone) > 0 {
			t.Errorf("%s: not made: %q", name, all[0].Undone)
		}
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}
