package operators

import (
	"fmt"
	"maps"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// monitor is what differs between the StatefulSets that prometheus-operator makes of its kinds.
type monitor struct {
	app     string // container and label value: prometheus or alertmanager
	image   string // repository of the default image
	service string // governing Service
	port    int64
}

// prometheus follows prometheus-operator's pkg/prometheus/server/statefulset.go, as far as
// scheduling goes: one StatefulSet per shard.
func prometheus(cr *unstructured.Unstructured, _ string) []*unstructured.Unstructured {
	m := monitor{app: "prometheus", image: "quay.io/prometheus/prometheus", service: "prometheus-operated", port: 9090}
	shards, ok, _ := unstructured.NestedInt64(cr.Object, "spec", "shards")
	if !ok || shards < 1 {
		shards = 1
	}
	var out []*unstructured.Unstructured
	for shard := range shards {
		name := "prometheus-" + cr.GetName()
		if shard > 0 {
			name += "-shard-" + strconv.FormatInt(shard, 10)
		}
		labels := map[string]any{
			"operator.prometheus.io/name":  cr.GetName(),
			"operator.prometheus.io/shard": strconv.FormatInt(shard, 10),
			"prometheus":                   cr.GetName(),
		}
		out = appendSet(out, m.statefulSet(cr, name, labels))
	}
	return out
}

func alertmanager(cr *unstructured.Unstructured, _ string) []*unstructured.Unstructured {
	m := monitor{app: "alertmanager", image: "quay.io/prometheus/alertmanager", service: "alertmanager-operated", port: 9093}
	return appendSet(nil, m.statefulSet(cr, "alertmanager-"+cr.GetName(), map[string]any{"alertmanager": cr.GetName()}))
}

func appendSet(sets []*unstructured.Unstructured, set *unstructured.Unstructured) []*unstructured.Unstructured {
	if set == nil {
		return sets
	}
	return append(sets, set)
}

// statefulSet is nil for a paused resource.
func (m monitor) statefulSet(cr *unstructured.Unstructured, name string, extra map[string]any) *unstructured.Unstructured {
	spec, _, _ := unstructured.NestedMap(cr.Object, "spec")
	if paused, _ := spec["paused"].(bool); paused {
		return nil
	}
	selector := map[string]any{
		"app.kubernetes.io/name":       m.app,
		"app.kubernetes.io/instance":   cr.GetName(),
		"app.kubernetes.io/managed-by": "prometheus-operator",
	}
	maps.Copy(selector, extra)
	podLabels := maps.Clone(selector)
	podLabels["app.kubernetes.io/version"] = version(spec)
	podMeta := map[string]any{"labels": podLabels}
	if meta, ok := spec["podMetadata"].(map[string]any); ok {
		if l, ok := meta["labels"].(map[string]any); ok {
			for k, v := range l {
				if _, reserved := selector[k]; !reserved {
					podLabels[k] = v
				}
			}
		}
		if a, ok := meta["annotations"].(map[string]any); ok && len(a) > 0 {
			podMeta["annotations"] = a
		}
	}

	pod, claim := m.pod(spec, name)
	replicas, ok := spec["replicas"].(int64)
	if !ok {
		replicas = 1
	}
	setSpec := map[string]any{
		"replicas":            replicas,
		"serviceName":         m.service,
		"podManagementPolicy": "Parallel",
		"selector":            map[string]any{"matchLabels": selector},
		"template":            map[string]any{"metadata": podMeta, "spec": pod},
	}
	if claim != nil {
		setSpec["volumeClaimTemplates"] = []any{claim}
	}
	labels := map[string]any{}
	for k, v := range cr.GetLabels() {
		labels[k] = v
	}
	maps.Copy(labels, selector)
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1",
		"kind":       "StatefulSet",
		"metadata":   map[string]any{"name": name, "namespace": cr.GetNamespace(), "labels": labels},
		"spec":       setSpec,
	}}
}

// pod returns the pod spec, and the volume claim template if the resource requests storage.
func (m monitor) pod(spec map[string]any, name string) (pod map[string]any, claim map[string]any) {
	dbName := name + "-db"
	port := "web"
	if own, _ := spec["portName"].(string); own != "" {
		port = own
	}
	main := map[string]any{
		"name":  m.app,
		"image": m.imageOf(spec),
		"ports": []any{map[string]any{"name": port, "containerPort": m.port, "protocol": "TCP"}},
	}
	if r, ok := spec["resources"].(map[string]any); ok && len(r) > 0 {
		main["resources"] = r
	}
	// The operator adds a reloader beside the server; its small requests count for scheduling.
	reloader := map[string]any{
		"name":  "config-reloader",
		"image": "quay.io/prometheus-operator/prometheus-config-reloader:latest",
		"ports": []any{map[string]any{"name": "reloader-web", "containerPort": int64(8080), "protocol": "TCP"}},
		"resources": map[string]any{
			"requests": map[string]any{"cpu": "10m", "memory": "50Mi"},
			"limits":   map[string]any{"cpu": "10m", "memory": "50Mi"},
		},
	}

	volume := map[string]any{"name": dbName, "emptyDir": map[string]any{}}
	storage, _ := spec["storage"].(map[string]any)
	if template, ok := storage["volumeClaimTemplate"].(map[string]any); ok && len(template) > 0 {
		claim = template
		meta, _ := claim["metadata"].(map[string]any)
		if meta == nil {
			meta = map[string]any{}
		}
		if n, _ := meta["name"].(string); n != "" {
			dbName = n
		} else {
			meta["name"] = dbName
		}
		claim["metadata"] = meta
		claim["apiVersion"], claim["kind"] = "v1", "PersistentVolumeClaim"
		if claimSpec, ok := claim["spec"].(map[string]any); ok {
			if _, ok := claimSpec["accessModes"]; !ok {
				claimSpec["accessModes"] = []any{"ReadWriteOnce"}
			}
		}
		delete(claim, "status")
		volume = nil
	} else if empty, ok := storage["emptyDir"].(map[string]any); ok {
		volume["emptyDir"] = empty
	}
	main["volumeMounts"] = []any{map[string]any{"name": dbName, "mountPath": "/" + m.app}}

	pod = map[string]any{"containers": []any{main, reloader}}
	if volume != nil {
		pod["volumes"] = []any{volume}
	}
	for _, key := range []string{
		"nodeSelector", "tolerations", "affinity", "topologySpreadConstraints", "priorityClassName",
		"securityContext", "serviceAccountName", "imagePullSecrets", "hostNetwork", "schedulerName",
	} {
		if v, ok := spec[key]; ok && !emptyValue(v) {
			pod[key] = v
		}
	}
	return pod, claim
}

func (m monitor) imageOf(spec map[string]any) string {
	if image, _ := spec["image"].(string); image != "" {
		return image
	}
	return fmt.Sprintf("%s:%s", m.image, version(spec))
}

// version is the operand's version as the resource gives it; the operator's own default is not
// known here.
func version(spec map[string]any) string {
	if v, _ := spec["version"].(string); v != "" {
		return v
	}
	return "latest"
}

func emptyValue(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	case string:
		return v == ""
	}
	return false
}
