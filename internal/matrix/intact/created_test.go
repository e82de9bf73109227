package intact

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// What denies an object counts if it is the recipe's own and comes before the object: a policy of an earlier
// release, a quota of the same one. An object that was there first is created before it everywhere.
func TestRefusedCreated(t *testing.T) {
	const (
		byPolicy = "ValidatingAdmissionPolicy 'p' with binding 'p' denied request: no"
		byQuota  = "exceeded quota: q, requested: count/configmaps=1, used: count/configmaps=3, limited: count/configmaps=2"
		policy   = "{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: p}}"
		quota    = "{apiVersion: v1, kind: ResourceQuota, metadata: {name: q, namespace: ns}}"
	)
	says, asked := "", 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer := func(v any) { _ = json.NewEncoder(w).Encode(v) }
		switch r.URL.Path {
		case "/api":
			answer(metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}})
		case "/apis":
			answer(metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}})
		case "/api/v1":
			answer(metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: "v1", APIResources: []metav1.APIResource{{Name: "configmaps", Kind: "ConfigMap", Namespaced: true, Verbs: []string{"create"}}}})
		default:
			if r.Method != http.MethodPost || !strings.Contains(r.URL.RawQuery, "dryRun=All") {
				t.Errorf("%s %s: want a creation in a dry run", r.Method, r.URL)
			}
			asked++
			w.WriteHeader(http.StatusForbidden)
			answer(metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure", Message: `configmaps "x" is forbidden: ` + says, Code: http.StatusForbidden})
		}
	}))
	defer server.Close()
	cfg := &rest.Config{Host: server.URL}
	clients := &infra.Clients{Config: cfg, Kube: kubernetes.NewForConfigOrDie(cfg), Discovery: discovery.NewDiscoveryClientForConfigOrDie(cfg)}
	of := func(release, text string) bundle.Object {
		return bundle.Object{Component: release, Release: release, Object: testkit.Parsed(t, text)}
	}
	hook := of("a", "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: x}}")
	object, later := hook, hook
	hook.Hook, later.Release, later.Component = true, "b", "b"
	for name, c := range map[string]struct {
		says string
		by   bundle.Object
		of   bundle.Object
		want bool
		asks int // whether there is a question at all
	}{
		"a policy before":              {byPolicy, of("a", policy), later, true, 1},
		"a policy beside":              {byPolicy, of("a", policy), object, false, 0},
		"a policy after":               {byPolicy, of("b", policy), object, false, 0},
		"a policy of somebody else":    {byPolicy, of("a", strings.Replace(policy, "name: p", "name: o", 1)), later, false, 1},
		"a quota beside":               {byQuota, of("a", quota), object, true, 1},
		"a quota beside a hook":        {byQuota, of("a", quota), hook, false, 0},
		"a quota that is used up":      {strings.Replace(byQuota, "used: count/configmaps=3", "used: count/configmaps=2", 1), of("a", quota), object, false, 1},
		"a quota after":                {byQuota, of("b", quota), object, false, 0},
		"a quota of another namespace": {byQuota, of("a", strings.Replace(quota, "namespace: ns", "namespace: other", 1)), object, false, 0},
		"a name that is there by now":  {"already exists", of("a", quota), object, false, 1},
	} {
		says, asked = c.says, 0
		e := &bundle.Expectation{Objects: []bundle.Object{c.by, c.of}, Releases: []bundle.Release{{Name: "a"}, {Name: "b"}}}
		all, err := refusedCreated(t.Context(), clients, e)
		if err != nil {
			t.Fatal(err)
		}
		if asked != c.asks {
			t.Errorf("%s: asked %d times, want %d", name, asked, c.asks)
		}
		found := refusalFindings(e, all)
		if (len(found) == 1) != c.want || len(found) > 1 {
			t.Errorf("%s: got %+v, want %v", name, found, c.want)
			continue
		}
		if c.want && (!strings.HasPrefix(found[0].Cause, "ConfigMap ns/x ("+c.of.Component+"): the API server would reject its creation: ") || !strings.Contains(found[0].Story[1], "created before that was in force")) {
			t.Errorf("%s: got %+v", name, found[0])
		}
	}
}
