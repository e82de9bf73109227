package infra

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
)

// Warnings are what the API server warned of when this program wrote an object: a deprecated API, a
// field that it does not know. Each is kept once for each object. The zero value is ready; a nil
// one keeps nothing.
type Warnings struct {
	mu  sync.Mutex
	all []APIWarning
}

// APIWarning is one warning about one object.
type APIWarning struct{ Object, Text string }

// Watch makes the clients of a configuration report here. Warnings about what is only read are left
// out: they are about this program. So are those about a dry run, in which nothing is written.
func (w *Warnings) Watch(cfg *rest.Config) {
	if w != nil {
		cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return warningTransport{w, next} })
	}
}

// Len is how many there are; the argument of Since.
func (w *Warnings) Len() int { return len(w.Since(0)) }

// Since are the warnings after the first so many, in the order in which they came.
func (w *Warnings) Since(n int) []APIWarning {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.all[min(n, len(w.all)):])
}

// Grouped are the texts in the order in which they came, each with the objects that it is about, as "Kind
// namespace/name". Those of except are left out.
func (w *Warnings) Grouped(except ...string) []WarningGroup {
	var all []WarningGroup
	for _, one := range w.Since(0) {
		if slices.Contains(except, one.Object) {
			continue
		}
		i := slices.IndexFunc(all, func(g WarningGroup) bool { return g.Text == one.Text })
		if i < 0 {
			i, all = len(all), append(all, WarningGroup{Text: one.Text})
		}
		all[i].Objects = append(all[i].Objects, one.Object)
	}
	return all
}

// WarningGroup is one text of the API server's, and the objects that it is about.
type WarningGroup struct {
	Text    string
	Objects []string
}

// Add keeps a warning that came to another process.
func (w *Warnings) Add(one APIWarning) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Contains(w.all, one) {
		w.all = append(w.all, one)
	}
}

// UnknownField reports whether the API server dropped a field that it does not know. Server-side
// apply refuses such an object.
func (w APIWarning) UnknownField() bool { return strings.HasPrefix(w.Text, "unknown field ") }

func (w APIWarning) String() string { return w.Object + ": " + w.Text }

type warningTransport struct {
	to   *Warnings
	next http.RoundTripper
}

func (t warningTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(req)
	if err != nil || len(resp.Header["Warning"]) == 0 || req.URL.Query().Has("dryRun") {
		return resp, err
	}
	switch req.Method {
	case http.MethodPost, http.MethodPut, http.MethodPatch:
		found, _ := utilnet.ParseWarningHeaders(resp.Header["Warning"]) // what cannot be read says nothing
		for _, h := range found {
			t.to.Add(APIWarning{written(req), h.Text})
		}
	}
	return resp, nil
}

// written names the object of a request, or its URL where the body cannot be read again.
func written(req *http.Request) string {
	var o struct {
		Kind     string
		Metadata struct{ Namespace, Name, GenerateName string }
	}
	if req.GetBody == nil {
		return req.URL.Path
	}
	body, err := req.GetBody()
	if err != nil {
		return req.URL.Path
	}
	defer func() { _ = body.Close() }()
	raw, err := io.ReadAll(body)
	if err != nil || json.Unmarshal(raw, &o) != nil || o.Kind == "" {
		return req.URL.Path
	}
	name := o.Metadata.Name
	if name == "" {
		name = o.Metadata.GenerateName
	}
	namespace := o.Metadata.Namespace
	if namespace == "" { // a client may say it in the URL alone
		if _, rest, ok := strings.Cut(req.URL.Path, "/namespaces/"); ok && o.Kind != "Namespace" {
			namespace, _, _ = strings.Cut(rest, "/")
		}
	}
	return o.Kind + " " + NamespacedName(namespace, name)
}
