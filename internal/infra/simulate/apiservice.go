package simulate

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	stdlog "log"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/util/cert"
)

// APIServiceStandIn stands in for the servers of aggregated APIs, whose pods are simulated. An
// APIService without a server makes every discovery partial, blocks the deletion of namespaces and
// slows all controllers (faults F36).
//
// It listens on the socket through which the API server dials Services, accepts CONNECT to any of
// them, and serves an API group with no resources. It also converts custom resources, in place of
// webhooks (ServeConversions). An APIService that verifies its server's
// certificate (caBundle) stays unavailable, as it would be without the stand-in.
type APIServiceStandIn struct {
	server   *http.Server
	listener net.Listener
	done     chan struct{}

	mu      sync.Mutex
	used    map[string]bool
	kubelet http.Handler
	// certificate returns the one for a Service's host; nil if all have the stand-in's.
	certificate func(host string) (*tls.Certificate, error)
	converted   []string
}

// Route returns the real address for a host:port that the API server dials, or false if the
// stand-in is to answer. An error is the API server's: what is behind the address does not answer
// now.
type Route func(address string) (string, bool, error)

// StartAPIServiceStandIn listens on the socket until Close. The API server also dials kubelets and
// webhooks through it: route, if set, says which of these are there.
func StartAPIServiceStandIn(socket string, route Route) (*APIServiceStandIn, error) {
	certificate, err := selfSigned()
	if err != nil {
		return nil, fmt.Errorf("make a certificate for the stand-in of aggregated APIs: %w", err)
	}
	if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("free the socket %s: %w", socket, err)
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		return nil, fmt.Errorf("listen on %s for the API server: %w", socket, err)
	}
	s := &APIServiceStandIn{listener: l, done: make(chan struct{}), used: map[string]bool{}}
	conns := newConnListener(l.Addr())
	quiet := stdlog.New(io.Discard, "", 0)
	inner := &http.Server{Handler: http.HandlerFunc(s.serveAPI), ReadHeaderTimeout: 10 * time.Second, ErrorLog: quiet}
	config := &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12, GetCertificate: s.certificateOf}
	s.server = &http.Server{ReadHeaderTimeout: 10 * time.Second, ErrorLog: quiet, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			http.Error(w, "only CONNECT", http.StatusMethodNotAllowed)
			return
		}
		var behind net.Conn
		if route != nil {
			address, real, err := route(r.Host)
			if err != nil {
				refuse(w, err)
				return
			}
			if real {
				if behind, err = (&net.Dialer{Timeout: 10 * time.Second}).DialContext(r.Context(), "tcp", address); err != nil {
					http.Error(w, err.Error(), http.StatusBadGateway)
					return
				}
			}
		}
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		if _, err := io.WriteString(conn, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
			_ = conn.Close()
			return
		}
		if behind != nil {
			join(conn, behind)
			return
		}
		conns.give(tls.Server(conn, config))
	})}
	go func() { _ = inner.Serve(conns) }()
	go func() {
		defer close(s.done)
		_ = s.server.Serve(l) // ends with Close
		_ = inner.Close()
		_ = conns.Close()
	}()
	return s, nil
}

// refuse answers with an error's text as the reason of the status, which is all that the API server
// passes on.
func refuse(w http.ResponseWriter, err error) {
	conn, _, hijacked := http.NewResponseController(w).Hijack()
	if hijacked != nil {
		return
	}
	text := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return ' '
		}
		return r
	}, err.Error())
	_, _ = fmt.Fprintf(conn, "HTTP/1.1 502 %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", text) // the API server may have hung up
	_ = conn.Close()
}

// ServeKubelet hands requests for the logs of containers to h. The API server dials the kubelets of
// simulated nodes here too.
func (s *APIServiceStandIn) ServeKubelet(h http.Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kubelet = h
}

// Close ends the stand-in.
func (s *APIServiceStandIn) Close() {
	_ = s.server.Close()
	<-s.done
}

// Used lists the API groups that it has served, as group/version.
func (s *APIServiceStandIn) Used() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for gv := range s.used {
		all = append(all, gv)
	}
	return all
}

func (s *APIServiceStandIn) serveAPI(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if s.convert(w, r) {
		return
	}
	var body any
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case parts[0] == "containerLogs": // a kubelet's (pkg/registry/core/pod/strategy.go, LogLocation)
		s.mu.Lock()
		kubelet := s.kubelet
		s.mu.Unlock()
		if kubelet != nil {
			kubelet.ServeHTTP(w, r)
			return
		}
		// The API server passes the text of this code on, and of no other.
		http.Error(w, "the pod is simulated: its containers do not run, and have no log", http.StatusBadRequest)
		return
	case len(parts) == 3 && parts[0] == "apis":
		gv := parts[1] + "/" + parts[2]
		s.mu.Lock()
		s.used[gv] = true
		s.mu.Unlock()
		body = map[string]any{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": gv, "resources": []any{}}
	case r.URL.Path == "/openapi/v2":
		body = map[string]any{"swagger": "2.0", "info": map[string]any{"title": "stand-in", "version": "0"}, "paths": map[string]any{}}
	case r.URL.Path == "/openapi/v3":
		body = map[string]any{"paths": map[string]any{}}
	default:
		http.Error(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,"message":"the server of this API is simulated"}`, http.StatusNotFound)
		return
	}
	_ = json.NewEncoder(w).Encode(body) // an error means that the client has disconnected
}

// join copies both ways until one side ends, and closes both.
func join(a, b net.Conn) {
	var once sync.Once
	end := func() { _ = a.Close(); _ = b.Close() }
	for _, pair := range [][2]net.Conn{{a, b}, {b, a}} {
		go func() {
			_, _ = io.Copy(pair[0], pair[1]) // either side may hang up
			once.Do(end)
		}()
	}
}

// connListener hands accepted connections to an http.Server.
type connListener struct {
	conns chan net.Conn
	ctx   context.Context
	stop  context.CancelFunc
	addr  net.Addr
}

func newConnListener(addr net.Addr) *connListener {
	ctx, stop := context.WithCancel(context.Background())
	return &connListener{conns: make(chan net.Conn), ctx: ctx, stop: stop, addr: addr}
}

func (l *connListener) give(c net.Conn) {
	select {
	case l.conns <- c:
	case <-l.ctx.Done():
		_ = c.Close()
	}
}

func (l *connListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.ctx.Done():
		return nil, net.ErrClosed
	}
}

func (l *connListener) Close() error   { l.stop(); return nil }
func (l *connListener) Addr() net.Addr { return l.addr }

// selfSigned is the certificate of every stand-in of this program. All share one, since no client
// verifies it, and generating an RSA key takes a fifth of a second of CPU time.
var selfSigned = sync.OnceValues(func() (tls.Certificate, error) {
	certificate, key, err := cert.GenerateSelfSignedCertKey("localhost", nil, nil)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(certificate, key)
})
