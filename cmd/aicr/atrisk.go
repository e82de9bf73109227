package main

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/pager"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// atRisk are the objects of the kinds that an upgrade affects which no deployer would bring back. The keys are those of
// AICR's own CLI, and error besides.
type atRisk struct {
	// Scanned reports whether every kind was read; Reason says why not.
	Scanned  bool          `json:"scanned"`
	Reason   string        `json:"reason,omitempty"`
	Kinds    []riskKind    `json:"kinds,omitempty"`
	Findings []riskFinding `json:"findings,omitempty"`

	unversioned []string // the components of which it is not known what they cross
}

type riskKind struct {
	Group      string   `json:"group,omitempty"`
	Kind       string   `json:"kind"`
	Components []string `json:"components,omitempty"`
	// Present reports whether the cluster has the kind.
	Present  bool `json:"present"`
	Examined int  `json:"examined"`
	// Error says why the kind, or a part of its objects, was not read.
	Error string `json:"error,omitempty"`
}

type riskFinding struct {
	Group      string   `json:"group,omitempty"`
	Kind       string   `json:"kind"`
	Components []string `json:"components,omitempty"`
	Namespace  string   `json:"namespace,omitempty"`
	Name       string   `json:"name"`
}

// scanTime is how long a cluster may take to list the objects of one kind.
const scanTime = time.Minute

// scan looks in the cluster for objects at risk by the records that the rows cross. What cannot be read is said in the
// result: the scan advises, and fails nothing. The error is the context's.
func (a *app) scan(ctx context.Context, f upgradeFlags, rows []recipe.UpgradeRow) (atRisk, error) {
	kinds, unversioned := recipe.AffectedKinds(rows), []string(nil)
	for i := range rows {
		if rows[i].Verdict == recipe.UpgradeUnversioned {
			unversioned = append(unversioned, rows[i].Component)
		}
	}
	switch {
	case !f.scan && f.scanSet:
		return atRisk{Reason: "--scan-cluster=false turned it off"}, nil
	case !f.scan:
		return atRisk{Reason: "no access to a cluster was asked for; --scan-cluster looks in that of --kubeconfig"}, nil
	case len(kinds) == 0:
		return atRisk{Scanned: true, unversioned: unversioned}, nil
	}
	kube, objects, err := a.cluster(f.kubeconfig)
	var served []*metav1.APIResourceList
	if err == nil {
		_, served, err = discovery.ServerGroupsAndResources(kube.Discovery())
	}
	slices.SortFunc(served, func(a, b *metav1.APIResourceList) int { // discovery gives them in no order
		return -version.CompareKubeAwareVersionStrings(path.Base(a.GroupVersion), path.Base(b.GroupVersion))
	})
	failed, partly := discovery.GroupDiscoveryFailedErrorGroups(err)
	if err != nil && !partly {
		return atRisk{Reason: fmt.Sprintf("the cluster cannot be read: %v; check the kubeconfig's server, the network and the login", err)}, ctx.Err()
	}
	found := atRisk{unversioned: unversioned}
	unread := 0
	for _, kind := range kinds {
		k, unowned := riskKind{Group: kind.Group, Kind: kind.Kind, Components: kind.Components}, []riskFinding(nil)
		resource, err := servedAs(served, failed, kind)
		if err == nil && resource != nil {
			k.Present = true
			unowned, err = k.examine(ctx, objects.Resource(*resource))
		}
		if ctx.Err() != nil {
			return atRisk{}, ctx.Err()
		}
		if err != nil {
			k.Error = err.Error()
			unread++
		}
		found.Kinds, found.Findings = append(found.Kinds, k), append(found.Findings, unowned...)
	}
	if found.Scanned = unread == 0; !found.Scanned {
		found.Reason = fmt.Sprintf("%d of %s could not be read", unread, lists.Count(len(kinds), "kind"))
	}
	return found, nil
}

// servedAs is the resource by which the cluster lists a kind, in the most stable version; nil if it does not have the
// kind. One of a group that does not answer is an error: that it is missing is not known.
func servedAs(served []*metav1.APIResourceList, failed map[schema.GroupVersion]error, kind recipe.AffectedKind) (*schema.GroupVersionResource, error) {
	for _, list := range served {
		at, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil || at.Group != kind.Group {
			continue
		}
		for _, r := range list.APIResources {
			if r.Kind == kind.Kind && !strings.Contains(r.Name, "/") {
				resource := at.WithResource(r.Name)
				return &resource, nil
			}
		}
	}
	for at, err := range failed {
		if at.Group == kind.Group {
			return nil, fmt.Errorf("the cluster does not say which kinds %s has: %w; run the check again when its API server answers", at, err)
		}
	}
	return nil, nil
}

