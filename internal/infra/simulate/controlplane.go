package simulate

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/kwok/pkg/consts"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/operators"
)

// EgressConfig is the configuration of an API server that dials Services through a socket
// (APIServiceStandIn), by the path that it has there.
func EgressConfig(socket string) ([]byte, error) {
	return yaml.Marshal(map[string]any{
		"apiVersion": "apiserver.k8s.io/v1beta1", "kind": "EgressSelectorConfiguration",
		"egressSelections": []any{map[string]any{"name": "cluster", "connection": map[string]any{
			"proxyProtocol": "HTTPConnect", "transport": map[string]any{"uds": map[string]any{"udsName": socket}},
		}}},
	})
}

// SchedulerConfig is the configuration of a kube-scheduler that places the pods of these
// schedulers, its own among them. With a file, it ignores its flags for what the file could say:
// they are repeated here. The kubeconfig is left out if it is empty.
func SchedulerConfig(kubeconfig string, schedulers []string) ([]byte, error) {
	var profiles []any
	for _, name := range schedulers {
		profiles = append(profiles, map[string]any{"schedulerName": name})
	}
	connection := map[string]any{"qps": consts.DefaultUnlimitedQPS, "burst": consts.DefaultUnlimitedBurst}
	if kubeconfig != "" {
		connection["kubeconfig"] = kubeconfig
	}
	return yaml.Marshal(map[string]any{
		"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
		"leaderElection": map[string]any{"leaderElect": false}, "enableProfiling": false,
		"clientConnection": connection, "profiles": profiles,
	})
}

// SchedulerNames are the names of a KubeSchedulerConfiguration's profiles, by which pods select
// them.
func SchedulerNames(config map[string]any) []string {
	var names []string
	list, _ := config["profiles"].([]any)
	for _, p := range list {
		profile, _ := p.(map[string]any)
		if name, _ := profile["schedulerName"].(string); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// StandInLines are a result's lines about the stand-ins of a cluster: the schedulers that
// kube-scheduler simulates, and the custom resources and aggregated APIs with a stand-in. The
// arguments operators and apis are nil until they run.
func StandInLines(schedulers []string, operators *OperatorStandIns, apis *APIServiceStandIn) []string {
	var all []string
	for _, name := range schedulers {
		all = append(all, fmt.Sprintf("scheduler %s (kube-scheduler places its pods, without the queues, gangs and plugins that %s would have)", name, name))
	}
	if operators != nil {
		all = append(all, operators.Used()...)
	}
	if apis != nil {
		for _, gv := range apis.Used() {
			all = append(all, "APIService "+gv)
		}
		for _, by := range apis.Converted() {
			all = append(all, "conversion of "+by+" (apiVersion is all that changes)")
		}
	}
	return all
}

// Plays reports whether a stand-in writes the status of a kind: an operator's, or one of these
// stages.
func Plays(stages []OperatorStage, kind schema.GroupVersionKind) bool {
	return operators.Reason(kind) != "" || slices.ContainsFunc(stages, func(s OperatorStage) bool { return s.Kind == kind })
}

// UncalledWebhooks names the admission webhooks among objects, a line each. Where no process serves
// the Service of a simulated pod, the API server calls none of them; a result says which they were,
// since what they would have rejected or changed was not seen.
func UncalledWebhooks(objects []bundle.Object) []string {
	var lines []string
	for _, o := range objects {
		switch kind := o.Object.GetKind(); kind {
		case "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration":
			lines = append(lines, fmt.Sprintf("%s %s (%s): not called", kind, o.Object.GetName(), o.Component))
		}
	}
	return lines
}
