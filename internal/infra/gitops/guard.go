package gitops

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/metadata"

	reserved "github.com/nvidia/aicr-action/internal/bundle/policy"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// guarded are the objects that decide what a recipe can do to the controllers: the policy, its
// binding, and the controllers' own CRDs. The value is the object's UID and generation: the API
// server changes the UID when the object is created again, and the generation with its spec.
type guarded map[string]string

// read gets the objects. A rejected or failed request is CLUSTER_FAILED.
func (p *Policy) read(ctx context.Context, c *infra.Clients) (guarded, error) {
	found := guarded{}
	add := func(o *unstructured.Unstructured) {
		found[o.GetKind()+" "+o.GetName()] = fmt.Sprintf("%s generation %d", o.GetUID(), o.GetGeneration())
	}
	failed := func(err error) error {
		return reason.Wrap(reason.ClusterFailed, fmt.Errorf("read the admission policy %s: %w", p.name, err))
	}
	policy, err := c.Dynamic.Resource(policyGVR).Get(ctx, p.name, metav1.GetOptions{})
	switch {
	case err == nil:
		add(policy)
	case !apierrors.IsNotFound(err):
		return nil, failed(err)
	}
	// Another binding of the same policy is one more restriction; ours is the one that counts.
	binding, err := c.Dynamic.Resource(bindingGVR).Get(ctx, p.name, metav1.GetOptions{})
	switch {
	case err == nil:
		add(binding)
	case !apierrors.IsNotFound(err):
		return nil, failed(err)
	}
	heads, err := metadata.NewForConfig(c.Config) // of CRDs only the heads: with original charts they have 10 MB
	if err != nil {
		return nil, failed(err)
	}
	crds, err := heads.Resource(infra.CRDResource).List(ctx, metav1.ListOptions{ResourceVersion: "0"}) // from the watch cache
	if err != nil {
		return nil, failed(err)
	}
	for i := range crds.Items {
		crd := &crds.Items[i]
		if len(reserved.ReservedDefinitions([]string{crd.Name})) > 0 {
			found["CustomResourceDefinition "+crd.Name] = fmt.Sprintf("%s generation %d", crd.UID, crd.Generation)
		}
	}
	return found, nil
}

// Unchanged reports whether the policy, its binding and the controllers' CRDs are what they were
// when the policy came into force. The API server exempts admission policies from admission
// policies (https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/),
// so that a recipe can replace one. DEPLOY_FAILED names what was changed. A nil policy, or one that
// was never in force, guards nothing.
func (p *Policy) Unchanged(ctx context.Context, c *infra.Clients) error {
	if p == nil || p.installed == nil {
		return nil
	}
	now, err := p.read(ctx, c)
	if err != nil {
		return err
	}
	var changed []string
	for _, name := range slices.Sorted(maps.Keys(p.installed)) {
		switch {
		case now[name] == "":
			changed = append(changed, name+" is gone")
		case now[name] != p.installed[name]:
			changed = append(changed, name+" was changed")
		}
	}
	if len(changed) > 0 {
		return reason.New(reason.DeployFailed, "%s: %s; no verdict of this cell counts", strings.Join(changed, ", "), policyReason)
	}
	return nil
}
