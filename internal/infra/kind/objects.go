package kind

import (
	"bytes"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	nodefast "sigs.k8s.io/kwok/kustomize/stage/node/fast"
	nodeheartbeat "sigs.k8s.io/kwok/kustomize/stage/node/heartbeat-with-lease"
	podfast "sigs.k8s.io/kwok/kustomize/stage/pod/fast"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/gitops"
	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/kwok"
)

// The namespaces of what the harness installs, besides infra.ArgoCDNamespace and
// infra.FluxNamespace.
const (
	registryNamespace = "aicr-registry"
	kwokNamespace     = "aicr-kwok"
	systemNamespace   = "kube-system"
)

// simulatedLabel is on the recipe's nodes; see hostPolicies.
const simulatedLabel = "aicr.nvidia.com/simulated"

// NodeLabels are the labels that simulated nodes need here, and which this platform gives those
// that it makes itself: pods are kept off the real node by them.
func NodeLabels() map[string]string { return map[string]string{simulatedLabel: "true"} }

// manifests reads a file of kwok/manifests.
func manifests(name string) ([]*unstructured.Unstructured, error) {
	raw, err := kwok.Files.ReadFile("manifests/" + name)
	if err != nil {
		return nil, err
	}
	objs, err := infra.DecodeObjects(raw)
	if err != nil {
		return nil, fmt.Errorf("read kwok/manifests/%s: %w", name, err)
	}
	return objs, nil
}

// decode reads objects of this package's own.
func decode(text string) ([]*unstructured.Unstructured, error) {
	return infra.DecodeObjects([]byte(text))
}

// podSpec is that of an object with a pod template, or nil. Changes to it are changes to the
// object.
func podSpec(o *unstructured.Unstructured) map[string]any {
	switch o.GetKind() {
	case "Deployment", "StatefulSet", "DaemonSet":
		spec, _, _ := unstructured.NestedFieldNoCopy(o.Object, "spec", "template", "spec")
		m, _ := spec.(map[string]any)
		return m
	}
	return nil
}

// containers are those of an object's pod template, which are not copies.
func containers(o *unstructured.Unstructured) []map[string]any {
	list, _ := podSpec(o)["containers"].([]any)
	var all []map[string]any
	for _, c := range list {
		if m, ok := c.(map[string]any); ok {
			all = append(all, m)
		}
	}
	return all
}

// onHost makes an object's pods ones that run on the cluster's real node: it has two CPUs on a
// small machine, so requests are small and there are no limits; and what is waited for is looked at
// every two seconds. Init containers are left out: those of Argo CD prepare plugins and the
// password of Redis, which the harness sets.
func onHost(o *unstructured.Unstructured) {
	spec := podSpec(o)
	if spec == nil {
		return
	}
	delete(spec, "initContainers")
	delete(spec, "affinity")
	spec["nodeSelector"] = map[string]any{infra.HostNodeLabel: "true"}
	spec["tolerations"] = []any{map[string]any{"key": "node-role.kubernetes.io/control-plane", "operator": "Exists", "effect": "NoSchedule"}}
	spec["terminationGracePeriodSeconds"] = int64(1)
	for _, c := range containers(o) {
		c["imagePullPolicy"] = "IfNotPresent"
		c["resources"] = map[string]any{"requests": map[string]any{"cpu": "10m", "memory": "32Mi"}}
		for _, name := range []string{"readinessProbe", "startupProbe"} {
			if probe, ok := c[name].(map[string]any); ok {
				probe["initialDelaySeconds"], probe["periodSeconds"] = int64(1), int64(2)
				probe["failureThreshold"] = int64(90)
			}
		}
	}
}

// setArgs adds arguments to a workload's first container; one of the same flag is replaced.
func setArgs(o *unstructured.Unstructured, args ...string) {
	c := containers(o)[0]
	have, _ := c["args"].([]any)
	var all []any
	for _, old := range have {
		flag, _, _ := strings.Cut(fmt.Sprint(old), "=")
		replaced := false
		for _, a := range args {
			replaced = replaced || strings.HasPrefix(a, flag+"=")
		}
		if !replaced {
			all = append(all, old)
		}
	}
	for _, a := range args {
		all = append(all, a)
	}
	c["args"] = all
}

