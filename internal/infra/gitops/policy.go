// Package gitops is what the controllers of Argo CD and Flux are given in every cluster, wherever
// they run: settings, credentials for the registry, and admission policies that keep a recipe from
// changing either. It must not know which platform there is, or how a controller starts.
package gitops

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/argoapi"
	"github.com/nvidia/aicr-action/internal/bundle/policy"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// Policy is a ValidatingAdmissionPolicy: what a deployer's controllers do with the cluster's rights
// for a recipe, the API server rejects if it would configure the controllers themselves.
//
// The harness and the controllers use one identity, so a rule can tell the harness's objects only
// by when they come or what they say. Argo CD's are applied before the policy, and from then on
// nothing may write their like. Of Flux's, those are accepted that lead to the cell's registry.
type Policy struct {
	name  string
	rules string // matchConstraints and validations, as YAML
	probe string // an object that the policy rejects
	gvr   schema.GroupVersionResource

	installed guarded // when the policy was in force
}

var (
	policyGVR  = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicies"}
	bindingGVR = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicybindings"}
)

// policyReason ends every message of a policy.
const policyReason = "a recipe may not configure the controllers that deploy it (docs/security.md)"

// ArgoCDPolicy rejects what configures Argo CD, in its namespace, and Applications whose sources
// are neither in the registry nor the bundle's Git repository (git, empty for none) nor one of the
// chart repositories. Of ApplicationSets there may be
// the bundle's, whose spec stays as it was made: all that a recipe delivers comes after it.
func ArgoCDPolicy(registryHost, git string, repositories ...string) *Policy {
	repositories = append(given(git), repositories...)
	rules := strings.NewReplacer("REGISTRY", registryHost, "REPOSITORIES", listed(repositories), "APPSET", argoapi.AppSetName,
		"SOURCES", policy.Gather(policy.SourcePaths()), "DEFINITIONS", policy.ArgoCDDefinitions, "REASON", policyReason).Replace(argocdRules)
	rules += fieldRules(policy.ArgoCDKinds())
	return &Policy{name: policy.ReservedPrefix + "argocd", rules: rules, probe: argocdProbe, gvr: infra.ConfigMapGVR}
}

// listed are addresses as an expression's list has them, in single quotes. One that could be more
// than a string there is left out, and so stays rejected.
func listed(addresses []string) string {
	var all []string
	for _, a := range addresses {
		if !strings.ContainsAny(a, "'\"\\ \t\r\n") {
			all = append(all, "'"+a+"'")
		}
	}
	return strings.Join(all, ",")
}

// given is the list of what is not empty.
func given(address string) []string {
	if address == "" {
		return nil
	}
	return []string{address}
}

const argocdRules = `
matchConstraints:
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: argocd}}
  resourceRules:
  - {apiGroups: [""], apiVersions: ["*"], operations: [CREATE, UPDATE], resources: [secrets, configmaps]}
  - {apiGroups: [argoproj.io], apiVersions: ["*"], operations: [CREATE, UPDATE], resources: [appprojects, applications, applicationsets]}
  - {apiGroups: [apiextensions.k8s.io], apiVersions: ["*"], operations: [CREATE, UPDATE], resources: [customresourcedefinitions]}
variables:
- name: labels
  expression: "has(object.metadata.labels) ? object.metadata.labels : {}"
- name: id
  expression: "request.kind.kind + ' ' + (has(object.metadata.namespace) ? object.metadata.namespace + '/' : '') + object.metadata.name"
- name: sources
  expression: "request.kind.kind == 'Application' ? SOURCES : []"
validations:
- expression: "request.kind.kind != 'CustomResourceDefinition' || !object.metadata.name.matches('DEFINITIONS')"
  messageExpression: "variables.id + ' is the definition of objects that the deployer reads: REASON'"
- expression: "request.kind.kind != 'Secret' || !('argocd.argoproj.io/secret-type' in variables.labels)"
  messageExpression: "variables.id + ' would give Argo CD a cluster or a repository (label argocd.argoproj.io/secret-type): REASON'"
- expression: "!(request.kind.kind in ['Secret', 'ConfigMap']) || !(object.metadata.name.startsWith('argocd-') || ('app.kubernetes.io/part-of' in variables.labels && variables.labels['app.kubernetes.io/part-of'] == 'argocd'))"
  messageExpression: "variables.id + ' is a setting of Argo CD: REASON'"
- expression: "request.kind.kind != 'AppProject'"
  messageExpression: "variables.id + ' would change what Argo CD may do: REASON'"
- expression: "request.kind.kind != 'ApplicationSet' || object.metadata.name == 'APPSET' && (oldObject == null || object.spec == oldObject.spec)"
  messageExpression: "variables.id + ' would make Applications besides those of the bundle: REASON'"
- expression: "variables.sources.all(s, !has(s.plugin))"
  messageExpression: "variables.id + ' uses a plugin of Argo CD, which is a program: REASON'"
- expression: "variables.sources.all(s, has(s.repoURL) && (s.repoURL == '' || s.repoURL.startsWith('oci://REGISTRY/') || s.repoURL in dyn([REPOSITORIES])))"
  messageExpression: "variables.id + ' would make Argo CD dial what is not the registry of this cell (REGISTRY): REASON'"
`

