package intact

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/matrix/compare"
)

// exception is a declared place at which a rendering need not be live. The list is reviewed, and
// each entry has its reason.
type exception struct {
	kinds []string // nil for any
	// path is a pattern in which * stands for any text.
	path string
	// only, if set, reports whether the exception covers a loss.
	only   func(rendered *unstructured.Unstructured, l loss) bool
	reason string
}

func changed(_ *unstructured.Unstructured, l loss) bool { return !l.Missing() }

// exceptions returns the list.
func exceptions() []exception {
	webhooks := []string{"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}
	return []exception{
		{path: "status*", reason: "a controller's answer; the API server ignores it in what is applied"},
		{path: "metadata.namespace", reason: "a cluster-scoped object has none"},
		{path: "metadata.generateName", reason: "it becomes the name"},
		{path: "metadata.creationTimestamp", reason: "the API server's own"},
		{path: "metadata.uid", reason: "the API server's own"},
		{path: "metadata.resourceVersion", reason: "the API server's own"},
		{path: "metadata.generation", reason: "the API server's own"},
		{path: "metadata.selfLink", reason: "the API server's own, of earlier versions"},
		{path: "metadata.managedFields*", reason: "the API server's own"},
		{path: "metadata.deletion*", reason: "the API server's own"},
		{path: "metadata.ownerReferences*.uid", reason: "a chart cannot know it"},
		{path: `metadata.labels["app.kubernetes.io/managed-by"]`, reason: "Helm writes its own (setMetadataVisitor in helm.sh/helm pkg/action/validate.go)"},
		{path: `metadata.labels["app.kubernetes.io/instance"]`, only: changed, reason: "Argo CD's older method of tracking writes it"},
		{path: `metadata.annotations["kubectl.kubernetes.io/last-applied-configuration"]`, reason: "a deployer's copy of the object"},
		{path: `metadata.annotations["meta.helm.sh/*`, reason: "Helm's own"},
		{path: `metadata.annotations["argocd.argoproj.io/tracking-id"]`, reason: "Argo CD's own"},
		{path: `metadata.labels["helm.toolkit.fluxcd.io/*`, reason: "Flux's own"},
		{path: `metadata.labels["kustomize.toolkit.fluxcd.io/*`, reason: "Flux's own"},
		{path: `metadata.annotations["deployment.kubernetes.io/*`, reason: "the Deployment's controller writes it"},
		{path: `*labels["helm.sh/chart"]`, only: longer, reason: "helm-controller appends the digest of a chart inside the bundle to its version"},
		{path: "*", only: lastNewline, reason: "Helm 3 cuts the line breaks at the end of a document's last text (|+) or adds one, and Helm 4 keeps them"},
		{path: "spec.serviceAccount", reason: "the deprecated name of serviceAccountName"},
		{path: "*.spec.serviceAccount", reason: "the deprecated name of serviceAccountName"},
		{path: "*caBundle", only: changed, reason: "an injector's: cert-manager, kube-webhook-certgen, an operator"},
		{kinds: webhooks, path: "*.failurePolicy", only: changed, reason: "kube-webhook-certgen writes it together with caBundle"},
		{kinds: []string{"ClusterRole"}, path: "rules*", only: aggregated, reason: "a controller fills in the rules of an aggregated role"},
		{kinds: []string{"Secret"}, path: "data*", only: ofToken, reason: "the token controller fills this type"},
		{kinds: []string{"StatefulSet"}, path: "spec.volumeClaimTemplates*.status*", reason: "a controller's answer"},
		{kinds: []string{"Service", "PersistentVolumeClaim"}, path: "spec.*", only: unset, reason: "clusterIP, nodePort and volumeName that are empty ask for a value"},
		{kinds: []string{"Lease"}, path: "spec*", only: changed, reason: "its holder's"},
		{kinds: []string{"Node"}, path: "spec.podCIDR*", reason: "a controller allocates it"},
		{kinds: []string{"Namespace"}, path: `metadata.labels["kubernetes.io/metadata.name"]`, reason: "the API server's own"},
	}
}

// scaled is the exception for what a HorizontalPodAutoscaler scales.
func scaled() exception {
	return exception{path: "spec.replicas", only: changed, reason: "a HorizontalPodAutoscaler's"}
}

func (e exception) covers(rendered *unstructured.Unstructured, l loss) bool {
	return (e.kinds == nil || slices.Contains(e.kinds, rendered.GetKind())) && compare.MatchWildcard(e.path, l.Path) && (e.only == nil || e.only(rendered, l))
}

// longer reports whether the live text is the rendered one with more behind it.
func longer(_ *unstructured.Unstructured, l loss) bool {
	a, _ := l.Rendered.(string)
	b, ok := l.Live.(string)
	return ok && strings.HasPrefix(b, a)
}

func lastNewline(_ *unstructured.Unstructured, l loss) bool {
	return compare.LastNewline(l.Rendered, l.Live)
}

// unset reports whether a rendering leaves a value to the API server by an empty one.
func unset(_ *unstructured.Unstructured, l loss) bool {
	return (l.Key == "clusterIP" || l.Key == "volumeName" || l.Key == "nodePort") && (l.Rendered == "" || fmt.Sprint(l.Rendered) == "0")
}

func aggregated(rendered *unstructured.Unstructured, _ loss) bool {
	_, ok := rendered.Object["aggregationRule"]
	return ok
}

func ofToken(rendered *unstructured.Unstructured, _ loss) bool {
	return rendered.Object["type"] == "kubernetes.io/service-account-token"
}

// lost lists what is lost of a rendering and is no exception.
func lost(rendered, live *unstructured.Unstructured, more ...exception) []loss {
	all := append(exceptions(), more...)
	return slices.DeleteFunc(lostFields(plain(rendered), plain(live)), func(l loss) bool {
		return slices.ContainsFunc(all, func(e exception) bool { return e.covers(rendered, l) })
	})
}

// plain is the content of an object. A Secret's stringData is its data, which is decoded: one value
// may be encoded in several ways.
func plain(obj *unstructured.Unstructured) map[string]any {
	if obj.GetKind() != "Secret" || obj.GroupVersionKind().Group != "" {
		return obj.Object
	}
	content, values := map[string]any{}, map[string]any{}
	for k, v := range obj.Object {
		if k != "data" && k != "stringData" {
			content[k] = v
		}
	}
	if data, ok := obj.Object["data"].(map[string]any); ok {
		for k, v := range data {
			text, _ := v.(string)
			raw, err := base64.StdEncoding.DecodeString(text)
			if err != nil {
				raw = []byte(text)
			}
			values[k] = string(raw)
		}
	}
	if data, ok := obj.Object["stringData"].(map[string]any); ok {
		for k, v := range data {
			values[k] = fmt.Sprint(v)
		}
	}
	content["data"] = values
	return content
}
