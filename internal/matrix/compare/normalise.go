package compare

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Normalising removes from a live object what its API server, its controllers and its deployer
// wrote. It leaves what the chart says and the API server's defaults for that, which are the same
// in every lane. There is one rule for fields that may have another owner: a field that the chart
// renders is compared, and any other is dropped.

// bookkeeping returns the fields that are never the chart's.
func bookkeeping() [][]string {
	return [][]string{
		{"status"},
		{"metadata", "managedFields"}, {"metadata", "uid"}, {"metadata", "resourceVersion"}, {"metadata", "generation"}, {"metadata", "creationTimestamp"},
		{"metadata", "selfLink"}, {"metadata", "deletionTimestamp"}, {"metadata", "deletionGracePeriodSeconds"},
		// Helm overwrites what the chart has there (setMetadataVisitor in helm.sh/helm
		// pkg/action/validate.go); Argo CD does not.
		{"metadata", "labels", "app.kubernetes.io/managed-by"},
		// This is a copy of the whole object, with the values of a Secret.
		{"metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration"},
		// Each deployer writes its own, also over what a manifest that was exported from a cluster has.
		{"metadata", "annotations", "argocd.argoproj.io/tracking-id"},
		{"metadata", "annotations", "meta.helm.sh/release-name"},
		{"metadata", "annotations", "meta.helm.sh/release-namespace"},
		{"metadata", "labels", "helm.toolkit.fluxcd.io/name"},
		{"metadata", "labels", "helm.toolkit.fluxcd.io/namespace"},
	}
}