const argocdProbe = `{apiVersion: v1, kind: ConfigMap, metadata: {name: argocd-policy-probe, namespace: argocd}}`

// FluxPolicy rejects sources that are not in the registry, nor one of the chart repositories, nor
// the bundle's Git repository, other clusters, logins to clouds, and every Kustomization but the
// bundle's root. Flux's controllers watch every namespace, so it holds in all of them. root is the
// name of that one; git is the address of the Git repository that has the bundle, empty if an OCI
// registry has it.
func FluxPolicy(registryHost, root, git string, repositories ...string) *Policy {
	source := "OCIRepository"
	if git != "" {
		source = "GitRepository"
	}
	rules := strings.NewReplacer("REGISTRY", registryHost, "REPOSITORIES", listed(repositories), "GIT", listed(given(git)), "BUNDLE", source, "SOURCE", bundle.FluxSource, "ROOT", listed([]string{root}),
		"GROUPS", strings.Join(policy.FluxGroups(), ", "), "KINDS", listed(policy.FluxKinds()), "DEFINITIONS", policy.FluxDefinitions, "REASON", policyReason).Replace(fluxRules)
	rules += fieldRules(policy.FluxKinds())
	return &Policy{name: policy.ReservedPrefix + "flux", rules: rules, probe: fluxProbe, gvr: infra.OCIRepositoryGVR}
}

// fieldRules are the validations of the fields that objects of these kinds may have.
func fieldRules(kinds []string) string {
	var b strings.Builder
	for _, r := range policy.Rules() {
		if !slices.Contains(kinds, r.Kind) {
			continue
		}
		at := "a field"
		if r.Path != "" {
			at = "a field of " + r.Path
		}
		fmt.Fprintf(&b, "- expression: %q\n  messageExpression: %q\n", r.Expression("request.kind.kind"),
			fmt.Sprintf("variables.id + ' sets %s that no bundle needs; allowed are %s: %s'", at, strings.Join(r.Fields, ", "), policyReason))
	}
	return b.String()
}

