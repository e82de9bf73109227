package apiproxy

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/nvidia/aicr-action/internal/testkit"
)

// authority signs certificates for 127.0.0.1, as the cluster's does.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func newAuthority(t *testing.T) authority {
	key := newKey(t)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ca"}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return authority{cert, key, pemOf("CERTIFICATE", der)}
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func pemOf(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

func (a authority) sign(t *testing.T, name string) (cert, key []byte) {
	k := newKey(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &k.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalECPrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return pemOf("CERTIFICATE", der), pemOf("EC PRIVATE KEY", raw)
}

// fixture is a proxy before an API server that is a test's handler.
type fixture struct {
	*Proxy
	log    *testkit.Log
	client *http.Client
	url    string
	died   atomic.Pointer[string]
	ca     authority
}

func newFixture(t *testing.T, controller Controller, api http.HandlerFunc) *fixture {
	t.Helper()
	f := &fixture{log: &testkit.Log{}, ca: newAuthority(t)}
	cert, key := f.ca.sign(t, "admin")
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Values("Authorization"); len(got) != 1 || got[0] != "Bearer "+token || len(r.TLS.PeerCertificates) > 0 {
			t.Errorf("%s %s: the API server got the tokens %q and %d certificates, want the proxy's token alone", r.Method, r.URL, got, len(r.TLS.PeerCertificates))
		}
		api(w, r)
	}))
	server.EnableHTTP2 = true
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequestClientCert}
	server.StartTLS()
	t.Cleanup(server.Close)
	dir := t.TempDir()
	o := Options{For: controller, Kubeconfig: filepath.Join(dir, "admin"), Output: filepath.Join(dir, "controller"), Address: "127.0.0.1:0", Log: f.log, Died: func(err error) {
		text := err.Error()
		f.died.Store(&text)
	}}
	f.writeKubeconfig(t, o.Kubeconfig, server.URL)
	o.Certificate, o.Key = writePair(t, dir, cert, key)
	f.Proxy, err = Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	cfg, err := clientcmd.BuildConfigFromFlags("", o.Output)
	if err != nil {
		t.Fatal(err)
	}
	cfg.DisableCompression = true
	if f.client, err = rest.HTTPClientFor(cfg); err != nil {
		t.Fatal(err)
	}
	f.url = cfg.Host
	return f
}

// token is that of the kubeconfig that a proxy is started with.
const token = "of-the-administrator"

func writePair(t *testing.T, dir string, cert, key []byte) (certificate, keyFile string) {
	t.Helper()
	certificate, keyFile = filepath.Join(dir, "admin.crt"), filepath.Join(dir, "admin.key")
	if err := errors.Join(os.WriteFile(certificate, cert, 0o600), os.WriteFile(keyFile, key, 0o600)); err != nil {
		t.Fatal(err)
	}
	return certificate, keyFile
}

func (f *fixture) writeKubeconfig(t *testing.T, path, server string) {
	t.Helper()
	cfg := clientcmdapi.NewConfig()
	cfg.Clusters["c"] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: f.ca.pem}
	cfg.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: token}
	cfg.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	cfg.CurrentContext = "x"
	if err := clientcmd.WriteToFile(*cfg, path); err != nil {
		t.Fatal(err)
	}
}

// ask is one GET; what is read of its body is the test's.
func (f *fixture) ask(t *testing.T, path string, header ...string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, f.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := f.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

func (f *fixture) get(t *testing.T, path string, header ...string) (int, string) {
	t.Helper()
	resp := f.ask(t, path, header...)
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func TestForwards(t *testing.T) {
	f := newFixture(t, ArgoCD, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Warning", "299 - \"old\"")
		w.WriteHeader(http.StatusConflict)
		_, _ = fmt.Fprintf(w, "%s %s %s %s %s", r.Method, r.URL.RequestURI(), body, r.Header.Get("Impersonate-User"), r.Header.Get("Authorization"))
	})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, f.url+"/api/v1/pods?fieldManager=a%2Fb", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Impersonate-User", "jane")
	resp, err := f.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, _ := io.ReadAll(resp.Body)
	if got := string(body); got != "PATCH /api/v1/pods?fieldManager=a%2Fb {} jane Bearer "+token || resp.StatusCode != http.StatusConflict || resp.Header.Get("Warning") == "" {
		t.Errorf("got %d %q %v", resp.StatusCode, got, resp.Header)
	}
}

