package apis

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	apiversion "k8s.io/apimachinery/pkg/version"
)

// What client-go and Argo CD say of an object whose kind the API server does not serve in its version.
var (
	noMatches = regexp.MustCompile(`no matches for kind "(\w+)" in version "((?:[a-z0-9.-]+/)?v\w+)"`)
	noVersion = regexp.MustCompile(`could not find (?:version "(v\w+)" of )?(?:([a-z0-9.-]+)/)?(\w+) for requested resource`)
)

// movedTo are the groups that kinds of the group extensions, or the core group, have moved to.
var movedTo = map[string]string{
	"DaemonSet": "apps", "Deployment": "apps", "ReplicaSet": "apps", "Ingress": "networking.k8s.io", "NetworkPolicy": "networking.k8s.io",
}

// Unserved returns the kinds that a message says the API server does not serve, each once. Where
// no version is served Argo CD does not say which one was asked for.
func Unserved(message string) []schema.GroupVersionKind {
	var all []schema.GroupVersionKind
	add := func(gvk schema.GroupVersionKind) {
		if !slices.Contains(all, gvk) {
			all = append(all, gvk)
		}
	}
	for _, m := range noMatches.FindAllStringSubmatch(message, -1) {
		add(schema.FromAPIVersionAndKind(m[2], m[1]))
	}
	for _, m := range noVersion.FindAllStringSubmatch(message, -1) {
		add(schema.GroupVersionKind{Group: m[2], Version: m[1], Kind: m[3]})
	}
	return all
}

// ServedAs returns the apiVersion in which a cluster with these APIs serves a kind, the most stable and
// newest one; empty if it does not know the kind.
func ServedAs(all []API, kind schema.GroupKind) string {
	served := ""
	for _, group := range []string{kind.Group, movedTo[kind.Kind]} {
		for _, a := range all {
			at, ok := strings.CutSuffix(a.Name, "/"+kind.Kind)
			gv, err := schema.ParseGroupVersion(at)
			if ok && err == nil && gv.Group == group && (served == "" || apiversion.CompareKubeAwareVersionStrings(gv.Version, served[strings.LastIndex(served, "/")+1:]) > 0) {
				served = at
			}
		}
		if served != "" || group != "" && group != "extensions" {
			break
		}
	}
	return served
}

// changed reports whether a kind has other fields in the version that is served today than in those
// that are gone.
func changed(kind string) bool {
	return slices.Contains([]string{"Ingress", "CustomResourceDefinition", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}, kind)
}

// ServedNow says in which version a kind is served that was asked for in another one, and what to write; empty if it is served so,
// or in none.
func ServedNow(all []API, asked schema.GroupVersionKind) string {
	if (asked.GroupKind() == schema.GroupKind{Group: "policy", Kind: "PodSecurityPolicy"}) {
		return "Kubernetes has no PodSecurityPolicy since 1.25; edit: remove it, and label its namespaces with pod-security.kubernetes.io/enforce"
	}
	version, served := asked.GroupVersion().String(), ServedAs(all, asked.GroupKind())
	if served == "" || served == version || asked.Version == "" {
		return ""
	}
	line := fmt.Sprintf("%s is served as %s, and not as %s; edit: `apiVersion: %s`", asked.Kind, served, version, served)
	if changed(asked.Kind) {
		line += ", and its fields, which differ"
	}
	return line
}