const fluxRules = `
matchConstraints:
  resourceRules:
  - {apiGroups: [GROUPS], apiVersions: ["*"], operations: [CREATE, UPDATE], resources: ["*"]}
  - {apiGroups: [apiextensions.k8s.io], apiVersions: ["*"], operations: [CREATE, UPDATE], resources: [customresourcedefinitions]}
variables:
- name: id
  expression: "request.kind.kind + ' ' + (has(object.metadata.namespace) ? object.metadata.namespace + '/' : '') + object.metadata.name"
- name: url
  expression: "has(object.spec.url) ? object.spec.url : ''"
- name: isRoot
  expression: >-
    request.namespace == 'flux-system' && object.metadata.name in dyn([ROOT]) && has(object.spec.path) && object.spec.path == './' && !has(object.spec.components) &&
    object.spec.sourceRef.kind == 'BUNDLE' && object.spec.sourceRef.name == 'SOURCE' &&
    (!has(object.spec.sourceRef.namespace) || object.spec.sourceRef.namespace == 'flux-system')
- name: isSource
  expression: "request.kind.kind in ['OCIRepository', 'HelmRepository', 'GitRepository']"
validations:
- expression: "request.kind.kind != 'CustomResourceDefinition' || !object.metadata.name.matches('DEFINITIONS')"
  messageExpression: "variables.id + ' is the definition of objects that the deployer reads: REASON'"
- expression: "request.kind.kind == 'CustomResourceDefinition' || request.kind.kind in [KINDS]"
  messageExpression: "variables.id + ' is of a kind that no bundle needs: REASON'"
- expression: "request.kind.kind != 'GitRepository' || variables.url in dyn([GIT])"
  messageExpression: "variables.id + ' would make Flux dial ' + variables.url + ', which is not the repository of the bundle: REASON'"
- expression: "!variables.isSource || request.kind.kind == 'GitRepository' || variables.url.startsWith('oci://REGISTRY/') || variables.url.startsWith('http://REGISTRY/') || request.kind.kind == 'HelmRepository' && variables.url in dyn([REPOSITORIES])"
  messageExpression: "variables.id + ' would make Flux dial ' + variables.url + ', which is not the registry of this cell (REGISTRY): REASON'"
- expression: "!has(object.spec.provider) || object.spec.provider == 'generic'"
  messageExpression: "variables.id + ' would make Flux log in to a cloud (spec.provider): REASON'"
- expression: "!has(object.spec.proxySecretRef) && !has(object.spec.verify)"
  messageExpression: "variables.id + ' would make Flux dial a proxy or a signature server (spec.proxySecretRef, spec.verify): REASON'"
- expression: "!has(object.spec.kubeConfig)"
  messageExpression: "variables.id + ' would make Flux use another cluster (spec.kubeConfig): REASON'"
- expression: "!has(object.spec.decryption)"
  messageExpression: "variables.id + ' would make Flux ask a key server (spec.decryption): REASON'"
- expression: "request.kind.kind != 'Kustomization' || variables.isRoot"
  messageExpression: "variables.id + ' would make Flux build another directory than the root of the bundle, and Kustomize fetches from any address that one names: REASON'"
`

const fluxProbe = `{apiVersion: source.toolkit.fluxcd.io/v1, kind: OCIRepository, metadata: {name: policy-probe, namespace: flux-system}, spec: {interval: 1h, url: "oci://policy.invalid/probe"}}`

func (p *Policy) objects() (policy, binding *unstructured.Unstructured, err error) {
	var rules map[string]any
	if err := yaml.UnmarshalStrict([]byte(p.rules), &rules); err != nil {
		return nil, nil, fmt.Errorf("read the admission policy %s: %w", p.name, err)
	}
	rules["failurePolicy"] = "Fail"
	object := func(kind string, spec map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": policyGVR.GroupVersion().String(), "kind": kind, "metadata": map[string]any{"name": p.name}, "spec": spec,
		}}
	}
	return object("ValidatingAdmissionPolicy", rules), object("ValidatingAdmissionPolicyBinding", map[string]any{
		"policyName": p.name, "validationActions": []any{"Deny"},
	}), nil
}

// Apply applies the policy. A nil policy does nothing.
func (p *Policy) Apply(ctx context.Context, c *infra.Clients) error {
	if p == nil {
		return nil
	}
	policy, binding, err := p.objects()
	if err != nil {
		return err
	}
	if err := c.Apply(ctx, policyGVR, policy); err != nil {
		return err
	}
	return c.Apply(ctx, bindingGVR, binding)
}

// WaitInForce waits until the API server rejects by the policy, at most 30 s: it takes a second to
// see a new one.
func (p *Policy) WaitInForce(ctx context.Context, c *infra.Clients) error {
	if p == nil {
		return nil
	}
	probe := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(p.probe), &probe.Object); err != nil {
		return fmt.Errorf("read the probe of the admission policy %s: %w", p.name, err)
	}
	err := wait.For(ctx, "the admission policy "+p.name, wait.Options{Budget: 30 * time.Second, Interval: 50 * time.Millisecond}, func(ctx context.Context) wait.Result {
		_, err := c.Dynamic.Resource(p.gvr).Namespace(probe.GetNamespace()).Create(ctx, probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		switch {
		case err == nil:
			return wait.NotYet("the API server still accepts what it rejects")
		case strings.Contains(err.Error(), p.name) && strings.Contains(err.Error(), policyReason):
			return wait.Done()
		case apierrors.IsInvalid(err) || apierrors.IsForbidden(err):
			return wait.Never(err)
		}
		return wait.NotYet("%v", err)
	})
	if err != nil {
		return err
	}
	p.installed, err = p.read(ctx, c)
	return err
}
