package apiproxy

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// helm-controller waits for a release by reading its objects, one after the other, every 5 s
// (internal/action/wait.go; no flag changes that). What is not ready in one round is noticed 5 s
// later at the earliest.

// hold are the rules for Flux: the read of an object that is not settled is answered when it is, or
// when the reads of its release have been held as long as may be. The answer is always what the API
// server says at that moment.
type hold struct {
	proxy *Proxy
	// longest is how long the reads of one round are held, all together: no round takes longer than
	// until the next one. next is when a read belongs to the next round.
	longest, next time.Duration

	mu     sync.Mutex
	rounds map[string]time.Time // when the first read of a release was held in its round
}

func newHold(p *Proxy) *hold {
	return &hold{proxy: p, rounds: map[string]time.Time{}, longest: 4 * time.Second, next: 4500 * time.Millisecond}
}

func (h *hold) modify(*http.Response) error { return nil }
func (h *hold) close()                      {}

// target is an object that a path names.
type target struct{ group, resource, collection, name string }

// targetOf reads /api/VERSION/… and /apis/GROUP/VERSION/…, without subresources.
func targetOf(path string) (target, bool) {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	var t target
	switch {
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		t.group, parts = parts[1], parts[3:]
	default:
		return t, false
	}
	if len(parts) == 4 && parts[0] == "namespaces" {
		parts = parts[2:]
	}
	if len(parts) != 2 || parts[1] == "" {
		return t, false
	}
	t.resource, t.name, t.collection = parts[0], parts[1], strings.TrimSuffix(path, "/"+parts[1])
	return t, true
}

// waitedFor reports whether helm-controller may wait for the status of such an object. The proxy
// never holds Flux's own objects, which helm-controller itself works on, and objects of groups
// whose status does not show whether they are ready.
func (t target) waitedFor() bool {
	if t.group == "" {
		return t.resource == "pods" || t.resource == "persistentvolumeclaims"
	}
	return !strings.HasSuffix(t.group, ".toolkit.fluxcd.io") &&
		!slices.Contains([]string{"coordination.k8s.io", "authentication.k8s.io", "authorization.k8s.io", "events.k8s.io", "rbac.authorization.k8s.io"}, t.group)
}

func (h *hold) serve(w http.ResponseWriter, r *http.Request) bool {
	t, ok := targetOf(r.URL.Path)
	if !ok || !t.waitedFor() || r.Method != http.MethodGet || r.URL.RawQuery != "" {
		return false
	}
	resp, body, err := h.proxy.read(r, nil)
	var o object
	if err == nil && resp.StatusCode == http.StatusOK && isJSON(resp.Header) && json.Unmarshal(body, &o) == nil && !o.settled() {
		if start, until := time.Now(), h.until(o.release()); start.Before(until) {
			h.wait(r, t, o.GetResourceVersion(), until)
			h.proxy.log.Printf("%s: held for %s", r.URL.Path, time.Since(start).Round(time.Millisecond))
			resp, body, err = h.proxy.read(r, nil)
		}
	}
	if err != nil {
		h.proxy.unreachable(w, r, err)
		return true
	}
	_ = write(w, resp, body) // the client may have disconnected
	return true
}

// until is when the reads of a release are not held any longer in this round.
func (h *hold) until(release string) time.Time {
	now := time.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	if now.Sub(h.rounds[release]) >= h.next {
		h.rounds[release] = now
	}
	return h.rounds[release].Add(h.longest)
}

// wait watches an object until it is settled or deleted. Any end of the watch ends the wait.
func (h *hold) wait(r *http.Request, t target, version string, until time.Time) {
	ctx, cancel := context.WithDeadline(r.Context(), until)
	defer cancel()
	query := url.Values{"watch": {"true"}, "fieldSelector": {"metadata.name=" + t.name}, "resourceVersion": {version}}
	resp, err := h.proxy.get(ctx, r.Header, t.collection, query, map[string]string{"Accept": "application/json"})
	if err != nil {
		return
	}
	defer func() { _ = resp.Body.Close() }() // it was read as far as needed
	for events := newEvents(resp.Body); resp.StatusCode == http.StatusOK; {
		line, err := events.ReadBytes('\n')
		var e struct {
			Type   string `json:"type"`
			Object object `json:"object"`
		}
		if err != nil || json.Unmarshal(line, &e) != nil || e.Type != "ADDED" && e.Type != "MODIFIED" || e.Object.settled() {
			return
		}
	}
}
