package egress

import (
	"bufio"
	"fmt"
	"io"
	stdlog "log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// lines is a log that a test reads.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func start(t *testing.T, hosts []string, proxy string, guard *Guard) (*http.Client, *Proxy, *lines) {
	t.Helper()
	log := &lines{}
	getenv := func(name string) string {
		if name == "HTTP_PROXY" || name == "HTTPS_PROXY" {
			return proxy
		}
		return ""
	}
	p, err := Start("127.0.0.1:0", hosts, getenv, guard, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	via, err := url.Parse(p.URL())
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(via), DisableKeepAlives: true}}, p, log
}

func hostOf(s *httptest.Server) string { return s.Listener.Addr().String() }

// The proxy reaches the hosts that it was given, with and without TLS, and no others.
func TestProxy(t *testing.T) {
	hello := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Proxy-Connection") != "" {
			http.Error(w, "a header for the proxy came through", http.StatusBadRequest)
			return
		}
		if r.URL.Path == "/cut" {
			_, _ = fmt.Fprint(w, "hel") // of an answer without a length
			if f, ok := w.(http.Flusher); ok {
				f.Flush()
			}
			panic(http.ErrAbortHandler)
		}
		_, _ = fmt.Fprint(w, "hello")
	})
	plain, other := httptest.NewServer(hello), httptest.NewServer(hello)
	plain.Config.ErrorLog = stdlog.New(io.Discard, "", 0)
	defer plain.Close()
	defer other.Close()
	safe := httptest.NewTLSServer(hello)
	defer safe.Close()
	client, p, log := start(t, []string{hostOf(plain), hostOf(safe)}, "", nil)
	transport, ok := safe.Client().Transport.(*http.Transport)
	if !ok {
		t.Fatal("no transport")
	}
	transport = transport.Clone()
	via, err := url.Parse(p.URL())
	if err != nil {
		t.Fatal(err)
	}
	transport.Proxy, transport.DisableKeepAlives = http.ProxyURL(via), true
	secure := &http.Client{Transport: transport}
	for _, c := range []struct {
		client *http.Client
		url    string
	}{{client, plain.URL}, {secure, safe.URL}} {
		resp, err := c.client.Get(c.url)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK || string(body) != "hello" {
			t.Errorf("%s: %s %q, %v", c.url, resp.Status, body, err)
		}
	}
	resp, err := client.Get(other.URL)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil || resp.StatusCode != http.StatusForbidden || !strings.Contains(string(body), "not among the hosts") || !strings.Contains(string(body), hostOf(plain)) {
		t.Errorf("another host: %s %q, %v", resp.Status, body, err)
	}
	if _, err := secure.Get(strings.Replace(safe.URL, "127.0.0.1", "localhost", 1)); err == nil || !strings.Contains(err.Error(), "Forbidden") {
		t.Errorf("another host with TLS: %v", err)
	}
	if resp, err := client.Get(plain.URL + "/cut"); err == nil { // the client must notice that an answer was cut
		if _, err := io.ReadAll(resp.Body); err == nil && resp.StatusCode == http.StatusOK {
			t.Error("a cut answer came through as a whole one")
		}
		_ = resp.Body.Close()
	}
	if resp, err := http.Get(p.URL()); err != nil || resp.StatusCode != http.StatusBadRequest {
		t.Errorf("a request that is for the proxy itself: %v, %v", resp, err)
	}
	for _, want := range []string{"GET " + hostOf(plain), "CONNECT " + hostOf(safe), "refused GET " + hostOf(other), "refused CONNECT localhost"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log has no %q:\n%s", want, log)
		}
	}
}

// Behind the job's own proxy, TLS goes through that one, with its login.
func TestProxy_BehindProxy(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	asked := make(chan *http.Request, 1)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		r, err := http.ReadRequest(bufio.NewReader(conn))
		if err != nil {
			return
		}
		asked <- r
		_, _ = io.WriteString(conn, "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
		_ = conn.Close()
	}()
	parent := &url.URL{Scheme: "http", Host: listener.Addr().String(), User: url.UserPassword("jane", "secret")}
	client, _, log := start(t, []string{"charts.example.com:443"}, parent.String(), &Guard{})
	if _, err := client.Get("https://charts.example.com"); err == nil {
		t.Error("no error")
	}
	r := <-asked
	if user, password, ok := (&http.Request{Header: http.Header{"Authorization": r.Header["Proxy-Authorization"]}}).BasicAuth(); r.Method != http.MethodConnect || r.Host != "charts.example.com:443" || !ok || user != "jane" || password != "secret" {
		t.Errorf("the proxy got %s %s with %q", r.Method, r.Host, r.Header)
	}
	if !strings.Contains(log.String(), "answers 407") || strings.Contains(log.String(), "secret") {
		t.Errorf("the log:\n%s", log)
	}
}

func TestHostPort(t *testing.T) {
	for address, want := range map[string]string{
		"https://a.example/x": "a.example:443", "http://a.example": "a.example:80", "oci://a.example/x": "a.example:443", "oci://127.0.0.1:5000/x": "127.0.0.1:5000", "http://[::1]/": "[::1]:80",
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if got := HostPort(u); got != want {
			t.Errorf("%s: got %s, want %s", address, got, want)
		}
	}
}

func TestMetadata(t *testing.T) {
	for address, refused := range map[string]bool{"169.254.169.254:80": true, "[fe80::1%eth0]:80": true, "[::ffff:169.254.169.254]:80": true, "168.63.129.16:80": true, "[fd00:ec2::254]:80": true, "127.0.0.1:80": false, "10.0.0.1:443": false, "[2001:db8::1]:443": false} {
		if err := refuseMetadata("tcp", address, nil); (err != nil) != refused {
			t.Errorf("%s: got %v", address, err)
		}
	}
}
