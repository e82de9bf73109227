package compare

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"

	"github.com/nvidia/aicr-action/internal/infra/embedded"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/testkit/embeddedtest"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// least is an object of each built-in kind with the least fields that the API server accepts,
// besides its name and namespace.
func least() []string {
	const pod = `{metadata: {labels: {app: a}}, spec: {containers: [{name: m, image: i}]}}`
	const once = `{metadata: {labels: {app: a}}, spec: {restartPolicy: Never, containers: [{name: m, image: i}]}}`
	const selector = `selector: {matchLabels: {app: a}}`
	return []string{
		`{apiVersion: v1, kind: ConfigMap}`,
		`{apiVersion: v1, kind: Endpoints}`,
		`{apiVersion: v1, kind: LimitRange, spec: {limits: []}}`,
		`{apiVersion: v1, kind: Namespace}`,
		`{apiVersion: v1, kind: Node}`,
		`{apiVersion: v1, kind: PersistentVolume, spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /a}}}`,
		`{apiVersion: v1, kind: PersistentVolumeClaim, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`,
		`{apiVersion: v1, kind: Pod, spec: {containers: [{name: m, image: i}]}}`,
		`{apiVersion: v1, kind: PodTemplate, template: ` + pod + `}`,
		`{apiVersion: v1, kind: ReplicationController, spec: {template: ` + pod + `}}`,
		`{apiVersion: v1, kind: ResourceQuota, spec: {}}`,
		`{apiVersion: v1, kind: Secret}`,
		`{apiVersion: v1, kind: Service, spec: {ports: [{port: 80}]}}`,
		`{apiVersion: v1, kind: ServiceAccount}`,
		`{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, webhooks: [{name: a.b.c, clientConfig: {url: "https://a"}, sideEffects: None, admissionReviewVersions: [v1]}]}`,
		`{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, webhooks: [{name: a.b.c, clientConfig: {url: "https://a"}, sideEffects: None, admissionReviewVersions: [v1]}]}`,
		`{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, spec: {matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [CREATE]}]}, validations: [{expression: "true"}]}}`,
		`{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, spec: {policyName: a, validationActions: [Deny]}}`,
		`{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingAdmissionPolicy, spec: {reinvocationPolicy: Never, matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [CREATE]}]}, mutations: [{patchType: JSONPatch, jsonPatch: {expression: '[JSONPatch{op: "remove", path: "/a"}]'}}]}}`,
		`{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingAdmissionPolicyBinding, spec: {policyName: a}}`,
		`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: as.example.com}, spec: {group: example.com, scope: Cluster, names: {kind: A, plural: as}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}`,
		`{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1.example.org}, spec: {group: example.org, version: v1, groupPriorityMinimum: 1, versionPriority: 1, service: {name: a, namespace: default}, insecureSkipTLSVerify: true}}`,
		`{apiVersion: apps/v1, kind: ControllerRevision, revision: 1, data: {a: b}}`,
		`{apiVersion: apps/v1, kind: DaemonSet, spec: {` + selector + `, template: ` + pod + `}}`,
		`{apiVersion: apps/v1, kind: Deployment, spec: {` + selector + `, template: ` + pod + `}}`,
		`{apiVersion: apps/v1, kind: ReplicaSet, spec: {` + selector + `, template: ` + pod + `}}`,
		`{apiVersion: apps/v1, kind: StatefulSet, spec: {serviceName: a, ` + selector + `, template: ` + pod + `, volumeClaimTemplates: [{metadata: {name: d}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]}}`,
		`{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, spec: {maxReplicas: 2, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: a}}}`,
		`{apiVersion: batch/v1, kind: CronJob, spec: {schedule: "0 0 * * *", jobTemplate: {spec: {template: ` + once + `}}}}`,
		`{apiVersion: batch/v1, kind: Job, spec: {template: ` + once + `}}`,
		`{apiVersion: coordination.k8s.io/v1, kind: Lease}`,
		`{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, addressType: IPv4, endpoints: []}`,
		`{apiVersion: flowcontrol.apiserver.k8s.io/v1, kind: FlowSchema, spec: {priorityLevelConfiguration: {name: a}}}`,
		`{apiVersion: flowcontrol.apiserver.k8s.io/v1, kind: PriorityLevelConfiguration, spec: {type: Limited, limited: {limitResponse: {type: Reject}}}}`,
		`{apiVersion: networking.k8s.io/v1, kind: IPAddress, metadata: {name: 10.9.8.7}, spec: {parentRef: {resource: services, name: a, namespace: default}}}`,
		`{apiVersion: networking.k8s.io/v1, kind: Ingress, spec: {defaultBackend: {service: {name: a, port: {number: 80}}}}}`,
		`{apiVersion: networking.k8s.io/v1, kind: IngressClass, spec: {controller: a.b/c}}`,
		`{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, spec: {podSelector: {}}}`,
		`{apiVersion: networking.k8s.io/v1, kind: ServiceCIDR, spec: {cidrs: [10.99.0.0/24]}}`,
		`{apiVersion: node.k8s.io/v1, kind: RuntimeClass, handler: h}`,
		`{apiVersion: policy/v1, kind: PodDisruptionBudget, spec: {}}`,
		`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole}`,
		`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: a}, subjects: [{kind: User, name: a}]}`,
		`{apiVersion: rbac.authorization.k8s.io/v1, kind: Role}`,
		`{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: a}, subjects: [{kind: ServiceAccount, name: a, namespace: default}]}`,
		`{apiVersion: resource.k8s.io/v1, kind: DeviceClass}`,
		`{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, spec: {devices: {requests: [{name: g, exactly: {deviceClassName: a}}]}}}`,
		`{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, spec: {spec: {devices: {requests: [{name: g, exactly: {deviceClassName: a}}]}}}}`,
		`{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, spec: {driver: a.b, nodeName: node-1, pool: {name: p, generation: 1, resourceSliceCount: 1}}}`,
		`{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, value: 1}`,
		`{apiVersion: storage.k8s.io/v1, kind: CSIDriver}`,
		`{apiVersion: storage.k8s.io/v1, kind: CSINode, spec: {drivers: []}}`,
		`{apiVersion: storage.k8s.io/v1, kind: CSIStorageCapacity, storageClassName: a}`,
		`{apiVersion: storage.k8s.io/v1, kind: StorageClass, provisioner: a.b/c}`,
		`{apiVersion: storage.k8s.io/v1, kind: VolumeAttachment, spec: {attacher: a, nodeName: node-1, source: {persistentVolumeName: p}}}`,
		`{apiVersion: storage.k8s.io/v1, kind: VolumeAttributesClass, driverName: a.b, parameters: {a: b}}`,
	}
}

