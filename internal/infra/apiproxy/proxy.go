// Package apiproxy stands between one controller and the API server of its cell, and answers some
// of the controller's reads more cheaply or later than the API server would. It knows HTTP and the
// requests that Argo CD's application-controller and Flux's helm-controller make. It must not know
// lanes, verdicts or how a controller is started.
//
// For Argo CD it saves reads of an unchanged OpenAPI document (schema.go), and removes the parts of
// the documents that the controller does not read (prune.go). For Flux it answers a read of an
// object that is not ready once it is, or after 4 s (hold.go), where the controller would read
// again after 5 s. The controllers are not modified: only their kubeconfig points here.
//
// It is part of the harness's own process, like the registry and the Redis stand-in, and no process
// of the cell: it needs no separate program, it reports its end itself, and the controller's
// sandbox changes only by one more port to connect to. It executes nothing from a recipe: it
// counts, cuts or compares bodies.
//
// It widens no rights. It listens on 127.0.0.1 with TLS and requires a client certificate of the cluster's
// administrator. A client with the key of that certificate can send the same requests to the API
// server itself.
package apiproxy

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	stdlog "log"
	"mime"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/transport"
)

// Controller is the client that a Proxy is for.
type Controller string

// The controllers that there are rules for.
const (
	ArgoCD Controller = "argocd-application-controller"
	Flux   Controller = "helm-controller"
)

// Options of Start.
type Options struct {
	For Controller
	// Kubeconfig is the cluster's, with a token, which the proxy sends. Output gets the controller's,
	// which has the certificate instead.
	Kubeconfig, Output string
	// Certificate and Key are files of a certificate by which the proxy knows its client, and which
	// it shows itself: it must be good for a server on 127.0.0.1 too.
	Certificate, Key string
	// Address is where the proxy listens, e.g. 127.0.0.1:21000.
	Address string
	// Log gets a line for each answer that is not simply the API server's.
	Log io.Writer
	// Died is called, once, if the proxy ends before Close.
	Died func(error)
}

// rules answer requests, or leave them to the proxy by returning false.
type rules interface {
	serve(w http.ResponseWriter, r *http.Request) bool
	// modify changes an answer that is being forwarded.
	modify(*http.Response) error
	close()
}

// Proxy is a running proxy.
type Proxy struct {
	target   *url.URL
	api      http.RoundTripper // with the token of the kubeconfig
	forward  *httputil.ReverseProxy
	rules    rules
	listener net.Listener
	server   *http.Server
	log      *stdlog.Logger
	died     func(error)
	end      sync.Once // the first of End and Close
	done     chan struct{}
}

// Start listens, writes the kubeconfig for the controller and serves until Close.
func Start(o Options) (*Proxy, error) {
	p, err := start(o)
	if err != nil {
		return nil, fmt.Errorf("start the proxy between %s and the API server: %w", o.For, err)
	}
	return p, nil
}

