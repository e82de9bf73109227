package charts

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/nvidia/aicr-action/internal/util/egress"
	"github.com/nvidia/aicr-action/internal/util/httpstatus"
)

// busyError is an answer that may be another one later.
type busyError struct {
	host, status string
	after        time.Duration // how long the server asks to wait; 0 if it does not
}

func (e *busyError) Error() string {
	if e.after > 0 {
		return fmt.Sprintf("%s answers %s, and asks to wait %s", e.host, e.status, e.after.Round(time.Second))
	}
	return fmt.Sprintf("%s answers %s", e.host, e.status)
}

// polite is what all requests go through: it notes the hosts, turns answers that may change into a
// busyError, and keeps credentials and TLS when a server redirects elsewhere.
type polite struct {
	base http.RoundTripper
	now  func() time.Time
}

func (t *polite) RoundTrip(r *http.Request) (*http.Response, error) {
	if from := r.Response; from != nil && from.Request != nil { // r is what a redirect leads to
		if from.Request.URL.Scheme == "https" && r.URL.Scheme != "https" {
			return nil, fmt.Errorf("%s redirects to %s, which is not encrypted", from.Request.URL.Host, r.URL.Redacted())
		}
		if !sameOrigin(from.Request.URL, r.URL) {
			r = r.Clone(r.Context())
			r.Header.Del("Authorization")
		}
	}
	if hosts, ok := r.Context().Value(hostsKey{}).(*hostSet); ok {
		hosts.add(r.URL)
	}
	resp, err := t.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	switch resp.StatusCode {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		_ = resp.Body.Close()
		return nil, &busyError{host: r.URL.Host, status: resp.Status, after: httpstatus.RetryAfter(resp.Header.Get("Retry-After"), t.now())}
	}
	return resp, nil
}

// sameOrigin compares hosts with their ports.
func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && egress.HostPort(a) == egress.HostPort(b)
}

// hostSet are the hosts of a download.
type hostSet struct {
	mu    sync.Mutex
	hosts []string
}

type hostsKey struct{}

func withHosts(ctx context.Context) (context.Context, *hostSet) {
	s := &hostSet{}
	return context.WithValue(ctx, hostsKey{}, s), s
}

func (s *hostSet) add(u *url.URL) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := egress.HostPort(u); !slices.Contains(s.hosts, h) {
		s.hosts = append(s.hosts, h)
	}
}

func (s *hostSet) list() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(slices.Values(s.hosts))
}

// attempts is how often something is asked for that may be another time.
const attempts = 5

// patiently calls do until it succeeds, or fails for good. It waits as the server asks, else 1 s
// and then twice as long each time, and gives up when the context's deadline would pass meanwhile.
func patiently(ctx context.Context, sleep func(context.Context, time.Duration) error, do func() error) error {
	pause := time.Second
	for attempt := 1; ; attempt++ {
		err := do()
		if err == nil || ctx.Err() != nil || !passing(err) {
			return err
		}
		if attempt == attempts {
			return fmt.Errorf("%w (asked %d times)", err, attempts)
		}
		var busy *busyError
		wait := pause
		if errors.As(err, &busy) && busy.after > 0 {
			wait = busy.after
		}
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < wait {
			return fmt.Errorf("%w, which is longer than a download may take (%s)", err, budget)
		}
		if sleep(ctx, wait) != nil {
			return err
		}
		pause *= 2
	}
}

// passing: the next attempt may go better.
func passing(err error) bool {
	var busy *busyError
	var timeout net.Error
	return errors.As(err, &busy) || errors.As(err, &timeout) && timeout.Timeout() || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
