package lane

import (
	"fmt"

	helmrelease "helm.sh/helm/v3/pkg/release"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result"
)

// KindHelmRelease is the kind of a Helm release among deliveries.
const KindHelmRelease = "Helm release"

// HelmDelivery returns a Helm release as a delivery, with the record in Helm's storage.
func HelmDelivery(namespace, releaseName, chart, version, status string) Delivery {
	return Delivered(result.Ref{Kind: KindHelmRelease, Namespace: namespace, Name: releaseName}, Fact{"chart", chart}, Fact{"version", version}, Fact{"status", status})
}

// ReadHelmStorage adds the newest revision of every release in the cluster, and the objects of its
// manifest. version may change a chart's version before it is compared.
func ReadHelmStorage(env *Env, version func(rel *helmrelease.Release) string, rec *Record) error {
	releases, err := helmStorage(env.Clients.Kube.CoreV1().Secrets(metav1.NamespaceAll)).ListReleases()
	if err != nil {
		return fmt.Errorf("list Helm's releases: %w", err)
	}
	newest := map[string]*helmrelease.Release{}
	var order []string
	for _, rel := range releases {
		key := rel.Namespace + "/" + rel.Name
		if have := newest[key]; have == nil {
			order = append(order, key)
		} else if have.Version > rel.Version {
			continue
		}
		newest[key] = rel
	}
	for _, key := range order {
		rel := newest[key]
		if rel.Chart == nil || rel.Chart.Metadata == nil || rel.Info == nil {
			return fmt.Errorf("release %s in Helm's storage has no chart or no status", key)
		}
		chartVersion := rel.Chart.Metadata.Version
		if version != nil {
			chartVersion = version(rel)
		}
		rec.Got = append(rec.Got, HelmDelivery(rel.Namespace, rel.Name, rel.Chart.Metadata.Name, chartVersion, string(rel.Info.Status)))
		objs, err := infra.DecodeObjects([]byte(rel.Manifest))
		if err != nil {
			return fmt.Errorf("read the manifest of release %s in Helm's storage: %w", key, err)
		}
		for _, o := range flatten(objs) {
			ns := o.GetNamespace()
			if ns == "" {
				ns = rel.Namespace // removed again for a cluster-scoped kind
			}
			rec.Objects = append(rec.Objects, Object{o.GroupVersionKind(), ns, o.GetName(), rel.Name})
		}
	}
	return nil
}

// flatten replaces a List by its items.
func flatten(objs []*unstructured.Unstructured) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, o := range objs {
		list, err := o.ToList()
		if !o.IsList() || err != nil {
			out = append(out, o)
			continue
		}
		for i := range list.Items {
			out = append(out, &list.Items[i])
		}
	}
	return out
}
