package intact

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// Policies are in force once our own, which comes after them, is heard, however long that takes and
// whatever another policy says of the same object; and ours are removed.
func TestCanary(t *testing.T) {
	const validating = `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: p}}`
	for name, c := range map[string]struct {
		has     string
		after   int // tries until it is heard; 0 for never
		denied  bool
		objects int
	}{
		"at once":           {validating, 1, false, 2},
		"late":              {validating, 4, false, 2},
		"denied by another": {validating, 2, true, 2},
		"never":             {validating, 0, true, 2},
		"one that changes":  {`{apiVersion: admissionregistration.k8s.io/v1beta1, kind: MutatingAdmissionPolicy, metadata: {name: p}}`, 2, false, 4},
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			tries, labelled := 0, false
			var made, gone []string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				w.Header().Set("Content-Type", "application/json")
				switch {
				case r.Method == http.MethodPatch:
					made = append(made, r.URL.Path)
				case r.Method == http.MethodDelete:
					gone = append(gone, r.URL.Path)
				case strings.HasSuffix(r.URL.Path, "/configmaps"):
					var o struct{ Metadata metav1.ObjectMeta }
					_ = json.NewDecoder(r.Body).Decode(&o)
					labelled = o.Metadata.Labels[canaryName] != ""
					if tries++; !strings.Contains(r.URL.RawQuery, "dryRun=All") {
						t.Errorf("got %s: want a dry run", r.URL)
					}
					if tries == c.after {
						w.Header().Add("Warning", `299 - "Validation failed for ValidatingAdmissionPolicy '`+canaryName+`' with binding '`+canaryName+`': in force"`)
					}
					if c.denied {
						w.WriteHeader(http.StatusUnprocessableEntity)
						_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure", Message: "denied", Code: http.StatusUnprocessableEntity})
						return
					}
				}
				_, _ = w.Write([]byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"}}`))
			}))
			defer server.Close()
			cfg := &rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
			client, err := dynamic.NewForConfig(cfg)
			if err != nil {
				t.Fatal(err)
			}
			e := &bundle.Expectation{Objects: []bundle.Object{{Object: testkit.Parsed(t, c.has)}}}
			budget := time.Minute
			if c.after == 0 {
				budget = 300 * time.Millisecond
			}
			err = canary(t.Context(), &infra.Clients{Config: cfg, Dynamic: client}, e, budget)
			if (err == nil) != (c.after > 0) || c.after > 0 && tries != c.after {
				t.Errorf("got %v after %d tries, want it after %d", err, tries, c.after)
			}
			slices.Sort(made)
			slices.Sort(gone)
			if len(made) != c.objects || !slices.Equal(made, gone) {
				t.Errorf("made %v, removed %v: want %d, and all removed", made, gone, c.objects)
			}
			if changes := c.objects > 2; labelled == changes {
				t.Errorf("the object has the label: %v, and a policy of ours gives it: %v", labelled, changes)
			}
		})
	}
}