// A client that reaches the port gets no rights: without the certificate of the kubeconfig it
// cannot connect.
func TestProxy_ClientWithoutCertificate(t *testing.T) {
	f := newFixture(t, ArgoCD, func(http.ResponseWriter, *http.Request) { t.Error("the API server was asked") })
	pool := x509.NewCertPool()
	pool.AddCert(f.ca.cert)
	other, key := f.ca.sign(t, "admin") // the same authority, and the same name
	pair, err := tls.X509KeyPair(other, key)
	if err != nil {
		t.Fatal(err)
	}
	for name, certs := range map[string][]tls.Certificate{"none": nil, "another": {pair}} {
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, Certificates: certs}}}
		if resp, err := client.Get(f.url + "/api"); err == nil {
			_ = resp.Body.Close()
			t.Errorf("with %s certificate: got %s", name, resp.Status)
		}
	}
	if resp, err := http.Get("http" + strings.TrimPrefix(f.url, "https") + "/api"); err == nil {
		if _ = resp.Body.Close(); resp.StatusCode != http.StatusBadRequest {
			t.Errorf("without TLS: got %s", resp.Status)
		}
	}
}

func TestAPIServerGone(t *testing.T) {
	f := newFixture(t, Flux, nil)
	f.target.Host = "127.0.0.1:1"
	for _, path := range []string{"/api/v1/namespaces", "/apis/apps/v1/namespaces/a/deployments/b"} {
		if code, body := f.get(t, path); code != http.StatusBadGateway || !strings.Contains(body, "the API server does not answer: dial tcp 127.0.0.1:1") || !strings.Contains(body, `"kind":"Status"`) {
			t.Errorf("%s: got %d %s", path, code, body)
		}
	}
}

// A proxy that stops without Close reports it once, with the cause, and its client gets errors.
func TestDeath(t *testing.T) {
	f := newFixture(t, ArgoCD, func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	waiting := make(chan error)
	go func() {
		req, _ := http.NewRequestWithContext(context.Background(), http.MethodGet, f.url+"/api", nil)
		resp, err := f.client.Do(req)
		if err == nil {
			_, err = io.ReadAll(resp.Body)
			_ = resp.Body.Close()
		}
		waiting <- err
	}()
	if err := f.listener.Close(); err != nil {
		t.Fatal(err)
	}
	<-f.done
	if got := f.died.Load(); got == nil || !strings.Contains(*got, "use of closed network connection") {
		t.Errorf("died: got %v", got)
	}
	if err := <-waiting; err == nil {
		t.Error("a request that was under way has an answer")
	}
	f.died.Store(nil)
	f.Close()
	if got := f.died.Load(); got != nil {
		t.Errorf("after Close: got %q", *got)
	}
}

func TestDeath_NotAfterClose(t *testing.T) {
	f := newFixture(t, Flux, nil)
	f.Close()
	f.fail(errors.New("late"))
	if got := f.died.Load(); got != nil {
		t.Errorf("got %q", *got)
	}
}

func TestStart_Invalid(t *testing.T) {
	dir := t.TempDir()
	ca := newAuthority(t)
	f := &fixture{ca: ca}
	cert, key := ca.sign(t, "admin")
	certificate, keyFile := writePair(t, dir, cert, key)
	good := filepath.Join(dir, "good")
	f.writeKubeconfig(t, good, "https://127.0.0.1:1")
	broken := filepath.Join(dir, "broken")
	if err := os.WriteFile(broken, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	for want, o := range map[string]Options{
		"start the proxy between helm-controller and the API server: read kubeconfig": {For: Flux, Kubeconfig: filepath.Join(dir, "none")},
		"read kubeconfig " + broken: {For: Flux, Kubeconfig: broken},
		"read the certificate by which the proxy knows its client: open " + broken + "/none": {For: Flux, Kubeconfig: good, Certificate: filepath.Join(broken, "none")},
		`there are no rules for "x"`: {For: "x", Kubeconfig: good},
		"address already in use":     {For: Flux, Kubeconfig: good, Address: taken.Addr().String()},
		"write the kubeconfig for":   {For: Flux, Kubeconfig: good, Address: "127.0.0.1:0", Output: filepath.Join(broken, "x")},
	} {
		o.Log, o.Died = &bytes.Buffer{}, func(error) {}
		if o.Certificate == "" {
			o.Certificate, o.Key = certificate, keyFile
		}
		if p, err := Start(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, %v; want %q", p, err, want)
		}
	}
}