// tracking reports whether deployers and controllers find their objects by this label or
// annotation. It is dropped unless the chart renders it.
func tracking(key string) bool {
	for _, prefix := range []string{
		"meta.helm.sh/", "helm.toolkit.fluxcd.io/", "kustomize.toolkit.fluxcd.io/", "argocd.argoproj.io/", "deployment.kubernetes.io/",
		"deprecated.daemonset.template.generation", "pv.kubernetes.io/", "volume.kubernetes.io/", "volume.beta.kubernetes.io/",
		"batch.kubernetes.io/", "kubernetes.io/service-account.uid",
		// The status of a HorizontalPodAutoscaler, where it is read as autoscaling/v1.
		"autoscaling.alpha.kubernetes.io/conditions", "autoscaling.alpha.kubernetes.io/current-metrics",
		// prometheus-operator writes a digest of all that it made a StatefulSet from, random
		// certificates among it.
		"prometheus-operator-input-hash",
		// Argo CD tracks by an annotation; with its older method, which can be configured, by this
		// label.
		"app.kubernetes.io/instance",
	} {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return false
}

// allocated returns, by kind, the fields that the API server or a controller fills with a value of
// its own choice, unless the chart sets them.
func allocated(kind string) [][]string {
	switch kind {
	case "Service":
		return [][]string{{"spec", "clusterIP"}, {"spec", "clusterIPs"}, {"spec", "healthCheckNodePort"}}
	case "PersistentVolumeClaim":
		return [][]string{{"spec", "volumeName"}}
	case "PersistentVolume":
		return [][]string{{"spec", "claimRef"}, {"spec", "claimRef", "uid"}, {"spec", "claimRef", "resourceVersion"}}
	case "ServiceAccount":
		return [][]string{{"secrets"}}
	case "Pod":
		// The API server gives a pod the labels of its node's place when it is bound.
		return [][]string{{"spec", "nodeName"}, {"metadata", "labels", "topology.kubernetes.io/zone"}, {"metadata", "labels", "topology.kubernetes.io/region"}}
	case "Job":
		uid := []string{"controller-uid", "batch.kubernetes.io/controller-uid"}
		var fields [][]string
		for _, key := range uid {
			fields = append(fields, []string{"spec", "selector", "matchLabels", key}, []string{"spec", "template", "metadata", "labels", key}, []string{"metadata", "labels", key})
		}
		return fields
	}
	return nil
}

// sets reports whether a rendering has a value of its own at a field: clusterIP: "" asks the API server for one.
func sets(rendered []*unstructured.Unstructured, field []string) bool {
	for _, r := range rendered {
		switch v, ok, _ := unstructured.NestedFieldNoCopy(r.Object, field...); v := v.(type) {
		case nil:
		case string:
			if v != "" {
				return true
			}
		case []any:
			if len(v) > 0 {
				return true
			}
		default:
			if ok && v != int64(0) {
				return true
			}
		}
	}
	return false
}

// headless reports whether this is the None of a Service: no address that the API server chose, and
// one that it keeps if the chart no longer says None.
func headless(m map[string]any, field []string) bool {
	v, _, _ := unstructured.NestedString(m, field...)
	return v == "None" && field[len(field)-1] == "clusterIP"
}

// onDelete reports whether a DaemonSet or StatefulSet is updated pod by pod, as each is deleted. What
// the API server filled in for rolling updates, before an upgrade to that, stays and says nothing.
func onDelete(m map[string]any) bool {
	strategy, _, _ := unstructured.NestedString(m, "spec", "updateStrategy", "type")
	return strategy == "OnDelete"
}

// takesTemplateLabels reports whether the API server copies the pod template's labels to an object
// of this kind that has none (SetDefaults_Job in k8s.io/kubernetes pkg/apis/batch/v1,
// SetDefaults_ReplicationController in pkg/apis/core/v1). Helm gives each object a label of its own
// first, so nothing is copied in its lanes.
func takesTemplateLabels(kind string) bool { return kind == "Job" || kind == "ReplicationController" }

// dropTemplateLabels drops the labels that the pod template has, too.
func dropTemplateLabels(m map[string]any) {
	labels, _, _ := unstructured.NestedStringMap(m, "metadata", "labels")
	template, _, _ := unstructured.NestedStringMap(m, "spec", "template", "metadata", "labels")
	for key, value := range labels {
		if template[key] == value {
			unstructured.RemoveNestedField(m, "metadata", "labels", key)
		}
	}
}

// domainsOf gives the configurations of a ResourceClaimTemplate that are for a channel of a ComputeDomain.
func domainsOf(m map[string]any) (found []map[string]any) {
	if kind, _ := m["kind"].(string); kind != "ResourceClaimTemplate" {
		return nil
	}
	list, _, _ := unstructured.NestedFieldNoCopy(m, "spec", "spec", "devices", "config")
	configs, _ := list.([]any)
	for _, c := range configs {
		one, _ := c.(map[string]any)
		if driver, _, _ := unstructured.NestedString(one, "opaque", "driver"); driver != "compute-domain.nvidia.com" {
			continue
		}
		value, _, _ := unstructured.NestedFieldNoCopy(one, "opaque", "parameters")
		if parameters, ok := value.(map[string]any); ok {
			found = append(found, parameters)
		}
	}
	return found
}

// dropDomains drops the UID of its ComputeDomain, which NVIDIA's DRA driver, or its stand-in, writes into
// the template of a claim: it is another one in each cluster. One that a chart renders stays.
func dropDomains(m map[string]any, rendered []*unstructured.Unstructured) {
	for _, r := range rendered {
		for _, parameters := range domainsOf(r.Object) {
			if id, _ := parameters["domainID"].(string); id != "" {
				return
			}
		}
	}
	for _, parameters := range domainsOf(m) {
		delete(parameters, "domainID")
	}
}

func rendersLabels(rendered []*unstructured.Unstructured) bool {
	for _, r := range rendered {
		if len(r.GetLabels()) > 0 {
			return true
		}
	}
	return false
}

// normalise changes obj. rendered are the renderings of the same object: none if no chart of the
// expectation contains it, and more than one if two releases own it.
func normalise(obj *unstructured.Unstructured, rendered []*unstructured.Unstructured) {
	m := obj.Object
	has := func(fields ...string) bool {
		for _, r := range rendered {
			if _, ok, _ := unstructured.NestedFieldNoCopy(r.Object, fields...); ok {
				return true
			}
		}
		return false
	}
	for _, f := range bookkeeping() {
		unstructured.RemoveNestedField(m, f...)
	}
	for _, f := range allocated(obj.GetKind()) {
		if !sets(rendered, f) && !headless(m, f) {
			unstructured.RemoveNestedField(m, f...)
		}
	}
	dropDomains(m, rendered)
	if rolling := []string{"spec", "updateStrategy", "rollingUpdate"}; onDelete(m) && !has(rolling...) {
		unstructured.RemoveNestedField(m, rolling...)
	}
	if takesTemplateLabels(obj.GetKind()) && !rendersLabels(rendered) {
		dropTemplateLabels(m)
	}
	for _, field := range []string{"labels", "annotations"} {
		keys, _, _ := unstructured.NestedMap(m, "metadata", field)
		for key := range keys {
			if tracking(key) && !has("metadata", field, key) {
				unstructured.RemoveNestedField(m, "metadata", field, key)
			}
		}
		if left, ok, _ := unstructured.NestedMap(m, "metadata", field); ok && len(left) == 0 {
			unstructured.RemoveNestedField(m, "metadata", field)
		}
	}
	normaliseOwners(obj)
	switch obj.GetKind() {
	case "Service":
		dropNodePorts(obj, rendered)
	case "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "CustomResourceDefinition":
		dropAuthorities(obj, rendered)
	case "Secret":
		digestSecret(obj, func(key string) bool {
			return len(rendered) > 0 && !has("data", key) && !has("stringData", key)
		})
	case "Pod":
		nameTokenVolume(m)
	case "ClusterRole":
		// A controller fills in the rules of an aggregated role, from every role of the cluster.
		if has("aggregationRule") {
			delete(m, "rules")
		}
	}
}

// normaliseOwners keeps the owner references without UIDs. Of the finalizers it drops Argo CD's for
// hooks.
func normaliseOwners(obj *unstructured.Unstructured) {
	owners, _, _ := unstructured.NestedSlice(obj.Object, "metadata", "ownerReferences")
	for _, o := range owners {
		if m, ok := o.(map[string]any); ok {
			delete(m, "uid")
		}
	}
	if len(owners) > 0 {
		_ = unstructured.SetNestedSlice(obj.Object, owners, "metadata", "ownerReferences") // only fails where metadata is no map
	}
	var keep []string
	for _, f := range obj.GetFinalizers() {
		if !strings.HasPrefix(f, "argocd.argoproj.io/") {
			keep = append(keep, f)
		}
	}
	if len(keep) == 0 {
		unstructured.RemoveNestedField(obj.Object, "metadata", "finalizers")
		return
	}
	obj.SetFinalizers(keep)
}

// dropNodePorts drops the node ports that the chart does not choose. Number and protocol identify a
// port.
func dropNodePorts(obj *unstructured.Unstructured, rendered []*unstructured.Unstructured) {
	fixed := map[string]bool{}
	id := func(m map[string]any) string {
		protocol, _ := m["protocol"].(string)
		if protocol == "" {
			protocol = "TCP"
		}
		return fmt.Sprint(m["port"], "/", protocol)
	}
	for _, r := range rendered {
		eachPort(r, func(m map[string]any) {
			if _, ok := m["nodePort"]; ok {
				fixed[id(m)] = true
			}
		})
	}
	eachPort(obj, func(m map[string]any) {
		if !fixed[id(m)] {
			delete(m, "nodePort")
		}
	})
}

// eachPort passes the ports of a Service themselves, not copies.
func eachPort(svc *unstructured.Unstructured, do func(map[string]any)) {
	v, _, _ := unstructured.NestedFieldNoCopy(svc.Object, "spec", "ports")
	ports, _ := v.([]any)
	for _, p := range ports {
		if m, ok := p.(map[string]any); ok {
			do(m)
		}
	}
}

// secretDigest starts the text that stands for a Secret's value.
const secretDigest = "sha256:"

// madeInCluster stands for a value that no rendering has: a program of the cluster wrote it, e.g. a
// key of its own. That it is there is compared.
const madeInCluster = "a value that a program of the cluster wrote"

// digestSecret replaces every value by a digest, of which a difference prints only the length (valueText),
// or, if a program of the cluster wrote it, by a text that says so.
func digestSecret(obj *unstructured.Unstructured, written func(key string) bool) {
	values := map[string]any{}
	if data, ok := obj.Object["data"].(map[string]any); ok {
		for key, v := range data {
			text, _ := v.(string)
			raw, err := base64.StdEncoding.DecodeString(text)
			if err != nil {
				raw = []byte(text)
			}
			if values[key] = digestOf(raw); written(key) {
				values[key] = madeInCluster
			}
		}
	}
	if data, ok := obj.Object["stringData"].(map[string]any); ok { // in renderings only
		for key, v := range data {
			values[key] = digestOf([]byte(fmt.Sprint(v)))
		}
		delete(obj.Object, "stringData")
	}
	delete(obj.Object, "data")
	// The token controller fills this type.
	if obj.Object["type"] != "kubernetes.io/service-account-token" && len(values) > 0 {
		obj.Object["data"] = values
	}
}

// dropAuthorities drops each caBundle, of a webhook or of a definition's conversion, that no rendering
// has: a program of the cluster made it, with a key of its own.
func dropAuthorities(obj *unstructured.Unstructured, rendered []*unstructured.Unstructured) {
	bundles := func(o *unstructured.Unstructured, do func(name string, config map[string]any)) {
		configs := map[string]map[string]any{}
		all, _ := o.Object["webhooks"].([]any)
		for _, w := range all {
			webhook, _ := w.(map[string]any)
			name, _ := webhook["name"].(string)
			configs[name], _ = webhook["clientConfig"].(map[string]any)
		}
		if conversion, _, _ := unstructured.NestedFieldNoCopy(o.Object, "spec", "conversion", "webhook", "clientConfig"); o.GetKind() == "CustomResourceDefinition" {
			configs["conversion"], _ = conversion.(map[string]any)
		}
		for name, config := range configs {
			if config["caBundle"] != nil {
				do(name, config)
			}
		}
	}
	has := map[string]bool{}
	for _, r := range rendered {
		bundles(r, func(name string, _ map[string]any) { has[name] = true })
	}
	bundles(obj, func(name string, config map[string]any) {
		if !has[name] {
			delete(config, "caBundle")
		}
	})
}

func digestOf(raw []byte) string {
	sum := sha256.Sum256(raw)
	return fmt.Sprintf("%s%s %d bytes", secretDigest, hex.EncodeToString(sum[:]), len(raw))
}

var tokenVolume = regexp.MustCompile(`^kube-api-access-[a-z0-9]{5}$`)

// nameTokenVolume gives the service account's volume a fixed name. Admission adds it to a pod with
// a random one.
func nameTokenVolume(v any) {
	switch v := v.(type) {
	case map[string]any:
		if name, ok := v["name"].(string); ok && tokenVolume.MatchString(name) {
			v["name"] = "kube-api-access"
		}
		for _, child := range v {
			nameTokenVolume(child)
		}
	case []any:
		for _, child := range v {
			nameTokenVolume(child)
		}
	}
}