// setEnv adds environment variables to a workload's first container; one of the same name is
// replaced.
func setEnv(o *unstructured.Unstructured, pairs ...string) {
	c := containers(o)[0]
	have, _ := c["env"].([]any)
	var all []any
	for _, old := range have {
		m, _ := old.(map[string]any)
		replaced := false
		for i := 0; i < len(pairs); i += 2 {
			replaced = replaced || m["name"] == pairs[i]
		}
		if !replaced {
			all = append(all, old)
		}
	}
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, map[string]any{"name": pairs[i], "value": pairs[i+1]})
	}
	c["env"] = all
}

// The harness's program is Go, and so are the controllers: the same settings of the garbage
// collector as on the embedded platform.
func lazyCollector(o *unstructured.Unstructured) {
	setEnv(o, "GOGC", "300", "GOMEMLIMIT", fmt.Sprintf("%dMiB", host.HeapLimit))
}

// controllerObjects are what the controllers of a kind consist of, with the harness's settings but
// without what depends on a cell: CRDs first.
func controllerObjects(kind infra.ControllerKind) ([]*unstructured.Unstructured, error) {
	switch kind {
	case infra.ArgoCDControllers:
		return argocdObjects()
	case infra.ApplicationSetControllers:
		return applicationSetObjects()
	case infra.FluxControllers:
		return fluxObjects()
	}
	return nil, noControllers(kind)
}

func argocdObjects() ([]*unstructured.Unstructured, error) {
	objs, err := manifests("argocd.yaml")
	if err != nil {
		return nil, err
	}
	var kept []*unstructured.Unstructured
	for _, o := range objs {
		inArgoCD(o)
		switch o.GetName() + "/" + o.GetKind() {
		case "argocd-application-controller/StatefulSet":
			for _, v := range gitops.ArgoCDTiming() {
				setEnv(o, v.Name, v.Value)
			}
			setArgs(o, "--status-processors=10", "--operation-processors=5")
			lazyCollector(o)
		case "argocd-repo-server/Deployment":
			setArgs(o, "--parallelismlimit=4")
			setEnv(o, "ARGOCD_GPG_ENABLED", "false")
			lazyCollector(o)
		case "argocd-cm/ConfigMap", "argocd-rbac-cm/ConfigMap", "argocd-secret/Secret":
			continue // gitops.ArgoCDObjects
		}
		kept = append(kept, o)
	}
	return kept, nil
}

// inArgoCD prepares an object of Argo CD's install manifest, which names no namespace.
func inArgoCD(o *unstructured.Unstructured) {
	if o.GetNamespace() == "" && !clusterScoped(o.GetKind()) {
		o.SetNamespace(infra.ArgoCDNamespace)
	}
	onHost(o)
}

// applicationSetObjects are those of the applicationset-controller; its CRD is one of
// argocdObjects.
func applicationSetObjects() ([]*unstructured.Unstructured, error) {
	objs, err := manifests("argocd-applicationset.yaml")
	if err != nil {
		return nil, err
	}
	for _, o := range objs {
		inArgoCD(o)
		if podSpec(o) == nil {
			continue
		}
		// RollingSync, which waits for a wave's health, is off by default; generators that ask
		// hosts of source code are on.
		setArgs(o, "--enable-progressive-syncs=true", "--enable-scm-providers=false")
		lazyCollector(o)
		// It has no health check at its address for probes.
		containers(o)[0]["readinessProbe"] = map[string]any{
			"httpGet": map[string]any{"path": "/metrics", "port": "metrics"}, "periodSeconds": int64(2), "failureThreshold": int64(90),
		}
	}
	return objs, nil
}

// clusterScoped are the kinds in kwok/manifests that have no namespace.
func clusterScoped(kind string) bool {
	return kind == "Namespace" || kind == "CustomResourceDefinition" || strings.HasPrefix(kind, "Cluster")
}

func fluxObjects() ([]*unstructured.Unstructured, error) {
	objs, err := manifests("flux.yaml")
	if err != nil {
		return nil, err
	}
	for _, o := range objs {
		onHost(o)
		if o.GetKind() != "Deployment" {
			continue
		}
		lazyCollector(o)
		setArgs(o, "--events-addr=")
		switch o.GetName() {
		case infra.FluxSourceController:
			setArgs(o, "--helm-cache-max-size=50", "--helm-cache-ttl=60m")
		case infra.FluxKustomizeController:
			setArgs(o, "--requeue-dependency=1s", "--no-remote-bases=true")
		case infra.FluxHelmController:
			setArgs(o, "--feature-gates=ExternalArtifact=true", "--requeue-dependency=1s", "--concurrent=8")
		}
	}
	return objs, nil
}

