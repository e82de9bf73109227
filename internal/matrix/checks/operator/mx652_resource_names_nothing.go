package operator

import (
	"cmp"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/apis"
	"github.com/nvidia/aicr-action/internal/bundle/podspec"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result"
)

var namesNothing = judge.Check{
	ID: "MX652", Name: "resource-names-nothing", Needs: judge.Rendered,
	Title: "A custom resource, or a label for a queue, names an object that the recipe makes",
	Why: "Operators look up what their resources name: Kueue the queues and flavors (https://kueue.sigs.k8s.io/docs/concepts/), KAI the queues of pods, KEDA what it scales, the operators of MariaDB, Slurm, NIM and Skyhook what belongs together. " +
		"They are simulated in a cell, and would say so only in a status. Kinds that the recipe does not define may be in the cluster.",
	Fix:  "Make the object in the recipe, or correct the name.",
	Says: "names %s %s %s, which nothing in the recipe makes", Then: "%[4]s",
	Run: func(s *judge.Scope) {
		for i := range s.Expectation.Objects {
			o := &s.Expectation.Objects[i]
			gvk := o.Object.GroupVersionKind()
			for i, r := range slices.Concat(references, saidReferences) {
				if r.group != gvk.Group || r.kind != gvk.Kind {
					continue
				}
				for _, t := range named(o.Object.Object, strings.Split(r.path, ".")) {
					if t.kind == "" && i < len(references) || t.kind == r.to.Kind { // else of another check, or of none
						path := strings.ReplaceAll(r.path, ".[]", "[]")
						missing(s, o, r, t, path, "("+path+")")
					}
				}
			}
			for _, q := range queues {
				if name := labelled(o.Object, q.label); name != "" {
					missing(s, o, q.reference, target{name: name}, `metadata.labels["`+q.label+`"]`, "(label "+q.label+")")
				}
			}
		}
	},
}

// missing reports an object that is named and does not exist, of a kind that the bundle defines.
func missing(s *judge.Scope, o *bundle.Object, r reference, t target, path, how string) {
	name, namespace := t.name, ""
	if r.namespaced {
		namespace = cmp.Or(t.namespace, o.Object.GetNamespace())
	}
	defined := r.to.Group == appsv1.GroupName || r.to.Group == notifies // definitions of Kubernetes, and of Flux
	for i := range s.Expectation.Objects {
		x := s.Expectation.Objects[i].Object
		if x.GroupVersionKind().GroupKind() == r.to && x.GetName() == name && (namespace == "" || x.GetNamespace() == namespace) {
			return
		}
		defined = defined || apis.Defines(x, r.to)
	}
	if defined && !slices.Contains(madeByThemselves[r.to], name) {
		s.Report(o, path, r.to.Kind, strings.TrimPrefix(namespace+"/"+name, "/"), how, r.then).SetBy(name).
			Missing(result.Ref{Group: r.to.Group, Kind: r.to.Kind, Namespace: namespace, Name: name})
	}
}

// reference is a field of a kind that names an object.
type reference struct {
	group, kind string
	path        string // with [] where it leads through a list
	to          schema.GroupKind
	namespaced  bool // the other is in the same namespace
	then        string
}

const (
	kueue   = "kueue.x-k8s.io"
	kai     = "scheduling.run.ai"
	mariadb = "k8s.mariadb.com"
	slinky  = "slinky.slurm.net"
	secrets = "external-secrets.io"
	keda    = "keda.sh"

	notifies = "notification.toolkit.fluxcd.io"
)

