package testkit

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"slices"
	"sync"
	"testing"
)

// Proxy is an HTTP proxy without logins, and the hosts (HOST:PORT) that it was asked for, in their
// order. All its connections lead to one server; if to is empty, each to its own.
func Proxy(t *testing.T, to string) (address string, asked func() []string) {
	t.Helper()
	var mu sync.Mutex
	var hosts []string
	forward := &httputil.ReverseProxy{Transport: &http.Transport{}, Rewrite: func(r *httputil.ProxyRequest) {
		if to != "" {
			r.Out.URL.Host = to
		}
	}}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		mu.Lock()
		hosts = append(hosts, req.Host)
		mu.Unlock()
		switch {
		case req.Method == http.MethodConnect:
			join(w, req, to)
		case req.URL.Host == "":
			http.Error(w, "this is a proxy", http.StatusBadRequest)
		default:
			forward.ServeHTTP(w, req)
		}
	}))
	t.Cleanup(proxy.Close)
	return proxy.URL, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(hosts)
	}
}

// join connects a client with a server. If either closes its connection, the other one's is closed
// too.
func join(w http.ResponseWriter, req *http.Request, to string) {
	if to == "" {
		to = req.Host
	}
	server, err := net.Dial("tcp", to)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer func() { _ = server.Close() }()
	client, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	_, _ = client.Write([]byte("HTTP/1.1 200 OK\r\n\r\n"))
	go func() {
		defer func() { _ = client.Close() }()
		_, _ = io.Copy(client, server)
	}()
	_, _ = io.Copy(server, client)
}
