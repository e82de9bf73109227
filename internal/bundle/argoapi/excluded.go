package argoapi

// excluded.go names the kinds of objects that Argo CD leaves out of every Application: what it
// does not watch, it neither compares nor applies. It must not know clusters or recipes.

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// excludedRule is an entry of Argo CD's setting resource.exclusions: these kinds of these groups; without
// kinds, all.
type excludedRule struct {
	APIGroups []string `json:"apiGroups"`
	Kinds     []string `json:"kinds,omitempty"`
}

// builtIn are excluded whatever the settings say (util/settings/resources_filter.go of Argo CD).
var builtIn = []excludedRule{
	{APIGroups: []string{"events.k8s.io", "metrics.k8s.io"}},
	{APIGroups: []string{""}, Kinds: []string{"Event"}},
	{APIGroups: []string{"coordination.k8s.io"}, Kinds: []string{"Lease"}},
}

// byDefault are what Argo CD's manifests and its Helm chart have in resource.exclusions, since
// version 3.0 (https://argo-cd.readthedocs.io/en/stable/operator-manual/upgrading/2.14-3.0/).
var byDefault = []excludedRule{
	{APIGroups: []string{"", "discovery.k8s.io"}, Kinds: []string{"Endpoints", "EndpointSlice"}},
	{APIGroups: []string{"coordination.k8s.io"}, Kinds: []string{"Lease"}},
	{APIGroups: []string{"authentication.k8s.io", "authorization.k8s.io"}, Kinds: []string{"SelfSubjectReview", "TokenReview", "LocalSubjectAccessReview", "SelfSubjectAccessReview", "SelfSubjectRulesReview", "SubjectAccessReview"}},
	{APIGroups: []string{"certificates.k8s.io"}, Kinds: []string{"CertificateSigningRequest"}},
	{APIGroups: []string{"cert-manager.io"}, Kinds: []string{"CertificateRequest"}},
	{APIGroups: []string{"cilium.io"}, Kinds: []string{"CiliumIdentity", "CiliumEndpoint", "CiliumEndpointSlice"}},
	{APIGroups: []string{"kyverno.io", "reports.kyverno.io", "wgpolicyk8s.io"}, Kinds: []string{"PolicyReport", "ClusterPolicyReport", "EphemeralReport", "ClusterEphemeralReport", "AdmissionReport", "ClusterAdmissionReport", "BackgroundScanReport", "ClusterBackgroundScanReport", "UpdateRequest"}},
}

// ExclusionsSetting is the value of resource.exclusions in Argo CD's settings as it is installed.
func ExclusionsSetting() string {
	text, err := yaml.Marshal(byDefault)
	if err != nil {
		panic("exclusions that are no YAML: " + err.Error()) // lists of constant strings
	}
	return string(text)
}

// How Argo CD came to exclude a kind.
const (
	NotExcluded       = ""
	DefaultExclusions = "by default (resource.exclusions in its settings)"
	excludedAlways    = "always, whatever its settings are"
)

// ExclusionOf says how Argo CD excludes a kind; Not if it does not.
func ExclusionOf(gk schema.GroupKind) string {
	has := func(rules []excludedRule) bool {
		return slices.ContainsFunc(rules, func(r excludedRule) bool {
			return slices.Contains(r.APIGroups, gk.Group) && (len(r.Kinds) == 0 || slices.Contains(r.Kinds, gk.Kind))
		})
	}
	switch {
	case has(builtIn):
		return excludedAlways
	case has(byDefault):
		return DefaultExclusions
	}
	return NotExcluded
}
