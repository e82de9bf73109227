package intact

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// Before a delivery an object is tried in a namespace that exists. A refusal counts, unless it is of the name that the object has only
// because its own is taken, or what says it may be a policy of the bundle.
func TestEarly(t *testing.T) {
	refuse := func(w http.ResponseWriter, code int, reason, field string) {
		w.WriteHeader(code)
		_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d,"message":"no","details":{"causes":[{"field":%q}]}}`, reason, code, field)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.Method == http.MethodPost:
			var o struct{ Metadata struct{ Name string } }
			raw, err := io.ReadAll(r.Body)
			if err != nil || json.Unmarshal(raw, &o) != nil || r.URL.Query().Get("dryRun") != "All" || !strings.Contains(r.URL.Path, "/namespaces/default/") {
				t.Errorf("got %s %s: %v", r.Method, r.URL, err)
			}
			switch o.Metadata.Name {
			case "taken":
				refuse(w, http.StatusConflict, "AlreadyExists", "")
			case "takez":
				refuse(w, http.StatusUnprocessableEntity, "Invalid", "metadata.name")
			case "wrong":
				refuse(w, http.StatusUnprocessableEntity, "Invalid", "data")
			case "Name":
				refuse(w, http.StatusUnprocessableEntity, "Invalid", "metadata.name")
			case "forbidden":
				refuse(w, http.StatusForbidden, "Forbidden", "")
			default:
				_, _ = w.Write(raw)
			}
		case r.URL.Path == "/api":
			_, _ = io.WriteString(w, `{"kind":"APIVersions","versions":["v1"]}`)
		case r.URL.Path == "/apis":
			_, _ = io.WriteString(w, `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`)
		default:
			_, _ = io.WriteString(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"v1","resources":[{"name":"configmaps","kind":"ConfigMap","namespaced":true,"verbs":["get"]}]}`)
		}
	}))
	t.Cleanup(server.Close)
	clients, err := infra.NewClientsFor(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"web": "", "taken": "", "wrong": "data", "Name": "metadata.name", "forbidden": ""}
	e := &bundle.Expectation{}
	for name := range want {
		e.Objects = append(e.Objects, bundle.Object{Object: testkit.Parsed(t, "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: "+name+"}, data: {a: b}}")})
	}
	answers, err := Early(t.Context(), clients, e)
	if err != nil {
		t.Fatal(err)
	}
	for i := range e.Objects {
		name := e.Objects[i].Object.GetName()
		if a := answers[i]; a.Field != want[name] || (a.Refused != "") != (want[name] != "") || len(a.Dropped) > 0 || e.Objects[i].Object.GetNamespace() != "ns" {
			t.Errorf("%s: got %+v, want it refused for %q", name, a, want[name])
		}
	}
	e.Objects = append(e.Objects, bundle.Object{Object: testkit.Parsed(t, "{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingAdmissionPolicyBinding, metadata: {name: m}}")})
	if answers, err = Early(t.Context(), clients, e); err != nil {
		t.Fatal(err)
	}
	for i, a := range answers {
		if a.Asked {
			t.Errorf("%s was asked about, and a policy may mend it", e.Objects[i].Ref())
		}
	}
}
