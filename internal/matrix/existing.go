package matrix

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/apis"
	"github.com/nvidia/aicr-action/internal/bundle/policy"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// Existing is what each cluster has before anything is delivered (--with, --cluster-file). It is not judged.
type Existing struct {
	// From says, for reports, what the objects are of.
	From    string
	Objects []*unstructured.Unstructured
}

// existingBudget is how long the definitions of Existing may take to be served.
const existingBudget = time.Minute

// existingManager is the field manager of Existing, and of nothing else.
const existingManager = "aicr-action-with"

// NewExisting checks objects. What nothing here could serve is left out: webhooks, and aggregated APIs. Reason: USAGE.
func NewExisting(from string, objects []*unstructured.Unstructured) (Existing, error) {
	e := Existing{From: from}
	left := map[string]int{}
	for _, o := range objects {
		if problem, _ := policy.WhyRefused(o); problem != "" {
			return e, reason.New(reason.Usage, "%s: %s %s %s", from, o.GetKind(), infra.NamespacedName(o.GetNamespace(), o.GetName()), problem)
		}
		switch o.GetKind() {
		case "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration", "APIService":
			left[o.GetKind()]++
		default:
			e.Objects = append(e.Objects, o)
		}
	}
	e.From = fmt.Sprintf("%s: %s", from, lists.Count(len(e.Objects), "object"))
	for _, kind := range slices.Sorted(maps.Keys(left)) {
		e.From += fmt.Sprintf("; without %s, which no program here serves", lists.Count(left[kind], kind))
	}
	return e, nil
}

// existingAPIs are those of a platform, and what the definitions of Existing add.
func (r *Runner) existingAPIs(of bundle.APIs) bundle.APIs {
	for _, e := range r.Existing {
		for _, o := range e.Objects {
			of.Server = append(slices.Clip(of.Server), apis.ServedBy(o)...)
		}
	}
	return of
}

// createExisting applies what the cluster already has: definitions first, then namespaces, and the rest once all kinds
// are served.
func (c *cellRun) createExisting(ctx context.Context) error {
	for _, e := range c.existing {
		if err := c.applyExisting(ctx, e); err != nil {
			return reason.New(reason.Usage, "%s: %w", e.From, err)
		}
		c.result.Overrides = append(c.result.Overrides, "there before: "+e.From)
	}
	return nil
}

func (c *cellRun) applyExisting(ctx context.Context, e Existing) error {
	var definitions []string
	phase := func(o *unstructured.Unstructured) int {
		switch o.GetKind() {
		case "CustomResourceDefinition":
			return 0
		case "Namespace":
			return 1
		}
		return 2
	}
	objects := append(missingNamespaces(e.Objects), e.Objects...)
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int { return phase(a) - phase(b) })
	served := false
	for _, o := range objects {
		if phase(o) == 0 {
			definitions = append(definitions, o.GetName())
		} else if !served {
			if err := c.env.Clients.WaitCRDs(ctx, definitions, existingBudget); err != nil {
				return err
			}
			served = true
		}
		if err := c.applyOne(ctx, o); err != nil {
			return fmt.Errorf("create %s %s: %w", o.GetKind(), infra.NamespacedName(o.GetNamespace(), o.GetName()), err)
		}
	}
	return nil
}

func (c *cellRun) applyOne(ctx context.Context, o *unstructured.Unstructured) error {
	mapper, err := c.env.Clients.Mapper()
	if err != nil {
		return err
	}
	gvk := o.GroupVersionKind()
	mapping, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if meta.IsNoMatchError(err) {
		return fmt.Errorf("the cluster does not serve %s: add its CustomResourceDefinition to what exists (--with)", gvk)
	}
	if err != nil {
		return err
	}
	_, err = c.env.Clients.Scoped(mapping, o.GetNamespace()).Apply(ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: existingManager, Force: true})
	if apierrors.IsForbidden(err) {
		return fmt.Errorf("the API server refuses it: %w", err)
	}
	return err
}

// missingNamespaces are those that objects are in and that are not among them. Kubernetes' own are there.
func missingNamespaces(objects []*unstructured.Unstructured) (all []*unstructured.Unstructured) {
	there := map[string]bool{"": true, "default": true}
	for _, o := range objects {
		if o.GetKind() == "Namespace" {
			there[o.GetName()] = true
		}
	}
	for _, o := range objects {
		if ns := o.GetNamespace(); !there[ns] && !strings.HasPrefix(ns, "kube-") {
			there[ns] = true
			all = append(all, &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": ns}}})
		}
	}
	return all
}
