package intact

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// Before a delivery an object is tried in a namespace that exists. A refusal counts, unless it is of the name that the object has only
// because its own is taken, or what says it may be a policy of the bundle.
func TestEarly(t *testing.T) {
	refuse := func(w http.ResponseWriter, code int, reason, field string) {
		w.WriteHeader(code)
		_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d,"message":"no","details":{"causes":[{"field":%q}]}}`, reason, code, field)
	}
	clients := configMaps(t, func(w http.ResponseWriter, r *http.Request, name string, raw []byte) {
		if !strings.Contains(r.URL.Path, "/namespaces/default/") {
			t.Errorf("got %s %s", r.Method, r.URL)
		}
		switch name {
		case "taken":
			refuse(w, http.StatusConflict, "AlreadyExists", "")
		case "takez", "Name":
			refuse(w, http.StatusUnprocessableEntity, "Invalid", "metadata.name")
		case "wrong":
			refuse(w, http.StatusUnprocessableEntity, "Invalid", "data")
		case "forbidden":
			refuse(w, http.StatusForbidden, "Forbidden", "")
		default:
			_, _ = w.Write(raw)
		}
	})()
	want := map[string]string{"web": "", "taken": "", "wrong": "data", "Name": "metadata.name", "forbidden": ""}
	e := &bundle.Expectation{}
	for name := range want {
		e.Objects = append(e.Objects, bundle.Object{Object: testkit.Parsed(t, "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: "+name+"}, data: {a: b}}")})
	}
	answers, err := AskBefore(t.Context(), clients, e)
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
	if answers, err = AskBefore(t.Context(), clients, e); err != nil {
		t.Fatal(err)
	}
	for i, a := range answers {
		if a.Asked {
			t.Errorf("%s was asked about, and a policy may mend it", e.Objects[i].Ref())
		}
	}
}
