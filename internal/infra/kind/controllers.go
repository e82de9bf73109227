package kind

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/gitops"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// controllers are the controllers of a deployer, as pods.
type controllers struct {
	cluster   *cluster
	kinds     []infra.ControllerKind // that are installed together
	name      string                 // for people
	namespace string
	// settings are applied before the controllers' own objects, last after them.
	settings, last []*unstructured.Unstructured
	secrets        []*unstructured.Unstructured // for the registry
	// ofCell are a lane's settings, for one cell. They come before the policy, which rejects their
	// like from then on.
	ofCell    []*unstructured.Unstructured
	policy    *gitops.Policy
	git       string // the repository that they read, if any
	crdBudget time.Duration
	podBudget time.Duration

	installFailed, crdMissing, notReady reason.Reason

	workloads []*unstructured.Unstructured
	started   bool // once
}

var _ infra.Controllers = (*controllers)(nil)

// controllerKinds are all that clusters here can have.
func controllerKinds() []infra.ControllerKind {
	return append(infra.ControllerKinds(), infra.ApplicationSetControllers)
}

// Controllers of an infra.Cluster.
func (c *cluster) Controllers(kind infra.ControllerKind, o infra.ControllerOptions) (infra.Controllers, error) {
	var repositories []string
	if c.spec.Egress != nil {
		repositories = c.spec.Egress.Repositories
	}
	switch kind {
	case infra.ArgoCDControllers:
		kinds := []infra.ControllerKind{kind}
		if c.reused() { // its state is saved before a lane's settings come, and applicationset-controller would be installed after them
			kinds = append(kinds, infra.ApplicationSetControllers)
		}
		return &controllers{
			cluster: c, kinds: kinds, name: "Argo CD", namespace: infra.ArgoCDNamespace,
			settings: ignoringHostPolicies(gitops.ArgoCDObjects(o.Health)), last: []*unstructured.Unstructured{redisPassword()}, ofCell: o.Objects,
			secrets: []*unstructured.Unstructured{gitops.RepositorySecret(0, registryHost)}, policy: gitops.ArgoCDPolicy(registryHost, o.Git, repositories...), git: o.Git,
			crdBudget: 120 * time.Second, podBudget: 180 * time.Second,
			installFailed: reason.ArgoCDInstallFailed, crdMissing: reason.ArgoCDCRDMissing, notReady: reason.ArgoCDNotReady,
		}, nil
	case infra.ApplicationSetControllers:
		return &controllers{
			cluster: c, kinds: []infra.ControllerKind{kind}, name: "Argo CD's applicationset-controller", namespace: infra.ArgoCDNamespace,
			crdBudget: 120 * time.Second, podBudget: 180 * time.Second,
			installFailed: reason.ArgoCDInstallFailed, crdMissing: reason.ArgoCDCRDMissing, notReady: reason.ArgoCDNotReady,
		}, nil
	case infra.FluxControllers:
		namespace := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": infra.FluxNamespace}}}
		return &controllers{
			cluster: c, kinds: []infra.ControllerKind{kind}, name: "Flux", namespace: infra.FluxNamespace, settings: []*unstructured.Unstructured{namespace},
			policy: gitops.FluxPolicy(registryHost, o.Root, o.Git, repositories...), git: o.Git, crdBudget: 60 * time.Second, podBudget: 180 * time.Second,
			installFailed: reason.FluxInstallFailed, crdMissing: reason.FluxCRDMissing, notReady: reason.FluxNotReady,
		}, nil
	}
	return nil, noControllers(kind)
}

// noControllers refuses what clusters here do not know.
func noControllers(kind infra.ControllerKind) error {
	return reason.New(reason.Internal, "the platform %s has no controllers of kind %s", Name, kind)
}

// ignoringHostPolicies tells Argo CD what hostPolicies add to DaemonSets: they would never be in
// sync otherwise, since a node selector is one value to a server-side apply.
func ignoringHostPolicies(objs []*unstructured.Unstructured) []*unstructured.Unstructured {
	for _, o := range objs {
		if data, ok := o.Object["data"].(map[string]any); ok && o.GetName() == gitops.ArgoCDConfig {
			data["resource.customizations.ignoreDifferences.apps_DaemonSet"] = "jsonPointers: [/spec/template/spec/nodeSelector/" + strings.ReplaceAll(simulatedLabel, "/", "~1") + "]\n"
		}
	}
	return objs
}

// redisPassword is what Argo CD's init container would make.
func redisPassword() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": "Opaque",
		"metadata":   map[string]any{"name": "argocd-redis", "namespace": infra.ArgoCDNamespace, "labels": map[string]any{"app.kubernetes.io/part-of": "argocd"}},
		"stringData": map[string]any{"auth": rand.Text()},
	}}
}

