package compare

import (
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/testkit"
)

func TestNormalise(t *testing.T) {
	for name, tc := range map[string]struct{ live, rendered, want string }{
		"what the API server writes": {
			live: `{kind: ConfigMap, metadata: {name: a, uid: u, resourceVersion: "1", generation: 2, creationTimestamp: "2026-01-01T00:00:00Z", managedFields: [{manager: helm}]}, data: {k: v}, status: {x: 1}}`,
			want: `{kind: ConfigMap, metadata: {name: a}, data: {k: v}}`,
		},
		"tracking": {
			live: `{kind: ConfigMap, metadata: {name: a, labels: {app.kubernetes.io/managed-by: Helm, app.kubernetes.io/instance: a, helm.toolkit.fluxcd.io/name: a},
  annotations: {meta.helm.sh/release-name: a, argocd.argoproj.io/tracking-id: "a:/ConfigMap:ns/a", kubectl.kubernetes.io/last-applied-configuration: "{}"}}}`,
			rendered: `{kind: ConfigMap, metadata: {name: a}}`,
			want:     `{kind: ConfigMap, metadata: {name: a}}`,
		},
		"marks of deployers in a manifest that was exported from a cluster": {
			live:     `{kind: ConfigMap, metadata: {name: a, labels: {helm.toolkit.fluxcd.io/name: b}, annotations: {argocd.argoproj.io/tracking-id: "b:/ConfigMap:ns/a", meta.helm.sh/release-name: b, meta.helm.sh/release-namespace: ns}}}`,
			rendered: `{kind: ConfigMap, metadata: {name: a, labels: {helm.toolkit.fluxcd.io/name: x}, annotations: {argocd.argoproj.io/tracking-id: "x:/ConfigMap:ns/a", meta.helm.sh/release-name: x, meta.helm.sh/release-namespace: x}}}`,
			want:     `{kind: ConfigMap, metadata: {name: a}}`,
		},
		"what the chart renders is compared, whoever else might have written it": {
			live:     `{kind: ConfigMap, metadata: {name: a, labels: {app.kubernetes.io/instance: other, app: a}, annotations: {argocd.argoproj.io/sync-wave: "3", helm.sh/hook: pre-install}}}`,
			rendered: `{kind: ConfigMap, metadata: {name: a, labels: {app.kubernetes.io/instance: a, app: a}, annotations: {argocd.argoproj.io/sync-wave: "3", helm.sh/hook: pre-install}}}`,
			want:     `{kind: ConfigMap, metadata: {name: a, labels: {app.kubernetes.io/instance: other, app: a}, annotations: {argocd.argoproj.io/sync-wave: "3", helm.sh/hook: pre-install}}}`,
		},
		"pod templates keep their labels": {
			live: `{kind: Deployment, metadata: {name: a, annotations: {deployment.kubernetes.io/revision: "1"}}, spec: {template: {metadata: {labels: {app.kubernetes.io/managed-by: Helm, app.kubernetes.io/instance: a}}}}}`,
			want: `{kind: Deployment, metadata: {name: a}, spec: {template: {metadata: {labels: {app.kubernetes.io/managed-by: Helm, app.kubernetes.io/instance: a}}}}}`,
		},
		"allocated addresses and ports": {
			live:     `{kind: Service, metadata: {name: a}, spec: {type: NodePort, clusterIP: 10.0.0.7, clusterIPs: [10.0.0.7], ports: [{port: 80, protocol: TCP, nodePort: 31001}, {port: 81, protocol: TCP, nodePort: 30081}]}}`,
			rendered: `{kind: Service, metadata: {name: a}, spec: {type: NodePort, ports: [{port: 80}, {port: 81, nodePort: 30081}]}}`,
			want:     `{kind: Service, metadata: {name: a}, spec: {type: NodePort, ports: [{port: 80, protocol: TCP}, {port: 81, protocol: TCP, nodePort: 30081}]}}`,
		},
		"what a chart leaves to the API server by an empty text": {
			live:     `{kind: Service, metadata: {name: a}, spec: {clusterIP: 10.0.0.7, clusterIPs: [10.0.0.7]}}`,
			rendered: `{kind: Service, metadata: {name: a}, spec: {clusterIP: ""}}`,
			want:     `{kind: Service, metadata: {name: a}, spec: {}}`,
		},
		"the status of an autoscaler that is read as autoscaling/v1": {
			live:     `{kind: HorizontalPodAutoscaler, metadata: {name: a, annotations: {autoscaling.alpha.kubernetes.io/conditions: "[]"}}, spec: {maxReplicas: 3}}`,
			rendered: `{kind: HorizontalPodAutoscaler, metadata: {name: a}, spec: {maxReplicas: 3}}`,
			want:     `{kind: HorizontalPodAutoscaler, metadata: {name: a}, spec: {maxReplicas: 3}}`,
		},
		"the UID of a ComputeDomain": {
			live:     `{kind: ResourceClaimTemplate, metadata: {name: a}, spec: {spec: {devices: {config: [{opaque: {driver: compute-domain.nvidia.com, parameters: {domainID: u-1, allocationMode: All}}}, {opaque: {driver: other, parameters: {domainID: u-1}}}]}}}}`,
			rendered: `{kind: ResourceClaimTemplate, metadata: {name: a}, spec: {spec: {devices: {config: [{opaque: {driver: compute-domain.nvidia.com, parameters: {domainID: "", allocationMode: All}}}]}}}}`,
			want:     `{kind: ResourceClaimTemplate, metadata: {name: a}, spec: {spec: {devices: {config: [{opaque: {driver: compute-domain.nvidia.com, parameters: {allocationMode: All}}}, {opaque: {driver: other, parameters: {domainID: u-1}}}]}}}}`,
		},
		"the UID of a ComputeDomain that a chart renders": {
			live:     `{kind: ResourceClaimTemplate, metadata: {name: a}, spec: {spec: {devices: {config: [{opaque: {driver: compute-domain.nvidia.com, parameters: {domainID: u-2}}}]}}}}`,
			rendered: `{kind: ResourceClaimTemplate, metadata: {name: a}, spec: {spec: {devices: {config: [{opaque: {driver: compute-domain.nvidia.com, parameters: {domainID: u-1}}}]}}}}`,
			want:     `{kind: ResourceClaimTemplate, metadata: {name: a}, spec: {spec: {devices: {config: [{opaque: {driver: compute-domain.nvidia.com, parameters: {domainID: u-2}}}]}}}}`,
		},
		"a strategy that rolls no more": {
			live:     `{kind: DaemonSet, metadata: {name: a}, spec: {updateStrategy: {type: OnDelete, rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}}}`,
			rendered: `{kind: DaemonSet, metadata: {name: a}, spec: {updateStrategy: {type: OnDelete}}}`,
			want:     `{kind: DaemonSet, metadata: {name: a}, spec: {updateStrategy: {type: OnDelete}}}`,
		},
		"a strategy that rolls": {
			live:     `{kind: DaemonSet, metadata: {name: a}, spec: {updateStrategy: {type: RollingUpdate, rollingUpdate: {maxUnavailable: 1}}}}`,
			rendered: `{kind: DaemonSet, metadata: {name: a}, spec: {updateStrategy: {type: RollingUpdate}}}`,
			want:     `{kind: DaemonSet, metadata: {name: a}, spec: {updateStrategy: {type: RollingUpdate, rollingUpdate: {maxUnavailable: 1}}}}`,
		},
		"a headless Service stays one": {
			live:     `{kind: Service, metadata: {name: a}, spec: {clusterIP: None, clusterIPs: [None]}}`,
			rendered: `{kind: Service, metadata: {name: a}, spec: {clusterIP: None}}`,
			want:     `{kind: Service, metadata: {name: a}, spec: {clusterIP: None}}`,
		},
		"a Service that is headless and should not be": {
			live:     `{kind: Service, metadata: {name: a}, spec: {clusterIP: None, clusterIPs: [None]}}`,
			rendered: `{kind: Service, metadata: {name: a}, spec: {}}`,
			want:     `{kind: Service, metadata: {name: a}, spec: {clusterIP: None}}`,
		},
		"a Service that a lane made headless no more": {
			live:     `{kind: Service, metadata: {name: a}, spec: {clusterIP: 10.0.0.7, clusterIPs: [10.0.0.7]}}`,
			rendered: `{kind: Service, metadata: {name: a}, spec: {clusterIP: None}}`,
			want:     `{kind: Service, metadata: {name: a}, spec: {clusterIP: 10.0.0.7}}`,
		},
		"a pod has the labels of its node's place": {
			live: `{kind: Pod, metadata: {name: a, labels: {app: a, topology.kubernetes.io/zone: us-east-1b, topology.kubernetes.io/region: us-east-1}}, spec: {nodeName: n}}`,
			want: `{kind: Pod, metadata: {name: a, labels: {app: a}}, spec: {}}`,
		},
		"a pod whose chart renders such a label": {
			live:     `{kind: Pod, metadata: {name: a, labels: {topology.kubernetes.io/zone: us-east-1b}}, spec: {}}`,
			rendered: `{kind: Pod, metadata: {name: a, labels: {topology.kubernetes.io/zone: us-east-1a}}, spec: {}}`,
			want:     `{kind: Pod, metadata: {name: a, labels: {topology.kubernetes.io/zone: us-east-1b}}, spec: {}}`,
		},
		"a volume's name": {
			live: `{kind: PersistentVolumeClaim, metadata: {name: a, annotations: {volume.kubernetes.io/storage-provisioner: x}}, spec: {volumeName: pvc-1, storageClassName: gp3}}`,
			want: `{kind: PersistentVolumeClaim, metadata: {name: a}, spec: {storageClassName: gp3}}`,
		},
		"a Job's own labels": {
			live: `{kind: Job, metadata: {name: a, labels: {controller-uid: u, job-name: a, batch.kubernetes.io/controller-uid: u, batch.kubernetes.io/job-name: a}},
  spec: {selector: {matchLabels: {batch.kubernetes.io/controller-uid: u}}, template: {metadata: {labels: {controller-uid: u, batch.kubernetes.io/controller-uid: u, app: a}}}}}`,
			want: `{kind: Job, metadata: {name: a, labels: {job-name: a}}, spec: {selector: {matchLabels: {}}, template: {metadata: {labels: {app: a}}}}}`,
		},
		"labels of a Job that has none, from its template": {
			live:     `{kind: Job, metadata: {name: a, labels: {app: a, added: later}}, spec: {template: {metadata: {labels: {app: a}}}}}`,
			rendered: `{kind: Job, metadata: {name: a}, spec: {template: {metadata: {labels: {app: a}}}}}`,
			want:     `{kind: Job, metadata: {name: a, labels: {added: later}}, spec: {template: {metadata: {labels: {app: a}}}}}`,
		},
		"labels that a Job renders": {
			live:     `{kind: Job, metadata: {name: a, labels: {app: a}}, spec: {template: {metadata: {labels: {app: a}}}}}`,
			rendered: `{kind: Job, metadata: {name: a, labels: {app: a}}, spec: {template: {metadata: {labels: {app: a}}}}}`,
			want:     `{kind: Job, metadata: {name: a, labels: {app: a}}, spec: {template: {metadata: {labels: {app: a}}}}}`,
		},
		"owners without UIDs, and no finalizer of a hook": {
			live: `{kind: StatefulSet, metadata: {name: a, finalizers: [argocd.argoproj.io/hook-finalizer, example.com/keep], ownerReferences: [{kind: Prometheus, name: p, uid: u}]}}`,
			want: `{kind: StatefulSet, metadata: {name: a, finalizers: [example.com/keep], ownerReferences: [{kind: Prometheus, name: p}]}}`,
		},
		"an aggregated role": {
			live:     `{kind: ClusterRole, metadata: {name: a}, aggregationRule: {clusterRoleSelectors: []}, rules: [{verbs: [get]}]}`,
			rendered: `{kind: ClusterRole, metadata: {name: a}, aggregationRule: {clusterRoleSelectors: []}, rules: []}`,
			want:     `{kind: ClusterRole, metadata: {name: a}, aggregationRule: {clusterRoleSelectors: []}}`,
		},
		"the authority of a webhook, unless the chart renders one": {
			live:     `{kind: MutatingWebhookConfiguration, metadata: {name: a}, webhooks: [{name: x, clientConfig: {caBundle: eA==}}, {name: y, clientConfig: {caBundle: eQ==}}]}`,
			rendered: `{kind: MutatingWebhookConfiguration, metadata: {name: a}, webhooks: [{name: x, clientConfig: {}}, {name: y, clientConfig: {caBundle: eQ==}}]}`,
			want:     `{kind: MutatingWebhookConfiguration, metadata: {name: a}, webhooks: [{name: x, clientConfig: {}}, {name: y, clientConfig: {caBundle: eQ==}}]}`,
		},
		"the authority of a conversion": {
			live:     `{kind: CustomResourceDefinition, metadata: {name: a}, spec: {conversion: {strategy: Webhook, webhook: {clientConfig: {caBundle: eA==, service: {name: s}}}}}}`,
			rendered: `{kind: CustomResourceDefinition, metadata: {name: a}, spec: {conversion: {strategy: Webhook, webhook: {clientConfig: {service: {name: s}}}}}}`,
			want:     `{kind: CustomResourceDefinition, metadata: {name: a}, spec: {conversion: {strategy: Webhook, webhook: {clientConfig: {service: {name: s}}}}}}`,
		},
		"the authority of a conversion that the chart renders": {
			live:     `{kind: CustomResourceDefinition, metadata: {name: a}, spec: {conversion: {webhook: {clientConfig: {caBundle: eA==}}}}}`,
			rendered: `{kind: CustomResourceDefinition, metadata: {name: a}, spec: {conversion: {webhook: {clientConfig: {caBundle: eQ==}}}}}`,
			want:     `{kind: CustomResourceDefinition, metadata: {name: a}, spec: {conversion: {webhook: {clientConfig: {caBundle: eA==}}}}}`,
		},
		"a bare pod": {
			live: `{kind: Pod, metadata: {name: a}, spec: {nodeName: n1, volumes: [{name: kube-api-access-x7k2p}, {name: data}], containers: [{name: c, volumeMounts: [{name: kube-api-access-x7k2p}]}]}}`,
			want: `{kind: Pod, metadata: {name: a}, spec: {volumes: [{name: kube-api-access}, {name: data}], containers: [{name: c, volumeMounts: [{name: kube-api-access}]}]}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			live := testkit.Parsed(t, tc.live)
			var rendered []*unstructured.Unstructured
			if tc.rendered != "" {
				rendered = append(rendered, testkit.Parsed(t, tc.rendered))
			}
			normalise(live, rendered)
			if want := testkit.Parsed(t, tc.want); !reflect.DeepEqual(live.Object, want.Object) {
				t.Errorf("got %v\nwant %v", live.Object, want.Object)
			}
		})
	}
}

// No value of a Secret leaves normalising, in any form that a word list could be tried on, and a
// rendering's stringData means the same as the live data.
func TestNormaliseSecret(t *testing.T) {
	live := testkit.Parsed(t, `{kind: Secret, metadata: {name: a}, type: Opaque, data: {password: aHVudGVyMg==}}`)
	rendered := testkit.Parsed(t, `{kind: Secret, metadata: {name: a}, type: Opaque, stringData: {password: hunter2}}`)
	other := testkit.Parsed(t, `{kind: Secret, metadata: {name: a}, type: Opaque, data: {password: aHVudGVyMw==}}`)
	for _, o := range []*unstructured.Unstructured{live, rendered, other} {
		normalise(o, nil)
	}
	if !reflect.DeepEqual(live.Object, rendered.Object) {
		t.Errorf("got %v for data and %v for the same stringData", live.Object, rendered.Object)
	}
	diffs := differences(live.Object, other.Object)
	if len(diffs) != 1 || diffs[0].path != "data.password" {
		t.Fatalf("got %v, want the one value that differs", diffs)
	}
	a, b := diffs[0].texts()
	told := a + b
	for _, secret := range []string{"hunter", "aHVudGVy", secretDigest} {
		if strings.Contains(told, secret) {
			t.Errorf("%q tells %q", told, secret)
		}
	}
	if want := "a value of 7 bytes that is not shown"; !strings.Contains(a, want) {
		t.Errorf("got %q, want %q", a, want)
	}
	whole, _ := difference{"", live.Object, nil}.texts()
	if strings.Contains(whole, secretDigest) {
		t.Errorf("a whole Secret is told as %q", whole)
	}
	// What no rendering has, a program wrote, with a key of its own in each lane: that it is there counts.
	empty := []*unstructured.Unstructured{testkit.Parsed(t, `{kind: Secret, metadata: {name: a}, type: Opaque, data: {mine: eA==}}`)}
	lane := func(data string) *unstructured.Unstructured {
		o := testkit.Parsed(t, `{kind: Secret, metadata: {name: a}, type: Opaque, data: `+data+`}`)
		normalise(o, empty)
		return o
	}
	made := lane("{mine: eA==, tls.key: b25l}")
	if d := differences(made.Object, lane("{mine: eA==, tls.key: dHdv}").Object); len(d) > 0 {
		t.Errorf("keys that a program made in each lane: %v", d)
	}
	for _, data := range []string{"{mine: eA==}", "{mine: eQ==, tls.key: dHdv}"} {
		if d := differences(made.Object, lane(data).Object); len(d) != 1 {
			t.Errorf("%s: got %v, want one difference", data, d)
		}
	}
	token := testkit.Parsed(t, `{kind: Secret, metadata: {name: a}, type: kubernetes.io/service-account-token, data: {token: eA==}}`)
	normalise(token, nil)
	if token.Object["data"] != nil {
		t.Errorf("a token's data are compared: %v", token.Object)
	}
}
