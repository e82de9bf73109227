package daytwo

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/rendering"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
)

// left is an object that is still in the cluster.
type left struct {
	ref result.Ref
	// why is what is said after its name.
	why string
	// leaving: it is being deleted. finalizer is the one that it waits for and that no program here
	// removes; empty if there is none.
	leaving   bool
	finalizer string
	// unrun: the program that would remove the finalizer may be an operator of the recipe, which is
	// only simulated here.
	unrun bool
	// closed: it makes the API server refuse requests.
	closed bool
}

func (l left) blocks() bool { return l.closed || l.leaving && !l.unrun }

// readsAtATime bounds the requests in flight.
const readsAtATime = 8

// scan lists what is still there: objects of the expectation, the namespaces of its releases,
// claims, and webhooks without a server.
func scan(ctx context.Context, env *lane.Env) ([]left, error) {
	mapper, err := env.Clients.Mapper()
	if err != nil {
		return nil, err
	}
	found := map[string]left{}
	var mu sync.Mutex
	add := func(l left) {
		mu.Lock()
		defer mu.Unlock()
		if _, ok := found[l.ref.String()]; !ok || l.closed || l.leaving {
			found[l.ref.String()] = l
		}
	}
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(readsAtATime)
	for _, o := range env.Bundle.Expectation.Objects {
		group.Go(func() error {
			live, err := readLeftover(gctx, env, mapper, o.Object)
			if live != nil {
				add(describe(live, &o, env.Bundle.Expectation))
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	if err := others(ctx, env, add); err != nil {
		return nil, err
	}
	all := make([]left, 0, len(found))
	for _, l := range found {
		all = append(all, l)
	}
	slices.SortFunc(all, func(a, b left) int { return cmp.Compare(a.ref.String(), b.ref.String()) })
	return all, nil
}

// readLeftover returns the live object; nil if there is none, or if its kind is no longer served.
func readLeftover(ctx context.Context, env *lane.Env, mapper meta.RESTMapper, obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	gvk := obj.GroupVersionKind()
	mapping, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if meta.IsNoMatchError(err) || obj.GetName() == "" {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	live, err := env.Clients.Scoped(mapping, obj.GetNamespace()).Get(ctx, obj.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s %s: %w", gvk.Kind, obj.GetName(), err)
	}
	return live, nil
}

// describe says why an object of the expectation is still there.
func describe(live *unstructured.Unstructured, o *bundle.Object, e bundle.Expectation) left {
	l := left{ref: lane.RefOf(live)}
	switch {
	case live.GetDeletionTimestamp() != nil:
		return leaving(live, e)
	case rendering.KeptAtUninstall(live.GetAnnotations()):
		l.why = "kept by the annotation " + rendering.HelmKeeps
	case rendering.HasSyncOption(live.GetAnnotations(), "Delete=false"):
		l.why = "kept by the annotation " + rendering.ArgoSyncOptions
	case live.GetKind() == "CustomResourceDefinition":
		l.why = "definitions, of which Helm deletes none of crds/, and Argo CD none at all"
	case o.Hook:
		l.why = "of hooks, which the deployer does not delete"
	default:
		l.why = "not deleted"
	}
	return l
}

// leaving describes an object that is being deleted.
func leaving(live *unstructured.Unstructured, e bundle.Expectation) left {
	l := left{ref: lane.RefOf(live), leaving: true, why: "is being deleted and does not go"}
	for _, f := range live.GetFinalizers() {
		if kubernetesOwn(f) {
			continue
		}
		l.finalizer = f
		if operator := operatorOf(f, e); operator != "" {
			l.unrun = true
			l.why = fmt.Sprintf("still being deleted, with the finalizer %s; whether an operator of %s, which is only simulated here, removes it is not verified", f, operator)
			return l
		}
		l.why = fmt.Sprintf("is being deleted for ever: it has the finalizer %s, and no controller that removes it", f)
	}
	return l
}

// leftoverWaits says of a live object that is being deleted that it waits for a finalizer which no program here
// removes; ok is false if it does not. judged is false if an operator of one of these recipes may remove it,
// which is only simulated.
func leftoverWaits(live *unstructured.Unstructured, recipes ...bundle.Expectation) (why string, judged, ok bool) {
	if live.GetDeletionTimestamp() == nil {
		return "", false, false
	}
	judged = true
	for _, e := range recipes {
		l := leaving(live, e)
		if l.finalizer == "" {
			return "", false, false
		}
		if why == "" || l.unrun {
			why, judged = l.why, judged && !l.unrun
		}
	}
	return why, judged, why != ""
}

// kubernetesOwn reports whether the control plane, the deployer or its garbage collection removes
// the finalizer.
func kubernetesOwn(f string) bool {
	if !strings.Contains(f, "/") {
		return !strings.Contains(f, ".") || strings.HasSuffix(f, ".k8s.io") || strings.HasSuffix(f, ".fluxcd.io") || strings.HasSuffix(f, ".argoproj.io")
	}
	domain, _, _ := strings.Cut(f, "/")
	return domain == "kubernetes.io" || domain == "argocd.argoproj.io" || strings.HasSuffix(domain, ".kubernetes.io") && domain != "app.kubernetes.io"
}

// operatorOf returns the API group of the recipe to whose operator a finalizer may belong: one that
// is the finalizer's domain, or shares its last two parts; empty if there is none.
func operatorOf(finalizer string, e bundle.Expectation) string {
	domain, _, _ := strings.Cut(finalizer, "/")
	for _, o := range e.Objects {
		if o.Object.GetKind() != "CustomResourceDefinition" {
			continue
		}
		group, _, _ := unstructured.NestedString(o.Object.Object, "spec", "group")
		if group == "" {
			_, group, _ = strings.Cut(o.Object.GetName(), ".")
		}
		if lastTwo(group) == lastTwo(domain) {
			return group
		}
	}
	return ""
}

func lastTwo(domain string) string {
	parts := strings.Split(domain, ".")
	return strings.Join(parts[max(0, len(parts)-2):], ".")
}

// others adds what no chart renders, and what blocks.
func others(ctx context.Context, env *lane.Env, add func(left)) error {
	kube := env.Clients.Kube
	own := map[string]bool{}
	for _, r := range env.Bundle.Expectation.Releases {
		own[r.Namespace] = true
	}
	namespaces, err := kube.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list namespaces: %w", err)
	}
	for i := range namespaces.Items {
		n := &namespaces.Items[i]
		l := left{ref: result.Ref{Kind: "Namespace", Name: n.Name}, why: "namespaces that the deployer created, and leaves"}
		switch {
		case n.DeletionTimestamp != nil:
			l.leaving, l.why = true, "is being deleted for ever"
			for _, c := range n.Status.Conditions {
				if c.Status == "True" {
					l.why += ": " + c.Message
				}
			}
		case !own[n.Name] || strings.HasPrefix(n.Name, "kube-") || n.Name == metav1.NamespaceDefault || n.Name == infra.ArgoCDNamespace || n.Name == infra.FluxNamespace:
			continue
		}
		add(l)
	}
	claims, err := kube.CoreV1().PersistentVolumeClaims(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list claims: %w", err)
	}
	for i := range claims.Items {
		if c := &claims.Items[i]; c.DeletionTimestamp == nil {
			add(left{ref: result.Ref{Kind: "PersistentVolumeClaim", Namespace: c.Namespace, Name: c.Name}, why: "claims with their data"})
		}
	}
	return webhooks(ctx, env, add)
}

// webhooks adds those that fail closed and whose Service is gone.
func webhooks(ctx context.Context, env *lane.Env, add func(left)) error {
	check := func(kind, name, webhook string, policy *admissionv1.FailurePolicyType, service *admissionv1.ServiceReference, rules []admissionv1.RuleWithOperations) error {
		if service == nil || policy != nil && *policy == admissionv1.Ignore {
			return nil
		}
		_, err := env.Clients.Kube.CoreV1().Services(service.Namespace).Get(ctx, service.Name, metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			return err
		}
		ref := result.Ref{Group: admissionv1.GroupName, Kind: kind, Name: name}
		add(left{ref: ref, closed: true, why: fmt.Sprintf("stays, and its webhook %s fails closed: its Service %s/%s is gone, so that the API server refuses every request for %s", webhook, service.Namespace, service.Name, matched(rules))})
		return nil
	}
	validating, err := env.Clients.Kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list webhooks: %w", err)
	}
	for _, c := range validating.Items {
		for _, w := range c.Webhooks {
			if err := check("ValidatingWebhookConfiguration", c.Name, w.Name, w.FailurePolicy, w.ClientConfig.Service, w.Rules); err != nil {
				return err
			}
		}
	}
	mutating, err := env.Clients.Kube.AdmissionregistrationV1().MutatingWebhookConfigurations().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list webhooks: %w", err)
	}
	for _, c := range mutating.Items {
		for _, w := range c.Webhooks {
			if err := check("MutatingWebhookConfiguration", c.Name, w.Name, w.FailurePolicy, w.ClientConfig.Service, w.Rules); err != nil {
				return err
			}
		}
	}
	return nil
}

// matched names the resources that a webhook is asked about.
func matched(rules []admissionv1.RuleWithOperations) string {
	var all []string
	for _, r := range rules {
		for _, group := range r.APIGroups {
			for _, resource := range r.Resources {
				all = append(all, schema.GroupResource{Group: group, Resource: resource}.String())
			}
		}
	}
	return strings.Join(all, ", ")
}