// Install copies the images into the node, and applies CRDs and configuration. Reasons:
// ARGOCD_INSTALL_FAILED, ARGOCD_CRD_NOT_ESTABLISHED, ARGOCD_CONFIG_FAILED, REPOSITORY_SECRET_FAILED, FLUX_INSTALL_FAILED,
// FLUX_CRD_NOT_ESTABLISHED, IMAGE_MISSING, NO_SPACE; GIT_NOT_READY, GIT_UNREACHABLE,
// GIT_NOT_WRITABLE if they read Git.
func (c *controllers) Install(ctx context.Context) error {
	if c.git != "" {
		if err := c.cluster.git.start(ctx, c.git); err != nil {
			return err
		}
	}
	if c.cluster.has(c.kinds...) { // settings may be another version's; what is the same stays as it is
		return c.configure(ctx)
	}
	var objs []*unstructured.Unstructured
	for _, kind := range c.kinds {
		more, err := controllerObjects(kind)
		if err != nil {
			return reason.Wrap(reason.Internal, err)
		}
		objs = append(objs, more...)
	}
	loaded := make(chan error, 1)
	go func() { loaded <- c.cluster.loadImages(ctx, imagesOf(objs)) }()
	err := c.install(ctx, objs)
	if failed := <-loaded; failed != nil {
		return failed
	}
	return err
}

func (c *controllers) install(ctx context.Context, objs []*unstructured.Unstructured) error {
	var crds []string
	var rest []*unstructured.Unstructured
	for _, o := range objs {
		switch {
		case o.GetKind() == "CustomResourceDefinition":
			if err := c.cluster.clients.Apply(ctx, infra.CRDResource, o); err != nil {
				return reason.New(c.installFailed, "apply %s's CRDs: %w", c.name, err)
			}
			crds = append(crds, o.GetName())
		case podSpec(o) != nil:
			c.workloads = append(c.workloads, o)
		default:
			rest = append(rest, o)
		}
	}
	if err := c.cluster.clients.WaitCRDs(ctx, crds, c.crdBudget); err != nil {
		return reason.Wrap(c.crdMissing, err)
	}
	if err := c.configure(ctx); err != nil {
		return err
	}
	for _, list := range [][]*unstructured.Unstructured{rest, c.last} {
		if err := c.cluster.applyAll(ctx, list); err != nil {
			return reason.New(c.installFailed, "install %s: %w", c.name, err)
		}
	}
	if err := c.cluster.applyAll(ctx, c.secrets); err != nil {
		return reason.New(reason.RepositorySecretFailed, "give %s access to the registry: %w", c.name, err)
	}
	if c.cluster.reused() { // the state of the cluster is saved first
		return nil
	}
	return c.furnishCell(ctx)
}

// configure applies the settings, one after the other, since one of them has a reason of its own.
func (c *controllers) configure(ctx context.Context) error {
	for i, o := range c.settings {
		if err := c.cluster.applyAll(ctx, c.settings[i:i+1]); err != nil {
			return reason.New(gitops.InstallReason(o, c.installFailed), "configure %s: %w", c.name, err)
		}
	}
	return nil
}

// furnishCell applies what is of this cell alone, and then the policy.
func (c *controllers) furnishCell(ctx context.Context) error {
	if err := c.cluster.applyAll(ctx, c.ofCell); err != nil {
		return reason.New(c.installFailed, "configure %s: %w", c.name, err)
	}
	return reason.Wrap(c.installFailed, c.policy.Apply(ctx, c.cluster.clients))
}

// Start applies the workloads and waits for their pods. Reasons: ARGOCD_NOT_READY, FLUX_NOT_READY;
// those of the install for what cannot be applied.
func (c *controllers) Start(ctx context.Context) error {
	if err := c.cluster.applyAll(ctx, c.workloads); err != nil {
		return reason.New(c.installFailed, "install %s: %w", c.name, err)
	}
	if err := c.cluster.waitPods(ctx, c.namespace, c.podBudget); err != nil {
		return reason.Wrap(c.notReady, fmt.Errorf("start %s: %w", c.name, err))
	}
	if c.cluster.reused() && !c.started {
		if !c.cluster.has(c.kinds...) {
			if err := c.cluster.remember(ctx, c.kinds...); err != nil {
				return err
			}
		}
		if err := c.furnishCell(ctx); err != nil {
			return err
		}
	}
	c.started = true
	return reason.Wrap(c.notReady, c.policy.WaitInForce(ctx, c.cluster.clients))
}

// Unchanged of an infra.Controllers.
func (c *controllers) Unchanged(ctx context.Context) error {
	return c.policy.Unchanged(ctx, c.cluster.clients)
}

// Stop does nothing: pods end with the cluster, and in one that is kept they stay.
func (c *controllers) Stop() {}