// notDelivered are the kinds that are requests and not objects, or that only controllers write.
const notDelivered = "Event Binding TokenReview LocalSubjectAccessReview SelfSubjectAccessReview SelfSubjectReview SelfSubjectRulesReview SubjectAccessReview CertificateSigningRequest "

// TestDefaults_CreateAndApply: Helm 3 creates objects, with a label of its own; Argo CD, Flux and
// Helm 4 apply them. What the API server fills in only in one of these is no difference between
// lanes.
func TestDefaults_CreateAndApply(t *testing.T) {
	cluster, _ := embeddedtest.Start(t, &embedded.Platform{}, nil)
	clients := cluster.Clients()
	groups, err := restmapper.GetAPIGroupResources(clients.Discovery)
	if err != nil {
		t.Fatal(err)
	}
	mapper := restmapper.NewDiscoveryRESTMapper(groups)
	testkit.Eventually(t, "the account default, which pods need", time.Minute, func() wait.Result {
		if _, err := clients.Kube.CoreV1().ServiceAccounts("default").Get(t.Context(), "default", metav1.GetOptions{}); err != nil {
			return wait.NotYet("%v", err)
		}
		return wait.Done()
	})
	tried := map[string]bool{}
	for _, text := range least() {
		obj := testkit.Parsed(t, text)
		gvk := obj.GroupVersionKind()
		tried[gvk.GroupKind().String()] = true
		mapping, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		if err != nil {
			t.Errorf("%s: %v", gvk, err)
			continue
		}
		var client dynamic.ResourceInterface = clients.Dynamic.Resource(mapping.Resource)
		if mapping.Scope.Name() == "namespace" {
			obj.SetNamespace("default")
			client = clients.Dynamic.Resource(mapping.Resource).Namespace("default")
		}
		if obj.GetName() == "" {
			obj.SetName("a")
		}
		dry := []string{metav1.DryRunAll}
		byHelm := obj.DeepCopy()
		byHelm.SetLabels(map[string]string{"app.kubernetes.io/managed-by": "Helm"}) // setMetadataVisitor in helm.sh/helm pkg/action/validate.go
		created, err := client.Create(t.Context(), byHelm, metav1.CreateOptions{DryRun: dry})
		if err != nil {
			t.Errorf("create %s: %v", gvk.Kind, err)
			continue
		}
		applied, err := client.Apply(t.Context(), obj.GetName(), obj, metav1.ApplyOptions{FieldManager: "test", DryRun: dry})
		if err != nil {
			t.Errorf("apply %s: %v", gvk.Kind, err)
			continue
		}
		rendered := []*unstructured.Unstructured{obj}
		normalise(created, rendered)
		normalise(applied, rendered)
		for _, d := range differences(created.Object, applied.Object) {
			t.Errorf("%s: %s is not the same when it is created and when it is applied: %+v", gvk.Kind, d.path, d)
		}
	}
	lists, err := discovery.ServerPreferredResources(clients.Discovery)
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range lists {
		for _, r := range list.APIResources {
			group, _, _ := strings.Cut(list.GroupVersion, "/")
			if !strings.Contains(list.GroupVersion, "/") {
				group = ""
			}
			kind := metav1.GroupKind{Group: group, Kind: r.Kind}
			if strings.Contains(r.Verbs.String(), "create") && !strings.Contains(r.Name, "/") && !strings.Contains(notDelivered, r.Kind+" ") && !tried[kind.String()] {
				t.Errorf("%s is served, and not tried here", kind)
			}
		}
	}
}