// baseObjects are KWOK and the registry, which every cluster has.
func baseObjects(registryImage string, stages []byte) ([]*unstructured.Unstructured, error) {
	objs, err := manifests("kwok.yaml")
	if err != nil {
		return nil, err
	}
	config, err := kwokConfig(stages)
	if err != nil {
		return nil, err
	}
	own, err := decode(strings.NewReplacer("REGISTRY_IMAGE", untilDigest(registryImage), "REGISTRY_NAMESPACE", registryNamespace, "KWOK_NAMESPACE", kwokNamespace).Replace(ownObjects))
	if err != nil {
		return nil, err
	}
	objs = append(own, objs...)
	for _, o := range objs {
		onHost(o)
		if o.GetName() == "kwok" && o.GetKind() == "ConfigMap" {
			o.Object["data"] = map[string]any{"kwok.yaml": string(config)}
		}
		if o.GetName() == kwokController && o.GetKind() == "Deployment" {
			// As on the embedded platform: when its controllers start, all of them fill maps that a
			// library shares without a lock.
			setEnv(o, "GOMAXPROCS", "1")
			setArgs(o, "--v=ERROR")
		}
	}
	return objs, nil
}

const kwokController = "kwok-controller"

// kwokConfig is KWOK's file of settings and stages: the default ones for nodes and pods, and ours.
func kwokConfig(ours []byte) ([]byte, error) {
	settings, err := yaml.Marshal(map[string]any{
		"apiVersion": "config.kwok.x-k8s.io/v1alpha1", "kind": "KwokConfiguration",
		"options": map[string]any{
			"manageAllNodes": false, "manageNodesWithAnnotationSelector": "kwok.x-k8s.io/node=fake", "nodeLeaseDurationSeconds": 40,
			"nodePort": 10247, "cidr": "10.0.0.1/24", "nodeLeaseParallelism": 4, "podPlayStageParallelism": 4, "nodePlayStageParallelism": 4,
		},
	})
	if err != nil {
		return nil, err
	}
	documents := [][]byte{settings}
	for _, stage := range []string{
		nodefast.DefaultNodeInit, nodeheartbeat.DefaultNodeHeartbeatWithLease, podfast.DefaultPodReady, podfast.DefaultPodComplete, podfast.DefaultPodDelete,
	} {
		documents = append(documents, []byte(stage))
	}
	return simulate.MergeStages(bytes.Join(documents, []byte("\n---\n")), ours)
}

// ownObjects: the namespaces, the registry, and what KWOK needs besides upstream's manifests. KWOK
// may do everything, as on the embedded platform, since stages make objects of any kind.
const ownObjects = `
apiVersion: v1
kind: Namespace
metadata: {name: REGISTRY_NAMESPACE}
---
apiVersion: v1
kind: Namespace
metadata: {name: KWOK_NAMESPACE}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: registry, namespace: REGISTRY_NAMESPACE, labels: {app.kubernetes.io/name: registry}}
spec:
  replicas: 1
  strategy: {type: Recreate}
  selector: {matchLabels: {app.kubernetes.io/name: registry}}
  template:
    metadata: {labels: {app.kubernetes.io/name: registry}}
    spec:
      containers:
      - name: registry
        image: REGISTRY_IMAGE
        env:
        - {name: REGISTRY_HTTP_ADDR, value: "0.0.0.0:5000"}
        - {name: OTEL_TRACES_EXPORTER, value: none}
        ports: [{containerPort: 5000}]
        readinessProbe: {httpGet: {path: /v2/, port: 5000}}
        volumeMounts: [{name: data, mountPath: /var/lib/registry}]
      volumes:
      - {name: data, hostPath: {path: /var/lib/aicr-registry, type: DirectoryOrCreate}}
---
apiVersion: v1
kind: Service
metadata: {name: registry, namespace: REGISTRY_NAMESPACE}
spec:
  type: NodePort
  selector: {app.kubernetes.io/name: registry}
  ports: [{port: 5000, targetPort: 5000, nodePort: 30500}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: kwok, namespace: KWOK_NAMESPACE}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: aicr-kwok}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: ServiceAccount, name: kwok-controller, namespace: KWOK_NAMESPACE}]
`
