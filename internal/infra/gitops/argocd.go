package gitops

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle/argoapi"
	"github.com/nvidia/aicr-action/internal/bundle/policy"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/health"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// ArgoCDObjects are the namespace, the settings and the default project that Argo CD's controllers
// need besides their CRDs, to be applied before they start. Every one is labelled as part of Argo
// CD: its settings manager sees no other.
func ArgoCDObjects(policy health.Policy) []*unstructured.Unstructured {
	named := func(apiVersion, kind, name string, body map[string]any) *unstructured.Unstructured {
		meta := map[string]any{"name": name}
		if kind != "Namespace" {
			meta["namespace"] = infra.ArgoCDNamespace
			meta["labels"] = map[string]any{"app.kubernetes.io/part-of": "argocd", "app.kubernetes.io/name": name}
		}
		m := map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": meta}
		for k, v := range body {
			m[k] = v
		}
		return &unstructured.Unstructured{Object: m}
	}
	settings := policy.ArgoCD()
	// An operation that waits for a resource's health goes on when the resource changes. By default
	// changes of status alone are not looked at, and a CRD that becomes Established is such a
	// change: the operation would wait for the next periodic refresh.
	settings["resource.ignoreResourceUpdatesEnabled"] = "false"
	// No bundle needs Kustomize or Jsonnet, and both read more than their directory: other
	// machines' files, or this one's. Nor does Argo CD fetch the values of a chart from an address.
	settings["kustomize.enable"], settings["jsonnet.enable"], settings["helm.valuesFileSchemes"] = "false", "false", ""
	settings["resource.customizations.health.autoscaling_HorizontalPodAutoscaler"] = autoscalerHealth
	// As Argo CD's own manifests and its Helm chart have it.
	settings["resource.exclusions"] = argoapi.ExclusionsSetting()
	all := []any{map[string]any{"group": "*", "kind": "*"}}
	return []*unstructured.Unstructured{
		named("v1", "Namespace", infra.ArgoCDNamespace, nil),
		named("v1", "ConfigMap", ArgoCDConfig, map[string]any{"data": settings}),
		named("v1", "ConfigMap", "argocd-rbac-cm", nil),
		named("v1", "Secret", "argocd-secret", map[string]any{
			"type": "Opaque", "stringData": map[string]any{"server.secretkey": "not-a-secret-in-a-throwaway-cluster"},
		}),
		named("argoproj.io/v1alpha1", "AppProject", "default", map[string]any{"spec": map[string]any{
			"sourceRepos":              []any{"*"},
			"destinations":             []any{map[string]any{"server": "*", "namespace": "*"}},
			"clusterResourceWhitelist": all,
		}}),
	}
}

// ArgoCDConfig is the ConfigMap of Argo CD's settings.
const ArgoCDConfig = "argocd-cm"

// InstallReason is the reason of an object that cannot be applied: upstream's harness has a code of its own for argocd-cm.
func InstallReason(o *unstructured.Unstructured, otherwise reason.Reason) reason.Reason {
	if o.GetName() == ArgoCDConfig {
		return reason.ArgoCDConfigFailed
	}
	return otherwise
}

// RepositorySecret is one credential template for a whole registry that speaks plain HTTP: Argo CD
// matches its URL as a prefix. Number 0 is the cell's registry.
func RepositorySecret(number int, host string) *unstructured.Unstructured {
	name := policy.RegistrySecret
	if number > 0 {
		name = policy.ChartRegistryPrefix + strconv.Itoa(number)
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": "Opaque",
		"metadata": map[string]any{
			"name": name, "namespace": infra.ArgoCDNamespace,
			"labels": map[string]any{"argocd.argoproj.io/secret-type": "repo-creds", "app.kubernetes.io/part-of": "argocd"},
		},
		"stringData": map[string]any{"type": "oci", "url": "oci://" + host, "insecureOCIForceHttp": "true"},
	}}
}

// ArgoCDTiming are the environment variables of Argo CD's controllers that differ from upstream's
// defaults because a cell lives for a minute.
func ArgoCDTiming() []corev1.EnvVar {
	return []corev1.EnvVar{
		// The pause between two waves, 2 s by default, is there for slow caches; the waves
		// themselves are kept.
		{Name: "ARGOCD_SYNC_WAVE_DELAY", Value: "0"},
		// The interval of periodic refreshes, 120 s and up to 60 s more by default. The gate asks
		// for a refresh itself when nothing moves; this is for clusters that stay.
		{Name: "ARGOCD_RECONCILIATION_TIMEOUT", Value: "60s"}, {Name: "ARGOCD_RECONCILIATION_JITTER", Value: "0s"},
		// An Application whose custom resources the controller does not watch yet is OutOfSync for
		// a moment after its own operation. By default it is synced again at once, then after 2 s,
		// 6 s, 18 s: work for nothing, while the cause is the same work. Drift is still healed.
		{Name: "ARGOCD_APPLICATION_CONTROLLER_SELF_HEAL_BACKOFF_TIMEOUT_SECONDS", Value: "0"}, {Name: "ARGOCD_APPLICATION_CONTROLLER_SELF_HEAL_TIMEOUT_SECONDS", Value: "30"},
	}
}
