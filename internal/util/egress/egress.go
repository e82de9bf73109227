// Package egress limits connections to named hosts. It has a proxy in this process for programs
// that may reach no other address, and the rules for addresses of recipes that this program itself
// dials. It knows hosts and ports. It must not know which component dials, or what for.
package egress

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	stdlog "log"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpproxy"
)

// ProxyOf reads the usual variables, HTTP_PROXY, HTTPS_PROXY and NO_PROXY, also in lower case. This
// machine is never behind a proxy.
func ProxyOf(getenv func(string) string) func(*url.URL) (*url.URL, error) {
	first := func(name string) string {
		if v := getenv(name); v != "" {
			return v
		}
		return getenv(strings.ToLower(name))
	}
	config := httpproxy.Config{HTTPProxy: first("HTTP_PROXY"), HTTPSProxy: first("HTTPS_PROXY"), NoProxy: first("NO_PROXY"), CGI: getenv("REQUEST_METHOD") != ""}
	return config.ProxyFunc()
}

// Dialer dials within 30 s, and no metadata service of a cloud.
func Dialer() *net.Dialer {
	return &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second, Control: refuseMetadata}
}

// HostPort is the host and port that a URL leads to.
func HostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = "443" // oci:// too
		if u.Scheme == "http" {
			port = "80"
		}
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// Loopback reports whether host, or HOST:PORT, is this machine, where registries speak plain HTTP.
func Loopback(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Proxy is an HTTP proxy that reaches the hosts it was given, and refuses all others.
type Proxy struct {
	hosts    []string
	proxy    func(*url.URL) (*url.URL, error)
	guard    *Guard
	forward  *Transport
	listener net.Listener
	server   *http.Server
	log      *stdlog.Logger
	done     chan struct{}
}

// Start serves on address (HOST:PORT) until Close. The hosts are HOST:PORT each. What it does is a
// line each in log. Requests go through the proxies of getenv, if any. The guard says which hosts may be on
// this machine or in a private network.
func Start(address string, hosts []string, getenv func(string) string, guard *Guard, log io.Writer) (*Proxy, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("start the proxy to chart repositories: %w", err)
	}
	p := &Proxy{hosts: hosts, proxy: ProxyOf(getenv), guard: guard, forward: NewTransport(getenv, guard), listener: listener, log: stdlog.New(log, "", stdlog.LstdFlags), done: make(chan struct{})}
	p.server = &http.Server{Handler: p, ReadHeaderTimeout: 10 * time.Second, ErrorLog: p.log}
	go func() {
		defer close(p.done)
		if err := p.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			p.log.Printf("the proxy ended: %v", err)
		}
	}()
	return p, nil
}

// URL is the value for HTTP_PROXY and HTTPS_PROXY.
func (p *Proxy) URL() string { return "http://" + p.listener.Addr().String() }

// Close stops serving, and cuts what is under way.
func (p *Proxy) Close() {
	_ = p.server.Close() // connections that were taken over end with their programs
	<-p.done
	p.forward.CloseIdleConnections()
}

// ServeHTTP handles CONNECT, for TLS, and requests with a whole URL, for plain HTTP.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	host := r.Host
	if r.Method != http.MethodConnect {
		if r.URL.Scheme != "http" {
			http.Error(w, "this is a proxy", http.StatusBadRequest)
			return
		}
		host = HostPort(r.URL)
	}
	if !slices.Contains(p.hosts, host) {
		p.log.Printf("refused %s %s", r.Method, host)
		http.Error(w, fmt.Sprintf("%s is not among the hosts that charts.lock names for this recipe (%s)", host, strings.Join(p.hosts, ", ")), http.StatusForbidden)
		return
	}
	p.log.Printf("%s %s", r.Method, host)
	if r.Method == http.MethodConnect {
		p.tunnel(w, r, host)
		return
	}
	p.pass(w, r)
}

// pass forwards a plain request.
func (p *Proxy) pass(w http.ResponseWriter, r *http.Request) {
	out := r.Clone(r.Context())
	out.RequestURI = ""
	for _, hop := range []string{"Proxy-Connection", "Proxy-Authorization", "Connection", "Keep-Alive", "Te", "Trailer", "Upgrade"} {
		out.Header.Del(hop)
	}
	resp, err := p.forward.RoundTrip(out)
	if err != nil {
		p.log.Printf("%s: %v", r.URL.Host, err)
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer func() { _ = resp.Body.Close() }() // what matters is in the copy
	for name, values := range resp.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(resp.StatusCode)
	if _, err := io.Copy(w, resp.Body); err != nil {
		p.log.Printf("%s: %v", r.URL.Host, err)
		panic(http.ErrAbortHandler) // so that the client sees that the answer is not whole
	}
}

// tunnel connects the two ends, and copies until both have ended.
func (p *Proxy) tunnel(w http.ResponseWriter, r *http.Request, host string) {
	far, err := p.dial(r.Context(), host)
	if err != nil {
		p.log.Printf("%s: %v", host, err)
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer func() { _ = far.Close() }() // nothing is read from it any more
	hijacker, ok := w.(http.Hijacker)
	if !ok {
		http.Error(w, "the connection cannot be taken over", http.StatusInternalServerError)
		return
	}
	near, buffered, err := hijacker.Hijack()
	if err != nil {
		p.log.Printf("%s: %v", host, err)
		return
	}
	defer func() { _ = near.Close() }() // as above
	if _, err := io.WriteString(near, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	ended := make(chan struct{}, 2)
	join := func(to io.Writer, from io.Reader) {
		_, _ = io.Copy(to, from) // either end may go at any time
		ended <- struct{}{}
	}
	go join(far, buffered.Reader)
	go join(near, far)
	<-ended
}

// dial reaches a host, through the job's own proxy if there is one.
func (p *Proxy) dial(ctx context.Context, host string) (net.Conn, error) {
	via, err := p.proxy(&url.URL{Scheme: "https", Host: host})
	if err != nil {
		return nil, err
	}
	if via == nil {
		return p.guard.DialContext(ctx, "tcp", host)
	}
	if err := p.guard.Check(host); err != nil {
		return nil, err
	}
	conn, err := Dialer().DialContext(ctx, "tcp", HostPort(via))
	if err != nil {
		return nil, err
	}
	request := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: host}, Host: host, Header: http.Header{}}
	if via.User != nil {
		password, _ := via.User.Password()
		request.SetBasicAuth(via.User.Username(), password)
		request.Header.Set("Proxy-Authorization", request.Header.Get("Authorization"))
		request.Header.Del("Authorization")
	}
	if err := request.Write(conn); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), request)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	_ = resp.Body.Close() // the answer to CONNECT has none
	if resp.StatusCode != http.StatusOK {
		return nil, errors.Join(fmt.Errorf("the proxy %s answers %s for %s", via.Host, resp.Status, host), conn.Close())
	}
	return conn, nil
}