// examine lists the objects of a kind in all namespaces, and gives those without an owner, in the order of their names.
func (k *riskKind) examine(ctx context.Context, client dynamic.ResourceInterface) ([]riskFinding, error) {
	within, cancel := context.WithTimeout(ctx, scanTime)
	defer cancel()
	var found []riskFinding
	list := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return client.List(ctx, o) })
	err := list.EachListItem(within, metav1.ListOptions{}, func(object runtime.Object) error {
		o, ok := object.(*unstructured.Unstructured)
		if !ok {
			return fmt.Errorf("the cluster listed a %T", object)
		}
		k.Examined++
		if !ownedByDeployer(o) {
			found = append(found, riskFinding{Group: k.Group, Kind: k.Kind, Components: k.Components, Namespace: o.GetNamespace(), Name: o.GetName()})
		}
		return nil
	})
	slices.SortFunc(found, func(a, b riskFinding) int { return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name) })
	switch {
	case apierrors.IsNotFound(err) && k.Examined == 0: // its definition went meanwhile
		k.Present = false
		return nil, nil
	case apierrors.IsForbidden(err):
		err = fmt.Errorf("%w; it needs list on this kind in all namespaces", err)
	case errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("the cluster did not list its objects within %s; run the check again", scanTime)
	}
	return found, err
}

// ownedByDeployer reports whether an object has the marks of Helm, which Flux's HelmReleases have too, or that of
// Argo CD. Others, such as the label app.kubernetes.io/instance, anyone may write: AICR's own CLI does not count them.
func ownedByDeployer(o *unstructured.Unstructured) bool {
	notes := o.GetAnnotations()
	return notes["argocd.argoproj.io/tracking-id"] != "" ||
		o.GetLabels()["app.kubernetes.io/managed-by"] == "Helm" && notes["meta.helm.sh/release-name"] != ""
}

// lines are the section of the report for people. It says why it is empty: an absent one reads as nothing at risk.
func (r *atRisk) lines() string {
	var b strings.Builder
	b.WriteString("\nAT RISK (advisory)\n")
	if len(r.unversioned) > 0 {
		fmt.Fprintf(&b, "  left out, since their versions cannot be compared: %s\n", strings.Join(r.unversioned, ", "))
	}
	switch {
	case len(r.Kinds) == 0 && !r.Scanned:
		return b.String() + "  not scanned: " + r.Reason + "\n"
	case len(r.Kinds) == 0:
		return b.String() + "  nothing to look for: no crossed record names a kind of objects (affectedResources)\n"
	case !r.Scanned:
		b.WriteString("  scanned in part: " + r.Reason + "\n")
	}
	examined := 0
	for _, k := range r.Kinds {
		says := lists.Count(k.Examined, "object")
		if !k.Present {
			says = "the cluster does not have this kind"
		}
		if k.Error != "" {
			says = "not read: " + k.Error
		}
		examined += k.Examined
		fmt.Fprintf(&b, "  %s (%s): %s\n", schema.GroupKind{Group: k.Group, Kind: k.Kind}, strings.Join(k.Components, ", "), says)
	}
	switch {
	case len(r.Findings) > 0:
		rows := [][]string{{"  COMPONENT", "KIND", "NAMESPACE", "NAME"}}
		for _, f := range r.Findings {
			rows = append(rows, []string{"  " + strings.Join(f.Components, ", "), schema.GroupKind{Group: f.Group, Kind: f.Kind}.String(), dash(f.Namespace), f.Name})
		}
		fmt.Fprintf(&b, "\n%s  %s at risk: no Helm release or Application restores what the upgrade removes. Save them, or make sure that they stay. The exit code does not count them.\n", cli.Table(rows), lists.Count(len(r.Findings), "object"))
	case r.Scanned && examined > 0:
		b.WriteString("  nothing at risk: a Helm release or an Application owns each object\n")
	case r.Scanned:
		b.WriteString("  nothing at risk: there are no objects of these kinds\n")
	}
	return b.String()
}
