package infra

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	resourcehelper "k8s.io/component-helpers/resource"
)

// ArgoCDNamespace is where Argo CD's objects live.
const ArgoCDNamespace = "argocd"

// Names of Argo CD's components as processes; log files are named after them.
const (
	ArgoCDRepoServer = "argocd-repo-server"
	ArgoCDController = "argocd-application-controller"

	ArgoCDApplicationSets = "argocd-applicationset-controller"
)

// Argo CD's own resources.
var (
	ApplicationGVR    = schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "applications"}
	ApplicationSetGVR = schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "applicationsets"}
	AppProjectGVR     = schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "appprojects"}
	SecretGVR         = corev1.SchemeGroupVersion.WithResource("secrets")
	ConfigMapGVR      = corev1.SchemeGroupVersion.WithResource("configmaps")
	NamespaceGVR      = corev1.SchemeGroupVersion.WithResource("namespaces")
)

// FluxNamespace is where Flux's objects live.
const FluxNamespace = "flux-system"

// Names of Flux's controllers as processes; log files are named after them.
const (
	FluxSourceController    = "source-controller"
	FluxKustomizeController = "kustomize-controller"
	FluxHelmController      = "helm-controller"
	FluxSourceWatcher       = "source-watcher"
)

// HelmfileProcess is the name of helmfile as a process, and of its log.
const HelmfileProcess = "helmfile"

// Flux's own resources.
var (
	OCIRepositoryGVR     = schema.GroupVersionResource{Group: "source.toolkit.fluxcd.io", Version: "v1", Resource: "ocirepositories"}
	GitRepositoryGVR     = schema.GroupVersionResource{Group: "source.toolkit.fluxcd.io", Version: "v1", Resource: "gitrepositories"}
	HelmChartGVR         = schema.GroupVersionResource{Group: "source.toolkit.fluxcd.io", Version: "v1", Resource: "helmcharts"}
	ExternalArtifactGVR  = schema.GroupVersionResource{Group: "source.toolkit.fluxcd.io", Version: "v1", Resource: "externalartifacts"}
	KustomizationGVR     = schema.GroupVersionResource{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Resource: "kustomizations"}
	HelmReleaseGVR       = schema.GroupVersionResource{Group: "helm.toolkit.fluxcd.io", Version: "v2", Resource: "helmreleases"}
	ArtifactGeneratorGVR = schema.GroupVersionResource{Group: "source.extensions.fluxcd.io", Version: "v1beta1", Resource: "artifactgenerators"}
)

// GPUResource is the resource that a pod requests to get a GPU, and that a node with GPUs has.
const GPUResource = "nvidia.com/gpu"

// PodGPUs is how many GPUs a pod requests, as the scheduler counts them.
func PodGPUs(p *corev1.Pod) int {
	gpus := resourcehelper.PodRequests(p, resourcehelper.PodResourcesOptions{})[GPUResource]
	return int(gpus.Value())
}

// NodeGPUs is how many GPUs a node has for pods.
func NodeGPUs(n *corev1.Node) int {
	gpus := n.Status.Allocatable[GPUResource]
	return int(gpus.Value())
}

// PodEnded reports whether a pod has succeeded or failed, so that it uses no resource of its node
// any more.
func PodEnded(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// NodeReady reports whether pods can be bound to the node as far as its health goes. The condition
// alone is not enough: the node controller removes the not-ready taint a moment later, and until
// then the scheduler refuses the node.
func NodeReady(n *corev1.Node) bool {
	for _, t := range n.Spec.Taints {
		if t.Key == corev1.TaintNodeNotReady {
			return false
		}
	}
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// HostNodeLabel is on nodes that run a cluster's own pods. They are no part of what a recipe is
// verified on.
const HostNodeLabel = "aicr.nvidia.com/host"
