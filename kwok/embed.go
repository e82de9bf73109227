// Package kwok is what the simulation is made of: the stack's parts list, node profiles, KWOK
// stages, simulated charts, and the manifests and configuration of a Kind cluster.
package kwok

import "embed"

// Files has charts/, profiles/, scheduling/, stages/, manifests/, health.yaml,
// parity.yaml, parity-operators.yaml and kind-config.yaml. A directory of charts/ without a Chart.yaml is not a chart.
//
//go:embed all:charts profiles scheduling stages manifests/*.yaml health.yaml parity.yaml parity-operators.yaml kind-config.yaml
var Files embed.FS

// StackMod and StackSum are copies of stack/go.mod and stack/go.sum, and StackSources has those of its
// Go files, below embedded/stack, with the suffix .txt. They are copies because a
// directory with a go.mod is a separate module, which embed cannot read and `go install` does not
// include. `make generate` updates them, and a test compares them.
var (
	//go:embed embedded/stack.mod
	StackMod []byte
	//go:embed embedded/stack.sum
	StackSum []byte
	//go:embed embedded/stack
	StackSources embed.FS
	// ImagesLock is such a copy of stack/images.lock.
	//go:embed embedded/images.lock
	ImagesLock []byte
)

// SchedulersMod and SchedulersSum are such copies of schedulers/go.mod and schedulers/go.sum.
var (
	//go:embed embedded/schedulers.mod
	SchedulersMod []byte
	//go:embed embedded/schedulers.sum
	SchedulersSum []byte
)

// PrometheusOperatorMod and PrometheusOperatorSum are such copies of operators/prometheus-operator/go.mod and go.sum.
var (
	//go:embed embedded/prometheus-operator.mod
	PrometheusOperatorMod []byte
	//go:embed embedded/prometheus-operator.sum
	PrometheusOperatorSum []byte
)

// NFDMod and NFDSum are such copies of operators/node-feature-discovery/go.mod and go.sum.
var (
	//go:embed embedded/node-feature-discovery.mod
	NFDMod []byte
	//go:embed embedded/node-feature-discovery.sum
	NFDSum []byte
)

// CertManagerMod and CertManagerSum are such copies of operators/cert-manager/go.mod and go.sum, and
// CertManagerSources has those of its Go files, below embedded/cert-manager, with the suffix .txt.
var (
	//go:embed embedded/cert-manager.mod
	CertManagerMod []byte
	//go:embed embedded/cert-manager.sum
	CertManagerSum []byte
	//go:embed embedded/cert-manager
	CertManagerSources embed.FS
)

// Kubernetes has such copies of kubernetes/MINOR/go.mod and go.sum, as embedded/kubernetes-MINOR.mod and .sum:
// the control planes of other minor versions.
//
//go:embed embedded/kubernetes-*
var Kubernetes embed.FS

// HelmfileMod and HelmfileSum are such copies of helmfile/go.mod and helmfile/go.sum.
var (
	//go:embed embedded/helmfile.mod
	HelmfileMod []byte
	//go:embed embedded/helmfile.sum
	HelmfileSum []byte
)

// KarpenterMod and KarpenterSum are such copies of karpenter/go.mod and karpenter/go.sum, and
// KarpenterSources has those of its Go files, below embedded/karpenter, with the suffix .txt.
var (
	//go:embed embedded/karpenter.mod
	KarpenterMod []byte
	//go:embed embedded/karpenter.sum
	KarpenterSum []byte
	//go:embed embedded/karpenter
	KarpenterSources embed.FS
)
