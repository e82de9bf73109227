package intact

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"k8s.io/client-go/rest"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// configMaps stands for an API server that has ConfigMaps and answers dry runs of their creation by create, which gets their names. It
// returns what makes clients of it.
func configMaps(t *testing.T, create func(w http.ResponseWriter, r *http.Request, name string, raw []byte)) func() *infra.Clients {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.Method == http.MethodPost:
			var o struct{ Metadata struct{ Name string } }
			raw, err := io.ReadAll(r.Body)
			if err != nil || json.Unmarshal(raw, &o) != nil || r.URL.Query().Get("dryRun") != "All" {
				t.Errorf("got %s %s: %v", r.Method, r.URL, err)
			}
			create(w, r, o.Metadata.Name, raw)
		case r.URL.Path == "/api":
			_, _ = io.WriteString(w, `{"kind":"APIVersions","versions":["v1"]}`)
		case r.URL.Path == "/apis":
			_, _ = io.WriteString(w, `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`)
		default:
			_, _ = io.WriteString(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"v1","resources":[{"name":"configmaps","kind":"ConfigMap","namespaced":true,"verbs":["get"]}]}`)
		}
	}))
	t.Cleanup(server.Close)
	return func() *infra.Clients {
		t.Helper()
		clients, err := infra.NewClientsFor(&rest.Config{Host: server.URL})
		if err != nil {
			t.Fatal(err)
		}
		return clients
	}
}

// Where this program has created the objects, and so has heard what they were warned of, a dry run can only say why an object is not
// live as it was rendered: it is asked about that one alone, and the others are no question that the time was too short for.
func TestAsk_Only(t *testing.T) {
	var mu sync.Mutex
	var asked []string
	clients := configMaps(t, func(w http.ResponseWriter, r *http.Request, name string, raw []byte) {
		mu.Lock()
		asked = append(asked, name)
		mu.Unlock()
		w.Header().Set("Warning", `299 - "it is old"`)
		_, _ = w.Write(raw)
	})
	object := func(text string) bundle.Object { return bundle.Object{Object: testkit.Parsed(t, text)} }
	e := &bundle.Expectation{Objects: []bundle.Object{
		object("{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: web}, data: {a: b}}"), object("{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: changed}, data: {a: b}}"),
		object("{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: differ}, data: {a: b}}"), object("{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: changed.example.com}}"),
	}}
	losses := &Losses{Differ: []result.Ref{e.Objects[2].Ref()}}
	for _, i := range []int{1, 3} {
		live := e.Objects[i].Object.DeepCopy()
		delete(live.Object, "data")
		live.SetLabels(nil)
		if i == 3 {
			e.Objects[i].Object.SetLabels(map[string]string{"a": "b"})
		}
		losses.Look(e.Objects[i:i+1], live, false)
	}
	ask := func(about func(*bundle.Object) bool) (*Answers, []infra.APIWarning) {
		t.Helper()
		asked = nil
		clients := clients()
		answers, err := Ask(t.Context(), clients, e.Objects, about)
		if err != nil || answers.Unasked != 0 {
			t.Fatalf("%v, %d not asked about in time", err, answers.Unasked)
		}
		slices.Sort(asked)
		return answers, clients.Warnings.Since(0)
	}
	known := map[result.Ref]bool{}
	for i := range e.Objects {
		known[e.Objects[i].Ref()] = true
	}
	answers, warnings := ask(losses.About(e, false, known))
	if strings.Join(asked, " ") != "changez diffez" { // under another name
		t.Errorf("asked about %q: want what is not live as it was rendered, and what the deployer calls different", asked)
	}
	if answers.of[0].known || !answers.of[1].known || !answers.of[2].known || len(warnings) != 2 {
		t.Errorf("got %+v, %v", answers.of, warnings)
	}
	if _, _ = ask(nil); len(asked) != 3 {
		t.Errorf("asked about %q: want all that is served", asked)
	}
	if _, _ = ask(losses.About(e, false, nil)); len(asked) != 3 {
		t.Errorf("asked about %q: want all, of which nothing is known", asked)
	}
}

// What may have come after an object, and has a say at its creation, makes it a question again: a policy and a webhook any object, a
// pod security level what is in its namespace. A quota and a limit change no object but pods, and warn of none.
func TestAbout(t *testing.T) {
	const all = "Deployment other/d Deployment x/d"
	for text, want := range map[string]string{
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: y, namespace: x}}":                                                           "",
		"{apiVersion: v1, kind: Namespace, metadata: {name: x}}":                                                                         "",
		"{apiVersion: v1, kind: Namespace, metadata: {name: x, labels: {pod-security.kubernetes.io/warn: baseline}}}":                    "Deployment x/d",
		"{apiVersion: v1, kind: Namespace, metadata: {name: x, labels: {pod-security.kubernetes.io/enforce: baseline}}}":                 "",
		"{apiVersion: v1, kind: ResourceQuota, metadata: {name: q, namespace: x}}":                                                       "",
		"{apiVersion: v1, kind: LimitRange, metadata: {name: l, namespace: x}}":                                                          "",
		"{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {name: p}}":                     all,
		"{apiVersion: admissionregistration.k8s.io/v1beta1, kind: MutatingAdmissionPolicyBinding, metadata: {name: p}}":                  all,
		"{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: only-where-programs-run}}": "",
	} {
		var e bundle.Expectation
		known := map[result.Ref]bool{}
		for _, o := range []string{text, "{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: other, name: d}}", "{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: x, name: d}}"} {
			e.Objects = append(e.Objects, bundle.Object{Object: testkit.Parsed(t, o)})
			known[e.Objects[len(e.Objects)-1].Ref()] = true
		}
		for webhooks, want := range map[bool]string{false: want, true: all} {
			about := (&Losses{}).About(&e, webhooks, known)
			var got []string
			for i := range e.Objects[1:] {
				if o := &e.Objects[i+1]; about(o) {
					got = append(got, o.Ref().String())
				}
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%s, webhooks %t: got %q, want %q", text, webhooks, got, want)
			}
		}
	}
}

// What one lane was warned of, another one is told of the same objects, and asks about no others: not of what is rendered otherwise,
// of a definition that values may have changed, or where a policy or an object that comes twice makes lanes differ.
func TestHeard(t *testing.T) {
	of := &chart.Chart{}
	object := func(text, template string) bundle.Object {
		return bundle.Object{Object: testkit.Parsed(t, text), Chart: of, Template: template}
	}
	const definition = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: %s.example.com}}"
	rendered := func() *bundle.Expectation {
		return &bundle.Expectation{Objects: []bundle.Object{
			object("{apiVersion: v1, kind: Secret, metadata: {namespace: ns, name: old}, data: {a: b}}", "c/templates/a.yaml"), object("{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: quiet}}", "c/templates/b.yaml"),
			object(fmt.Sprintf(definition, "file"), "c/crds/a.yaml"), object(fmt.Sprintf(definition, "template"), "c/templates/crds/a.yaml"),
		}}
	}
	here := &infra.Warnings{}
	for _, name := range []string{"Secret ns/old", "CustomResourceDefinition file.example.com", "CustomResourceDefinition template.example.com", "Application argocd/x"} {
		here.Add(infra.APIWarning{Object: name, Text: "it is old"})
	}
	tell := func(first, second *bundle.Expectation) string {
		h, there := &Heard{}, &infra.Warnings{}
		h.Keep(first, here)
		known := h.Tell(second, there)
		var got []string
		for i := range second.Objects {
			if known[second.Objects[i].Ref()] {
				got = append(got, second.Objects[i].Object.GetName())
			}
		}
		got = append(got, "warned:")
		for _, w := range there.Since(0) {
			got = append(got, w.String())
		}
		return strings.Join(got, " ")
	}
	if got, want := tell(rendered(), rendered()), "old quiet file.example.com warned: Secret ns/old: it is old CustomResourceDefinition file.example.com: it is old"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	changed := rendered()
	changed.Objects[0].Object.SetLabels(map[string]string{"a": "b"})
	changed.Objects[2].Chart = &chart.Chart{}
	if got, want := tell(rendered(), changed), "quiet warned:"; got != want {
		t.Errorf("rendered otherwise: got %q, want %q", got, want)
	}
	for _, more := range []string{"{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {name: p}}", "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: quiet}}"} {
		with := rendered()
		with.Objects = append(with.Objects, object(more, "c/templates/c.yaml"))
		if got := tell(with, rendered()) + tell(rendered(), with); got != "warned:warned:" {
			t.Errorf("with %s: got %q", more, got)
		}
	}
	if got := (*Heard)(nil).Tell(rendered(), here); len(got) > 0 {
		t.Errorf("nothing was heard, and it is known of %v", got)
	}
}
