// Package apis says which APIs charts see in .Capabilities.APIVersions: the format of their list,
// and what a definition adds to it. It must not know charts, deployers or clusters.
package apis

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"
	apiversion "k8s.io/apimachinery/pkg/version"
)

// API is one entry of .Capabilities.APIVersions.
type API struct {
	Name string // group/version or group/version/Kind, e.g. v1, apps/v1, apps/v1/Deployment
	// Watched: its objects can be listed and watched. Argo CD passes no other entry on to Helm.
	Watched bool
}

// APIs are what charts see in .Capabilities.APIVersions, besides what the releases of the bundle
// add. The zero value stands for Helm's own list, which `helm template` takes where there is no
// cluster.
type APIs struct {
	// Server is what the API server of a fresh cluster serves. ArgoCD and Flux are what the CRDs of
	// their controllers add.
	Server, ArgoCD, Flux []API
}

// The list is generated: a test on the real stack compares it with the discovery of a cluster, and
// writes it with -update.
//
//go:embed api-versions.txt
var stackList string

// Stack are the APIs of the stack's clusters.
var Stack = sync.OnceValue(func() APIs {
	all, err := parse(stackList)
	if err != nil {
		panic(fmt.Sprintf("api-versions.txt: %v", err)) // a unit test reads it
	}
	return all
})

// since is the first minor version of Kubernetes that serves an API of the stack's version by
// default, as far as an older one that can be chosen does not.
func since(a API) uint {
	if strings.HasPrefix(a.Name, "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy") {
		return 36
	}
	return 0
}

// later are the APIs that newer versions than the stack's serve by default, by the first minor
// version that does. Each can be watched.
func later() map[uint][]string {
	return map[uint][]string{37: {
		"certificates.k8s.io/v1/ClusterTrustBundle", "certificates.k8s.io/v1/PodCertificateRequest", "resource.k8s.io/v1/DeviceTaintRule",
		"storagemigration.k8s.io/v1", "storagemigration.k8s.io/v1/StorageVersionMigration",
	}}
}

// Of returns the APIs of clusters with the stack's parts, but this version of Kubernetes, e.g.
// v1.34.4.
func Of(kubernetes string) APIs {
	all := Stack()
	v, err := version.ParseGeneric(kubernetes)
	if err != nil {
		return all
	}
	all.Server = slices.DeleteFunc(slices.Clone(all.Server), func(a API) bool { return since(a) > v.Minor() })
	for minor, names := range later() {
		for _, name := range names {
			if minor <= v.Minor() {
				all.Server = append(all.Server, API{name, true})
			}
		}
	}
	return all
}

// parse reads the format of api-versions.txt: a section for each field of APIs, and an entry a
// line, with " -" after those that are not Watched. A line whose first character is # is a comment.
func parse(text string) (APIs, error) {
	var apis APIs
	sections := map[string]*[]API{"[server]": &apis.Server, "[argocd]": &apis.ArgoCD, "[flux]": &apis.Flux}
	var into *[]API
	for i, line := range strings.Split(text, "\n") {
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "["):
			if into = sections[line]; into == nil {
				return APIs{}, fmt.Errorf("line %d: unknown section %s", i+1, line)
			}
		case into == nil:
			return APIs{}, fmt.Errorf("line %d: %q is in no section", i+1, line)
		default:
			name, unwatched := strings.CutSuffix(line, " -")
			*into = append(*into, API{name, !unwatched})
		}
	}
	return apis, nil
}

// ServedBy lists what a CustomResourceDefinition or an APIService adds to the APIs that charts see.
func ServedBy(obj *unstructured.Unstructured) []API {
	switch gk := obj.GroupVersionKind().GroupKind(); gk.String() {
	case "CustomResourceDefinition.apiextensions.k8s.io":
		return servedByCRD(obj)
	case "APIService.apiregistration.k8s.io":
		group, _, _ := unstructured.NestedString(obj.Object, "spec", "group")
		version, _, _ := unstructured.NestedString(obj.Object, "spec", "version")
		if _, behind, _ := unstructured.NestedMap(obj.Object, "spec", "service"); behind && group != "" && version != "" {
			return []API{{group + "/" + version, false}} // which kinds it has is known to the server behind it only
		}
	}
	return nil
}

// DefinedBy is the kind that a CustomResourceDefinition defines; zero for another object.
func DefinedBy(obj *unstructured.Unstructured) schema.GroupKind {
	if obj.GetKind() != "CustomResourceDefinition" {
		return schema.GroupKind{}
	}
	group, _, _ := unstructured.NestedString(obj.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(obj.Object, "spec", "names", "kind")
	return schema.GroupKind{Group: group, Kind: kind}
}

// Defines reports whether an object is the definition of a kind.
func Defines(obj *unstructured.Unstructured, kind schema.GroupKind) bool {
	return !kind.Empty() && DefinedBy(obj) == kind
}

// servedByCRD: of the versions of a kind, Argo CD's cluster cache watches the newest stable one.
func servedByCRD(obj *unstructured.Unstructured) []API {
	defined := DefinedBy(obj)
	versions, _, _ := unstructured.NestedSlice(obj.Object, "spec", "versions")
	var served []string
	for _, v := range versions {
		if m, ok := v.(map[string]any); ok && m["served"] == true {
			served = append(served, m["name"].(string))
		}
	}
	slices.SortStableFunc(served, func(a, b string) int { return apiversion.CompareKubeAwareVersionStrings(b, a) })
	var out []API
	for i, v := range served {
		gv := defined.Group + "/" + v
		out = append(out, API{gv, i == 0}, API{gv + "/" + defined.Kind, i == 0})
	}
	return out
}

var (
	asksAPIs = regexp.MustCompile(`\.APIVersions\b`)
	asksAPI  = regexp.MustCompile("\\.APIVersions\\.Has\\s+(?:\"([^\"]*)\"|`([^`]*)`)")
)

// Tell reports whether one of the templates may render differently with two lists of API names:
// whether it tests for a name that only one list has. A template that uses the list for more than
// tests of literal names may.
func Tell(templates, here, there []string) bool {
	for _, text := range templates {
		literal := asksAPI.FindAllStringSubmatch(text, -1)
		if len(literal) < len(asksAPIs.FindAllString(text, -1)) {
			return true
		}
		for _, m := range literal {
			if name := m[1] + m[2]; slices.Contains(here, name) != slices.Contains(there, name) {
				return true
			}
		}
	}
	return false
}