var references = []reference{
	{kueue, "LocalQueue", "spec.clusterQueue", schema.GroupKind{Group: kueue, Kind: "ClusterQueue"}, false, "Kueue admits none of its jobs"},
	{kueue, "ClusterQueue", "spec.resourceGroups.[].flavors.[].name", schema.GroupKind{Group: kueue, Kind: "ResourceFlavor"}, false, "it is not active, and Kueue admits none of its jobs"},
	{kueue, "ClusterQueue", "spec.admissionChecks.[]", schema.GroupKind{Group: kueue, Kind: "AdmissionCheck"}, false, "it is not active, and Kueue admits none of its jobs"},
	{kueue, "ResourceFlavor", "spec.topologyName", schema.GroupKind{Group: kueue, Kind: "Topology"}, false, "Kueue does not use the flavor"},
	{kai, "Queue", "spec.parentQueue", schema.GroupKind{Group: kai, Kind: "Queue"}, false, "the scheduler places none of its pods"},
	{"trainer.kubeflow.org", "TrainJob", "spec.runtimeRef.name", schema.GroupKind{Group: "trainer.kubeflow.org", Kind: "ClusterTrainingRuntime"}, false, "the trainer's webhook refuses it"},
	{mariadb, "Database", "spec.mariaDbRef.name", schema.GroupKind{Group: mariadb, Kind: "MariaDB"}, true, "it is never ready"},
	{mariadb, "User", "spec.mariaDbRef.name", schema.GroupKind{Group: mariadb, Kind: "MariaDB"}, true, "it is never ready"},
	{mariadb, "Grant", "spec.mariaDbRef.name", schema.GroupKind{Group: mariadb, Kind: "MariaDB"}, true, "it is never ready"},
	{slinky, "NodeSet", "spec.controllerRef.name", schema.GroupKind{Group: slinky, Kind: "Controller"}, true, "its operator makes no pods of it"},
	{slinky, "LoginSet", "spec.controllerRef.name", schema.GroupKind{Group: slinky, Kind: "Controller"}, true, "its operator makes no pods of it"},
	{"apps.nvidia.com", "NIMService", "spec.storage.nimCache.name", schema.GroupKind{Group: "apps.nvidia.com", Kind: "NIMCache"}, true, "its operator makes no pods of it"},
	{"skyhook.nvidia.com", "Skyhook", "spec.deploymentPolicy", schema.GroupKind{Group: "skyhook.nvidia.com", Kind: "DeploymentPolicy"}, false, "its operator does nothing of it"},
	{secrets, "ExternalSecret", "spec.secretStoreRef.name", schema.GroupKind{Group: secrets, Kind: "SecretStore"}, true, "its Secret is never made"},
	{notifies, "Alert", "spec.providerRef.name", schema.GroupKind{Group: notifies, Kind: "Provider"}, true, "nobody hears of it"},
	{keda, "ScaledObject", "spec.scaleTargetRef.name", schema.GroupKind{Group: "apps", Kind: "Deployment"}, true, "KEDA scales nothing"},
	{keda, "ScaledObject", "spec.triggers.[].authenticationRef.name", schema.GroupKind{Group: keda, Kind: "TriggerAuthentication"}, true, "KEDA does not ask what it scales by"},
}

// saidReferences are those whose field names another kind where it does not say one.
var saidReferences = []reference{
	{secrets, "ExternalSecret", "spec.secretStoreRef.name", schema.GroupKind{Group: secrets, Kind: "ClusterSecretStore"}, false, "its Secret is never made"},
	{keda, "ScaledObject", "spec.scaleTargetRef.name", schema.GroupKind{Group: "apps", Kind: "StatefulSet"}, true, "KEDA scales nothing"},
	{keda, "ScaledObject", "spec.triggers.[].authenticationRef.name", schema.GroupKind{Group: keda, Kind: "ClusterTriggerAuthentication"}, false, "KEDA does not ask what it scales by"},
}

// madeByThemselves are what an operator makes without a resource that says so.
var madeByThemselves = map[schema.GroupKind][]string{
	{Group: kai, Kind: "Queue"}: {"default-parent-queue", "default-queue"},
}

// queues are the labels by which a workload names its queue.
var queues = []struct {
	label string
	reference
}{
	{kueue + "/queue-name", reference{to: schema.GroupKind{Group: kueue, Kind: "LocalQueue"}, namespaced: true, then: "Kueue admits none of its pods"}},
	{"kai.scheduler/queue", reference{to: schema.GroupKind{Group: kai, Kind: "Queue"}, then: "the scheduler places none of its pods"}},
}

// target is what a field names; namespace and kind are those beside the name, if there are any.
type target struct{ name, namespace, kind string }

// named are the targets at a path.
func named(v any, path []string) []target {
	switch x := v.(type) {
	case string:
		if len(path) == 0 && x != "" {
			return []target{{name: x}}
		}
	case map[string]any:
		if len(path) == 0 {
			return nil
		}
		all := named(x[path[0]], path[1:])
		if len(path) == 1 && path[0] == "name" {
			for i := range all {
				all[i].namespace, _ = x["namespace"].(string)
				all[i].kind, _ = x["kind"].(string)
			}
		}
		return all
	case []any:
		if len(path) == 0 || path[0] != "[]" {
			return nil
		}
		var all []target
		for _, item := range x {
			all = append(all, named(item, path[1:])...)
		}
		return all
	}
	return nil
}

// jobGroups are the API groups whose objects Kueue and schedulers admit by their labels, as they do Jobs.
var jobGroups = []string{"jobset.x-k8s.io", "trainer.kubeflow.org", "kubeflow.org", "ray.io", "leaderworkerset.x-k8s.io", "workload.codeflare.dev"}

// labelled is the value of a label of a workload, or of its pods; empty for an object that makes no pods.
func labelled(o *unstructured.Unstructured, label string) string {
	template, ok := podspec.Template(o)
	if !ok && slices.Contains(jobGroups, o.GroupVersionKind().Group) {
		return o.GetLabels()[label]
	}
	if !ok {
		return ""
	}
	if name := o.GetLabels()[label]; name != "" {
		return name
	}
	name, _, _ := unstructured.NestedString(template, "metadata", "labels", label)
	return name
}
