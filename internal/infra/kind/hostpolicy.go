package kind

import "strings"

// hostPolicies keep the recipe's pods on simulated nodes. A DaemonSet that tolerates everything would also have a pod on the node that runs the
// cluster, and that one would be a real process, in a privileged container: what a recipe delivers must not run on this machine. So the API server adds a node
// selector to every DaemonSet and pod, except those of the harness's own namespaces and of the cluster itself.
//
// The selector is added by a MutatingAdmissionPolicy and not by a webhook: no server is asked.
func hostPolicies() string {
	return strings.ReplaceAll(hostPoliciesText, "OWN_NAMESPACES", strings.Join(ownNamespaces(), ", "))
}

const hostPoliciesText = `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: aicr-action-daemonsets}
spec:
  failurePolicy: Fail
  reinvocationPolicy: Never
  matchConstraints:
    namespaceSelector:
      matchExpressions:
      - {key: kubernetes.io/metadata.name, operator: NotIn, values: [OWN_NAMESPACES]}
    resourceRules:
    - {apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [daemonsets]}
  matchConditions:
  - name: not-of-the-cluster
    expression: "!(object.metadata.namespace == 'kube-system' && object.metadata.name in ['kindnet', 'kube-proxy'])"
  mutations:
  - patchType: JSONPatch # a node selector is a whole to the other kind of patch
    jsonPatch:
      expression: >-
        has(object.spec.template.spec.nodeSelector) ?
        [JSONPatch{op: 'add', path: '/spec/template/spec/nodeSelector/aicr.nvidia.com~1simulated', value: 'true'}] :
        [JSONPatch{op: 'add', path: '/spec/template/spec/nodeSelector', value: {'aicr.nvidia.com/simulated': 'true'}}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: aicr-action-daemonsets}
spec: {policyName: aicr-action-daemonsets}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: aicr-action-pods}
spec:
  failurePolicy: Fail
  reinvocationPolicy: Never
  matchConstraints:
    namespaceSelector:
      matchExpressions:
      - {key: kubernetes.io/metadata.name, operator: NotIn, values: [OWN_NAMESPACES]}
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}
  matchConditions:
  - name: not-of-the-cluster
    expression: "!(request.namespace == 'kube-system' && has(object.metadata.labels) && 'k8s-app' in object.metadata.labels && object.metadata.labels['k8s-app'] in ['kindnet', 'kube-proxy', 'kube-dns'])"
  - name: not-a-static-pod
    expression: "!(has(object.metadata.annotations) && 'kubernetes.io/config.mirror' in object.metadata.annotations)"
  mutations:
  - patchType: JSONPatch
    jsonPatch:
      expression: >-
        has(object.spec.nodeSelector) ?
        [JSONPatch{op: 'add', path: '/spec/nodeSelector/aicr.nvidia.com~1simulated', value: 'true'}] :
        [JSONPatch{op: 'add', path: '/spec/nodeSelector', value: {'aicr.nvidia.com/simulated': 'true'}}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: aicr-action-pods}
spec: {policyName: aicr-action-pods}
`
