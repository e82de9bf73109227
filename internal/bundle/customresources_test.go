package bundle

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// customSchema is what the API server checks a custom resource by.
type customSchema struct {
	structural *structuralschema.Structural
	validator  validation.SchemaValidator
}

// customSchemas are the schemas of the simulated charts' CRDs.
func customSchemas(t testing.TB) map[schema.GroupVersionKind]customSchema {
	t.Helper()
	all := map[schema.GroupVersionKind]customSchema{}
	err := filepath.WalkDir("../../kwok/charts", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".yaml") || !strings.Contains(path, "crds/") {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var text strings.Builder
		for line := range strings.Lines(string(raw)) {
			if !strings.HasPrefix(strings.TrimSpace(line), "{{") { // some are templates, by whole lines
				text.WriteString(line)
			}
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal([]byte(text.String()), &crd); err != nil || crd.Kind != "CustomResourceDefinition" {
			return err
		}
		for _, v := range crd.Spec.Versions {
			var internal apiextensions.JSONSchemaProps
			if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v.Schema.OpenAPIV3Schema, &internal, nil); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			structural, err := structuralschema.NewStructural(&internal)
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			if wrong := structuralschema.ValidateStructural(nil, structural); len(wrong) > 0 {
				return fmt.Errorf("%s: %w", path, wrong.ToAggregate())
			}
			validator, _, err := validation.NewSchemaValidator(&internal)
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			all[schema.GroupVersionKind{Group: crd.Spec.Group, Version: v.Name, Kind: crd.Spec.Names.Kind}] = customSchema{structural, validator}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 60 {
		t.Fatalf("%d kinds of custom resources were found", len(all))
	}
	return all
}

// refusal is why the API server would refuse a custom resource; nil for other objects.
func refusal(schemas map[schema.GroupVersionKind]customSchema, o *unstructured.Unstructured) error {
	s, ok := schemas[o.GroupVersionKind()]
	if !ok {
		return nil
	}
	o = o.DeepCopy()
	unknown := pruning.PruneWithOptions(o.Object, s.structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	var problems []error
	for _, path := range unknown {
		problems = append(problems, fmt.Errorf("%s %s: unknown field %s", o.GetKind(), o.GetName(), path))
	}
	if wrong := validation.ValidateCustomResource(nil, o.Object, s.validator); len(wrong) > 0 {
		problems = append(problems, fmt.Errorf("%s %s: %w", o.GetKind(), o.GetName(), wrong.ToAggregate()))
	}
	return errors.Join(problems...)
}

// A field that the original does not have, and one that is missing, are refused; what is not known
// for certain is kept.
func TestCustomResources(t *testing.T) {
	schemas := customSchemas(t)
	for text, want := range map[string]string{
		`{apiVersion: cert-manager.io/v1, kind: Issuer, metadata: {name: x}, spec: {selfSigned: {}}}`:                                                                                                                                                                                                "",
		`{apiVersion: cert-manager.io/v1, kind: Issuer, metadata: {name: x}, spec: {selfsigned: {}}}`:                                                                                                                                                                                                "spec.selfsigned",
		`{apiVersion: cert-manager.io/v1, kind: ClusterIssuer, metadata: {name: x}, spec: {acme: {server: x, privateKeySecretRef: {name: x}, solvers: [{http01: {ingress: {podTemplate: {spec: {x: y}}}}}]}}}`:                                                                                       "",
		`{apiVersion: cert-manager.io/v1, kind: ClusterIssuer, metadata: {name: x}, spec: {acme: {server: x, privateKeySecretRef: {name: x}, solvers: [{http01: {ingres: {}}}]}}}`:                                                                                                                   "spec.acme.solvers[0].http01.ingres",
		`{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: x}, spec: {secretName: x, issuerRef: {name: x}, dnsName: [x]}}`:                                                                                                                                                        "spec.dnsName",
		`{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: x}, spec: {issuerRef: {name: x}}}`:                                                                                                                                                                                     "spec.secretName: Required value",
		`{apiVersion: monitoring.coreos.com/v1, kind: ServiceMonitor, metadata: {name: x}, spec: {selector: {}, endpoints: [{port: a, intervall: 1s}]}}`:                                                                                                                                             "spec.endpoints[0].intervall",
		`{apiVersion: monitoring.coreos.com/v1, kind: PodMonitor, metadata: {name: x}, spec: {selector: {}, endpoints: []}}`:                                                                                                                                                                         "spec.endpoints",
		`{apiVersion: monitoring.coreos.com/v1, kind: PrometheusRule, metadata: {name: x}, spec: {groups: [{name: x, rules: [{alert: x, exp: up}]}]}}`:                                                                                                                                               "spec.groups[0].rules[0].exp",
		`{apiVersion: nfd.k8s-sigs.io/v1alpha1, kind: NodeFeatureRule, metadata: {name: x}, spec: {rules: [{name: x, label: {a: b}}]}}`:                                                                                                                                                              "spec.rules[0].label",
		`{apiVersion: scheduling.run.ai/v2, kind: Queue, metadata: {name: x}, spec: {resources: {gpu: {quota: 0.5, limits: 1}}}}`:                                                                                                                                                                    "spec.resources.gpu.limits",
		`{apiVersion: resource.nvidia.com/v1beta1, kind: ComputeDomain, metadata: {name: x}, spec: {nodes: 1, channel: {resourceClaimTemplate: {name: x}}}}`:                                                                                                                                         "spec.nodes",
		`{apiVersion: skyhook.nvidia.com/v1alpha1, kind: Skyhook, metadata: {name: x}, spec: {sequencing: all, interruptionBudget: {percent: 1}, packages: {a: {image: x, version: "1", interrupt: {type: reboot}}}}}`:                                                                               "",
		`{apiVersion: skyhook.nvidia.com/v1alpha1, kind: Skyhook, metadata: {name: x}, spec: {interruptionBudget: {percentage: 1}}}`:                                                                                                                                                                 "spec.interruptionBudget.percentage",
		`{apiVersion: monitoring.coreos.com/v1, kind: ServiceMonitor, metadata: {name: x}, spec: {selector: {matchLabels: {a: b}}, namespaceSelector: {any: true}, endpoints: [{port: a, targetPort: 80, relabelings: [{action: drop, sourceLabels: [a], regex: b}]}]}}`:                             "",
		`{apiVersion: mellanox.com/v1alpha1, kind: NicClusterPolicy, metadata: {name: x}, spec: {not-known-for-certain: 1, ofedDriver: {image: x, repository: x, version: x, upgradePolicy: {autoUpgrade: true, drain: {enable: true}}, startupProbe: {initialDelaySeconds: 1, periodSeconds: 1}}}}`: "",
		`{apiVersion: mellanox.com/v1alpha1, kind: NicClusterPolicy, metadata: {name: x}, spec: {ofedDriver: {image: x, repository: x, version: x, upgradePolicy: {autoUpgrades: true}}}}`:                                                                                                           "spec.ofedDriver.upgradePolicy.autoUpgrades",
		`{apiVersion: mellanox.com/v1alpha1, kind: NicClusterPolicy, metadata: {name: x}, spec: {rdmaSharedDevicePlugin: {image: x, repository: x}}}`:                                                                                                                                                "spec.rdmaSharedDevicePlugin.version: Required value",
		`{apiVersion: mellanox.com/v1alpha1, kind: NicClusterPolicy, metadata: {name: x}, spec: {rdmaSharedDevicePlugin: {image: x, repository: x, version: x, configs: x}}}`:                                                                                                                        "spec.rdmaSharedDevicePlugin.configs",
		`{apiVersion: trainer.kubeflow.org/v1alpha1, kind: ClusterTrainingRuntime, metadata: {name: x}, spec: {mlPolicy: {numNodes: 1, torch: {}}, template: {spec: {replicatedJobs: [{name: node, template: {spec: {template: {spec: {x: y}}}}}]}}}}`:                                               "",
		`{apiVersion: trainer.kubeflow.org/v1alpha1, kind: ClusterTrainingRuntime, metadata: {name: x}, spec: {mlPolicy: {numNode: 1}}}`:                                                                                                                                                             "spec.mlPolicy.numNode",
		`{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainingRuntime, metadata: {name: x}, spec: {template: {spec: {replicatedJob: []}}}}`:                                                                                                                                                     "spec.template.spec.replicatedJob",
		`{apiVersion: skyhook.nvidia.com/v1alpha1, kind: Skyhook, metadata: {name: x}, spec: {packages: {a: {image: x, version: "1", dependOn: {b: "1"}}}}}`:                                                                                                                                         "spec.packages.a.dependOn",
		`{apiVersion: skyhook.nvidia.com/v1alpha1, kind: DeploymentPolicy, metadata: {name: x}, spec: {default: {strategy: {fixed: {}}}, compartments: [{name: a, selector: {}, budget: {percents: 1}}]}}`:                                                                                           "spec.compartments[0].budget.percents",
		`{apiVersion: nvidia.com/v1, kind: ClusterPolicy, metadata: {name: x}, spec: {cdi: {default: true, enabled: true}, driver: {upgradePolicy: {autoUpgrade: true}, env: [{name: a, value: b}]}}}`:                                                                                               "",
		`{apiVersion: nvidia.com/v1, kind: ClusterPolicy, metadata: {name: x}, spec: {driver: {upgradePolicy: {autoUpgrades: true}}}}`:                                                                                                                                                               "spec.driver.upgradePolicy.autoUpgrades",
		`{apiVersion: nvidia.com/v1, kind: ClusterPolicy, metadata: {name: x}, spec: {dcgmexporter: {enabled: true}}}`:                                                                                                                                                                               "spec.dcgmexporter",
		`{apiVersion: nvidia.com/v1alpha1, kind: NVIDIADriver, metadata: {name: x}, spec: {driverTypes: gpu}}`:                                                                                                                                                                                       "spec.driverTypes",
		`{apiVersion: mellanox.com/v1alpha1, kind: MacvlanNetwork, metadata: {name: x}, spec: {master: eth0, mtu: 1500, mod: bridge}}`:                                                                                                                                                               "spec.mod",
		`{apiVersion: mellanox.com/v1alpha1, kind: HostDeviceNetwork, metadata: {name: x}, spec: {networkNamespace: default, resourceName: a, ipam: "{}"}}`:                                                                                                                                          "",
		`{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, metadata: {name: x}, spec: {runtimeRef: {name: x}, trainer: {numNode: 2}}}`:                                                                                                                                                     "spec.trainer.numNode",
		`{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, metadata: {name: x}, spec: {replicatedJobs: [{name: a, replica: 1, template: {}}]}}`:                                                                                                                                                   "spec.replicatedJobs[0].replica",
		`{apiVersion: kai.scheduler/v1, kind: SchedulingShard, metadata: {name: x}, spec: {placementStrategy: {gpus: binpack}}}`:                                                                                                                                                                     "spec.placementStrategy.gpus",
		`{apiVersion: agentgateway.dev/v1alpha1, kind: AgentgatewayParameters, metadata: {name: x}, spec: {service: {spec: {type: ClusterIP}}, deployments: {}}}`:                                                                                                                                    "spec.deployments",
		`{apiVersion: slinky.slurm.net/v1beta1, kind: NodeSet, metadata: {name: x}, spec: {not-known-for-certain: 1, controllerRef: {name: x}, partition: {enabled: true, conf: x}}}`:                                                                                                                "spec.partition.conf",
		`{apiVersion: janitor.dgxc.nvidia.com/v1alpha1, kind: RebootNode, metadata: {name: x}, spec: {nodeNames: x}}`:                                                                                                                                                                                "spec.nodeNames",
		`{apiVersion: monitoring.coreos.com/v1alpha1, kind: ScrapeConfig, metadata: {name: x}, spec: {staticConfigs: [{targets: ["x:1"], labels: {a: b}}], ec2SDConfigs: [{any: thing}], metricsPath: /metrics}}`:                                                                                    "",
		`{apiVersion: monitoring.coreos.com/v1alpha1, kind: ScrapeConfig, metadata: {name: x}, spec: {staticConfigs: [{target: ["x:1"]}]}}`:                                                                                                                                                          "spec.staticConfigs[0].target",
		`{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: x}, spec: {secretName: x, issuerRef: {name: x}, usages: [server authentication]}}`:                                                                                                                                     "spec.usages[0]",
		`{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: x}, spec: {secretName: x, issuerRef: {name: x}, usages: [server auth], privateKey: {algorithm: ECDSA, size: 256, rotationPolicy: Always}}}`:                                                                            "",
		`{apiVersion: nfd.k8s-sigs.io/v1alpha1, kind: NodeFeatureRule, metadata: {name: x}, spec: {rules: [{name: x, matchFeatures: [{feature: pci.device, matchExpressions: {vendor: {op: Equals, value: ["10de"]}}}]}]}}`:                                                                          "vendor.op",
		`{apiVersion: monitoring.coreos.com/v1, kind: ServiceMonitor, metadata: {name: x}, spec: {selector: {}, endpoints: [{port: a, interval: 1 min}]}}`:                                                                                                                                           "spec.endpoints[0].interval",
		`{apiVersion: monitoring.coreos.com/v1, kind: ServiceMonitor, metadata: {name: x}, spec: {selector: {}, endpoints: [{port: a, interval: 1m30s, scheme: https, tlsConfig: {minVersion: TLS12}}]}}`:                                                                                            "",
		`{apiVersion: monitoring.coreos.com/v1, kind: ServiceMonitor, metadata: {name: x}, spec: {selector: {}, endpoints: [{port: a, relabelings: [{action: remove}]}]}}`:                                                                                                                           "relabelings[0].action",
		`{apiVersion: monitoring.coreos.com/v1, kind: PodMonitor, metadata: {name: x}, spec: {selector: {}, podMetricsEndpoints: [{portNumber: 0}]}}`:                                                                                                                                                "portNumber",
		`{apiVersion: monitoring.coreos.com/v1, kind: PrometheusRule, metadata: {name: x}, spec: {groups: [{name: x, rules: [{alert: x, expr: up, for: 5 minutes}]}]}}`:                                                                                                                              "spec.groups[0].rules[0].for",
		`{apiVersion: monitoring.coreos.com/v1, kind: Prometheus, metadata: {name: x}, spec: {retention: 10days}}`:                                                                                                                                                                                   "spec.retention",
		`{apiVersion: monitoring.coreos.com/v1, kind: Prometheus, metadata: {name: x}, spec: {retention: 15d, retentionSize: 45GB, logLevel: "", scrapeInterval: 1m, remoteWrite: [{url: "https://x/"}]}}`:                                                                                           "",
		`{apiVersion: monitoring.coreos.com/v1, kind: Prometheus, metadata: {name: x}, spec: {retentionSize: 45 gigs}}`:                                                                                                                                                                              "spec.retentionSize",
		`{apiVersion: monitoring.coreos.com/v1, kind: Prometheus, metadata: {name: x}, spec: {remoteWrite: [{url: metrics.example.com}]}}`:                                                                                                                                                           "spec.remoteWrite[0].url",
		`{apiVersion: monitoring.coreos.com/v1, kind: Alertmanager, metadata: {name: x}, spec: {retention: 5d}}`:                                                                                                                                                                                     "spec.retention",
		`{apiVersion: nvidia.com/v1, kind: ClusterPolicy, metadata: {name: x}, spec: {mig: {strategy: mixd}}}`:                                                                                                                                                                                       "spec.mig.strategy",
		`{apiVersion: nvidia.com/v1, kind: ClusterPolicy, metadata: {name: x}, spec: {mig: {strategy: mixed}, devicePlugin: {resources: {limits: {cpu: 500m, memory: 1}}}, driver: {kernelModuleType: open, startupProbe: {periodSeconds: 10}}}}`:                                                    "",
		`{apiVersion: nvidia.com/v1, kind: ClusterPolicy, metadata: {name: x}, spec: {devicePlugin: {resources: {limits: {memory: 1 GB}}}}}`:                                                                                                                                                         "spec.devicePlugin.resources.limits",
		`{apiVersion: nvidia.com/v1, kind: ClusterPolicy, metadata: {name: x}, spec: {driver: {startupProbe: {periodSeconds: 0}}}}`:                                                                                                                                                                  "periodSeconds",
		`{apiVersion: monitoring.coreos.com/v1alpha1, kind: PrometheusAgent, metadata: {name: x}, spec: {remoteWrite: [{url: x, nam: y}]}}`:                                                                                                                                                          "spec.remoteWrite[0].nam",
		`{apiVersion: kai.scheduler/v1alpha1, kind: Topology, metadata: {name: x}, spec: {levels: [{nodeLabel: a, label: b}]}}`:                                                                                                                                                                      "spec.levels[0].label",
		`{apiVersion: scheduling.run.ai/v1alpha2, kind: BindRequest, metadata: {name: x}, spec: {podName: x, selectedNode: y, receivedGPU: {counts: 1}}}`:                                                                                                                                            "spec.receivedGPU.counts",
		`{apiVersion: monitoring.coreos.com/v1, kind: Probe, metadata: {name: x}, spec: {prober: {url: x}, targets: {staticConfig: {static: [x], label: {a: b}}}}}`:                                                                                                                                  "spec.targets.staticConfig.label",
		`{apiVersion: kai.scheduler/v1, kind: Config, metadata: {name: x}, spec: {namespace: x, global: {tolerations: [{operator: Exists}], nodeSelector: {a: b}}, admission: {gpuPodRuntimeClassName: ""}, scheduler: {service: {resources: {requests: {cpu: 1}}}}}}`:                               "",
		`{apiVersion: kai.scheduler/v1, kind: Config, metadata: {name: x}, spec: {global: {toleration: []}}}`:                                                                                                                                                                                        "spec.global.toleration",
		`{apiVersion: kai.scheduler/v1, kind: Config, metadata: {name: x}, spec: {binder: {service: {image: {nam: x}}}}}`:                                                                                                                                                                            "spec.binder.service.image.nam",
		`{apiVersion: apps.nvidia.com/v1alpha1, kind: NIMService, metadata: {name: x}, spec: {image: {repository: x, tag: v1}, authSecret: x, storage: {nimCache: {name: x}}, expose: {service: {type: ClusterIP, port: 8000}}, resources: {limits: {nvidia.com/gpu: 1}}}}`:                          "",
		`{apiVersion: apps.nvidia.com/v1alpha1, kind: NIMService, metadata: {name: x}, spec: {image: {repository: x, tag: v1}, storages: {}}}`:                                                                                                                                                       "spec.storages",
		`{apiVersion: apps.nvidia.com/v1alpha1, kind: NIMService, metadata: {name: x}, spec: {image: {repository: x}}}`:                                                                                                                                                                              "spec.image.tag: Required value",
		`{apiVersion: apps.nvidia.com/v1alpha1, kind: NIMCache, metadata: {name: x}, spec: {source: {ngc: {modelPuller: x, authSecret: y}}, storage: {pvc: {create: true, storageclass: x}}}}`:                                                                                                       "spec.storage.pvc.storageclass",
		`{apiVersion: apps.nvidia.com/v1alpha1, kind: NIMPipeline, metadata: {name: x}, spec: {services: [{name: x, spec: {image: {repository: x, tag: v1}, replica: 1}}]}}`:                                                                                                                         "spec.services[0].spec.replica",
		`{apiVersion: nvidia.com/v1alpha1, kind: DynamoGraphDeployment, metadata: {name: x}, spec: {backendFramework: vllm, services: {Frontend: {componentType: frontend, replicas: 1, extraPodSpec: {mainContainer: {image: x}}}}}}`:                                                               "",
		`{apiVersion: nvidia.com/v1alpha1, kind: DynamoGraphDeployment, metadata: {name: x}, spec: {services: {Frontend: {replica: 1}}}}`:                                                                                                                                                            "spec.services.Frontend.replica",
		`{apiVersion: nvidia.com/v1alpha1, kind: DynamoComponentDeployment, metadata: {name: x}, spec: {resources: {limit: {gpu: "1"}}}}`:                                                                                                                                                            "spec.resources.limit",
		`{apiVersion: nvidia.com/v1alpha1, kind: DynamoModel, metadata: {name: x}, spec: {modelName: x}}`:                                                                                                                                                                                            "spec.baseModelName: Required value",
		`{apiVersion: grove.io/v1alpha1, kind: PodCliqueSet, metadata: {name: x}, spec: {replicas: 1, template: {cliqueStartupType: CliqueStartupTypeExplicit, terminationDelay: 1m, cliques: [{name: x, spec: {roleName: x, replicas: 1, podSpec: {containers: []}}}]}}}`:                           "",
		`{apiVersion: grove.io/v1alpha1, kind: PodCliqueSet, metadata: {name: x}, spec: {template: {startupType: CliqueStartupTypeExplicit, cliques: [{name: x, spec: {roleName: x, podSpec: {}}}]}}}`:                                                                                               "spec.template.startupType",
		`{apiVersion: grove.io/v1alpha1, kind: PodClique, metadata: {name: x}, spec: {roleName: x, podSpec: {}, minAvailables: 1}}`:                                                                                                                                                                  "spec.minAvailables",
		`{apiVersion: scheduler.grove.io/v1alpha1, kind: PodGang, metadata: {name: x}, spec: {podgroups: [{name: x, minReplicas: 1, podReferences: [], min: 1}]}}`:                                                                                                                                   "spec.podgroups[0].min",
		`{apiVersion: gateway.kgateway.dev/v1alpha1, kind: GatewayParameters, metadata: {name: x}, spec: {kube: {deployment: {replicas: 2}, service: {type: LoadBalancer}, podTemplate: {tolerations: [], extraLabels: {a: b}}}}}`:                                                                   "",
		`{apiVersion: gateway.kgateway.dev/v1alpha1, kind: GatewayParameters, metadata: {name: x}, spec: {kube: {podTemplate: {toleration: []}}}}`:                                                                                                                                                   "spec.kube.podTemplate.toleration",
		`{apiVersion: gateway.kgateway.dev/v1alpha1, kind: TrafficPolicy, metadata: {name: x}, spec: {targetRefs: [{group: g, kind: HTTPRoute, name: x}], rateLimit: {local: {tokenBucket: {maxTokens: 1, fillInterval: 1s, fill: 1}}}}}`:                                                            "spec.rateLimit.local.tokenBucket.fill",
		`{apiVersion: gateway.kgateway.dev/v1alpha1, kind: DirectResponse, metadata: {name: x}, spec: {body: x}}`:                                                                                                                                                                                    "spec.status: Required value",
		`{apiVersion: agentgateway.dev/v1alpha1, kind: AgentgatewayPolicy, metadata: {name: x}, spec: {targetRef: {name: x}}}`:                                                                                                                                                                       "spec.targetRef",
	} {
		var o unstructured.Unstructured
		if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
			t.Fatal(err)
		}
		got := refusal(schemas, &o)
		if (got == nil) != (want == "") || got != nil && !strings.Contains(got.Error(), want) {
			t.Errorf("%s\ngot %v; want %q", text, got, want)
		}
	}
}