func start(o Options) (*Proxy, error) {
	kubeconfig, err := clientcmd.LoadFromFile(o.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig %s: %w", o.Kubeconfig, err)
	}
	cfg, err := clientcmd.NewDefaultClientConfig(*kubeconfig, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig %s: %w", o.Kubeconfig, err)
	}
	own, err := tls.LoadX509KeyPair(o.Certificate, o.Key)
	if err != nil {
		return nil, fmt.Errorf("read the certificate by which the proxy knows its client: %w", err)
	}
	upstream, err := rest.TLSConfigFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("read the certificates of kubeconfig %s: %w", o.Kubeconfig, err)
	}
	p := &Proxy{log: stdlog.New(o.Log, "", stdlog.Ltime|stdlog.Lmicroseconds), died: o.Died, done: make(chan struct{})}
	if p.target, err = url.Parse(cfg.Host); err != nil {
		return nil, fmt.Errorf("read the server of kubeconfig %s: %w", o.Kubeconfig, err)
	}
	api := &http.Transport{TLSClientConfig: upstream, ForceAttemptHTTP2: true, DisableCompression: true, MaxIdleConnsPerHost: 64}
	p.api = transport.NewBearerAuthRoundTripper(cfg.BearerToken, api)
	switch o.For {
	case ArgoCD:
		p.rules = newSchema(p)
	case Flux:
		p.rules = newHold(p)
	default:
		return nil, fmt.Errorf("there are no rules for %q", o.For)
	}
	p.forward = &httputil.ReverseProxy{
		Transport: p.api, ErrorLog: p.log, ErrorHandler: p.unreachable, ModifyResponse: p.rules.modify,
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(p.target) },
	}
	if p.listener, err = net.Listen("tcp", o.Address); err != nil {
		return nil, err
	}
	for _, cluster := range kubeconfig.Clusters {
		cluster.Server = "https://" + p.listener.Addr().String()
	}
	for _, user := range kubeconfig.AuthInfos {
		*user = clientcmdapi.AuthInfo{ClientCertificate: o.Certificate, ClientKey: o.Key}
	}
	if err := clientcmd.WriteToFile(*kubeconfig, o.Output); err != nil {
		return nil, errors.Join(fmt.Errorf("write the kubeconfig for the controller: %w", err), p.listener.Close())
	}
	p.server = &http.Server{
		Handler: p, ReadHeaderTimeout: 10 * time.Second, ErrorLog: p.log,
		HTTP2: &http.HTTP2Config{MaxConcurrentStreams: 1000}, // as the API server's: a controller has a watch for each kind
		TLSConfig: &tls.Config{
			MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{own}, ClientAuth: tls.RequireAnyClientCert,
			VerifyConnection: func(s tls.ConnectionState) error {
				if len(s.PeerCertificates) == 0 || !bytes.Equal(s.PeerCertificates[0].Raw, own.Certificate[0]) {
					return errors.New("the client's certificate is not the one of its kubeconfig")
				}
				return nil
			},
		},
	}
	go func() {
		defer close(p.done)
		if err := p.server.ServeTLS(p.listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
			p.fail(err)
		}
	}()
	return p, nil
}

// Close ends the proxy and every request that goes through it.
func (p *Proxy) Close() {
	p.end.Do(func() {})
	p.shut()
	<-p.done
}

func (p *Proxy) shut() {
	p.rules.close()
	_ = p.server.Close() // what was under way is cut
	utilnet.CloseIdleConnectionsFor(p.api)
}

// fail ends the proxy: its client gets errors from now on, and the run learns why.
func (p *Proxy) fail(err error) {
	p.end.Do(func() {
		p.log.Printf("the proxy ended: %v", err)
		p.died(err)
		p.shut()
	})
}

// ServeHTTP answers by the rules for the controller, or forwards.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !p.rules.serve(w, r) {
		p.forward.ServeHTTP(w, r)
	}
}

// unreachable answers with a Status, as the API server does, so that a client prints the message.
func (p *Proxy) unreachable(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return // the client has disconnected
	}
	p.log.Printf("%s %s: %v", r.Method, r.URL.Path, err)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadGateway)
	_ = json.NewEncoder(w).Encode(map[string]any{ // the client may have disconnected
		"kind": "Status", "apiVersion": "v1", "metadata": map[string]any{}, "status": "Failure", "code": http.StatusBadGateway,
		"reason": "ServiceUnavailable", "message": "the API server does not answer: " + err.Error(),
	})
}

// get asks the API server for a path, with a client's headers and others where given. The answer is
// not compressed, unlike a forwarded one.
func (p *Proxy) get(ctx context.Context, client http.Header, path string, query url.Values, header map[string]string) (*http.Response, error) {
	u := *p.target
	u.Path, u.RawQuery = path, query.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header = client.Clone()
	for _, name := range []string{"Accept-Encoding", "Connection"} {
		req.Header.Del(name)
	}
	for name, value := range header {
		req.Header.Set(name, value)
	}
	return p.api.RoundTrip(req)
}

// read is get with the whole body.
func (p *Proxy) read(r *http.Request, header map[string]string) (*http.Response, []byte, error) {
	resp, err := p.get(r.Context(), r.Header, r.URL.Path, r.URL.Query(), header)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = resp.Body.Close() }() // it was read
	body, err := io.ReadAll(resp.Body)
	return resp, body, err
}

// write answers as the API server has, with another body.
func write(w http.ResponseWriter, resp *http.Response, body []byte) error {
	for name, values := range resp.Header {
		if name != "Content-Length" && name != "Connection" && name != "Transfer-Encoding" {
			w.Header()[name] = values
		}
	}
	w.WriteHeader(resp.StatusCode)
	if _, err := w.Write(body); err != nil {
		return err
	}
	return http.NewResponseController(w).Flush()
}

func isJSON(h http.Header) bool {
	t, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return err == nil && t == "application/json" && h.Get("Content-Encoding") == ""
}
