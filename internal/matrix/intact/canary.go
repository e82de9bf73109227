package intact

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/policy"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// An API server evaluates policies from a list that it makes anew from time to time, of all that it
// has seen by then. So one of our own that is created after the recipe's shows when those are in
// force: once it answers, they do. It denies nothing, and warns about one object of a dry run.

// canaryName is the name of the policies, of their bindings, of the object that is tried, and the key
// of the label that the policy which changes objects gives to it.
const canaryName = policy.ReservedPrefix + "canary"

// canaryWait is how long our own policy has to come into force.
const canaryWait = 15 * time.Second

const canaryWarns = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: NAME}
spec:
  failurePolicy: Ignore
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]}
  matchConditions: [{name: canary, expression: "object.metadata.name == 'NAME' && has(object.metadata.labels) && 'NAME' in object.metadata.labels"}]
  validations: [{expression: "false", message: in force}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: NAME}
spec: {policyName: NAME, validationActions: [Warn]}
`

const canaryLabels = `
apiVersion: VERSION
kind: MutatingAdmissionPolicy
metadata: {name: NAME}
spec:
  failurePolicy: Ignore
  reinvocationPolicy: Never
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]}
  matchConditions: [{name: canary, expression: "object.metadata.name == 'NAME'"}]
  mutations: [{patchType: JSONPatch, jsonPatch: {expression: '[JSONPatch{op: "add", path: "/metadata/labels", value: {"NAME": "in-force"}}]'}}]
---
apiVersion: VERSION
kind: MutatingAdmissionPolicyBinding
metadata: {name: NAME}
spec: {policyName: NAME}
`

// canary waits until the policies of a bundle are in force. An error means that this is not known:
// another policy may keep our own from being reached.
func canary(ctx context.Context, clients *infra.Clients, e *bundle.Expectation, budget time.Duration) error {
	tried := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: canaryName, Namespace: metav1.NamespaceDefault}}
	text := canaryWarns
	if version := mutatingVersion(e); version != "" {
		text = strings.ReplaceAll(canaryLabels, "VERSION", version) + "---" + text
	} else {
		tried.Labels = map[string]string{canaryName: "in-force"}
	}
	var made []*unstructured.Unstructured
	defer func() {
		for _, o := range made { // what cannot be deleted denies nothing
			_ = clients.Dynamic.Resource(infra.ResourceFor(o.GroupVersionKind())).Delete(context.WithoutCancel(ctx), o.GetName(), metav1.DeleteOptions{})
		}
	}()
	for _, doc := range strings.Split(strings.ReplaceAll(text, "NAME", canaryName), "---\n") {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(doc), &o.Object); err != nil {
			return fmt.Errorf("read a policy of the harness: %w", err)
		}
		if err := clients.Apply(ctx, infra.ResourceFor(o.GroupVersionKind()), o); err != nil {
			return err
		}
		made = append(made, o)
	}
	said := &sayings{}
	cfg := rest.CopyConfig(clients.Config)
	cfg.WarningHandler, cfg.WarningHandlerWithContext = said, nil
	kube, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return fmt.Errorf("make a client for dry runs: %w", err)
	}
	return wait.For(ctx, "the recipe's policies to be in force", wait.Options{Budget: budget, Interval: 100 * time.Millisecond}, func(ctx context.Context) wait.Result {
		_, err := kube.CoreV1().ConfigMaps(tried.Namespace).Create(ctx, tried, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if said.heard(canaryName) { // also of what another policy denies
			return wait.Done()
		}
		return wait.NotYet("the API server's answer shows none of this: %v", err)
	})
}

// mutatingVersion is the version in which the recipe has policies that change objects; empty if it has
// none. The API server serves that one.
func mutatingVersion(e *bundle.Expectation) string {
	for i := range e.Objects {
		if o := e.Objects[i].Object; o.GetKind() == mutating {
			return o.GetAPIVersion()
		}
	}
	return ""
}

// sayings are the API server's warnings.
type sayings struct {
	mu  sync.Mutex
	all []string
}

func (s *sayings) HandleWarningHeader(_ int, _, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, text)
}

func (s *sayings) heard(of string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Contains(strings.Join(s.all, "\n"), "'"+of+"'")
}
