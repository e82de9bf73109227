package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

func TestInside(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"127.0.0.1": true, "127.8.9.1": true, "::1": true, "::ffff:127.0.0.1": true, "0.0.0.0": true, "0.1.2.3": true, "::": true, "10.1.2.3": true, "172.16.0.1": true, "172.31.255.255": true, "192.168.1.1": true,
		"169.254.169.254": true, "100.64.0.1": true, "100.127.1.1": true, "192.0.0.8": true, "224.0.0.1": true, "240.0.0.1": true, "255.255.255.255": true,
		"fc00::1": true, "fd12::1": true, "fe80::1": true, "fe80::1%eth0": true, "fec0::1": true, "ff02::1": true, "::ffff:10.0.0.1": true, "::10.0.0.1": true,
		"64:ff9b::a00:1": true, "64:ff9b:1::1": true, "2002:a00:1::": true, "2002:7f00:1::1": true,
		"8.8.8.8": false, "172.32.0.1": false, "100.128.0.1": false, "198.18.0.5": false, "2606:4700::1111": false, "64:ff9b::808:808": false, "2002:808:808::": false, "::ffff:8.8.8.8": false,
	} {
		if got := inside(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s: got %v", address, got)
		}
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range own { // a public one is this machine as well
		n, ok := a.(*net.IPNet)
		if ip, ok2 := netip.AddrFromSlice(n.IP); ok && ok2 && !inside(ip) {
			t.Errorf("%s is of this machine", ip)
		}
	}
}

func TestParseAllowed(t *testing.T) {
	t.Parallel()
	got, err := ParseAllowed("Charts.corp, charts.corp:8443", "10.0.0.0/8\n127.0.0.1:5000", "", "[::1]:5000,fd00::/8,::1")
	if want := "[charts.corp charts.corp:8443 10.0.0.0/8 127.0.0.1:5000 [::1]:5000 fd00::/8 ::1]"; err != nil || fmt.Sprint(got) != want {
		t.Errorf("got %v, %v", got, err)
	}
	for _, bad := range []string{"https://charts.corp", "charts.corp/path", "10.0.0.0/99", "a b://"} {
		if got, err := ParseAllowed(bad); err == nil || !strings.Contains(err.Error(), "is no host") {
			t.Errorf("%s: got %v, %v", bad, got, err)
		}
	}
}

func TestGuard_Check(t *testing.T) {
	t.Parallel()
	g := &Guard{Allow: []string{"charts.corp", "10.0.0.5:80", "172.16.0.0/12", "::1"}, Named: func(at string) bool { return at == "login.corp:443" }}
	for at, want := range map[string]bool{
		"charts.corp:1": true, "CHARTS.corp:1": true, "10.0.0.5:80": true, "172.17.0.1:22": true, "[::ffff:172.17.0.1]:22": true, "[::1]:22": true, "8.8.8.8:443": true, "a.example:443": true, "login.corp:443": true,
		"10.0.0.5:81": false, "10.0.0.6:80": false, "127.0.0.1:80": false, "127.1:80": false, "0x7f000001:80": false, "2130706433:80": false, "017700000001:80": false, "localhost:80": false, "LocalHost.:80": false, "a.localhost:80": false, "[fe80::1%eth0]:80": false, "no port": false,
	} {
		if err := g.Check(at); (err == nil) != want {
			t.Errorf("%s: got %v", at, err)
		}
	}
}

// A private address is refused without a connection, in the same words for a port that is open and one that
// is not, by its own name, a redirect's, or a name that leads there.
func TestTransport_Private(t *testing.T) {
	asked := 0
	open := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer open.Close()
	_, port, err := net.SplitHostPort(hostOf(open))
	if err != nil {
		t.Fatal(err)
	}
	gone := httptest.NewServer(nil)
	gone.Close()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Query().Get("to"), http.StatusFound)
	}))
	defer elsewhere.Close()
	none := func(string) string { return "" }
	client := &http.Client{Transport: NewTransport(none, &Guard{Allow: []string{hostOf(elsewhere)}})}
	words := map[string]bool{}
	for _, to := range []string{open.URL, gone.URL} {
		for _, address := range []string{to, elsewhere.URL + "?to=" + url.QueryEscape(to)} {
			_, err := client.Get(address)
			var private *privateError
			if !errors.As(err, &private) || !strings.Contains(err.Error(), "--allow-private "+hostOf(open)) && !strings.Contains(err.Error(), "--allow-private "+hostOf(gone)) {
				t.Errorf("%s: got %v", address, err)
			} else {
				words[strings.ReplaceAll(private.Error(), private.HostPort, "X")] = true
			}
		}
	}
	if len(words) != 1 || asked > 0 {
		t.Errorf("a port that is open is told from one that is not: %v; asked %d times", words, asked)
	}
	// Of a name only the connection shows where it leads: no name but localhost is known to lead here, so Check is left out.
	at := net.JoinHostPort("localhost", port)
	_, err = (&Guard{}).dial(t.Context(), "tcp", at)
	var private *privateError
	if !errors.As(err, &private) || strings.Contains(err.Error(), "127.0.0.1") {
		t.Errorf("a name: got %v", err)
	}
	for _, allowed := range []*Guard{{Allow: []string{"localhost"}}, {Allow: []string{at}}, {Allow: []string{"127.0.0.0/8", "::1/128"}}, {Named: func(host string) bool { return host == at }}, nil} {
		conn, err := allowed.dial(t.Context(), "tcp", at)
		if err != nil {
			t.Errorf("%+v: %v", allowed, err)
			continue
		}
		_ = conn.Close()
	}
	if conn, err := (&Guard{Allow: []string{"169.254.0.0/16"}}).DialContext(context.Background(), "tcp", "169.254.169.254:80"); err == nil || !strings.Contains(err.Error(), "metadata") {
		t.Errorf("a metadata service that is allowed: got %v, %v", conn, err)
	}
}

// The proxy of the environment may be private: the user named it. A repository is reached through it, and
// neither a private address nor the proxy itself as a repository.
func TestTransport_Proxy(t *testing.T) {
	asked := []string{}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.String())
		_, _ = io.WriteString(w, "hello")
	}))
	defer proxy.Close()
	getenv := func(name string) string { return map[string]string{"HTTP_PROXY": proxy.URL}[name] }
	client := &http.Client{Transport: NewTransport(getenv, &Guard{})}
	resp, err := client.Get("http://charts.example.com/index.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	for _, address := range []string{"http://10.0.0.1/", "http://127.1/", proxy.URL, "http://169.254.169.254/"} {
		if _, err := client.Get(address); err == nil {
			t.Errorf("%s: got %v", address, err)
		}
	}
	if got := strings.Join(asked, " "); got != "http://charts.example.com/index.yaml" {
		t.Errorf("through the proxy: %s", got)
	}
}

// The controllers' proxy has the same rules for the hosts that it was given.
func TestProxy_Private(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }))
	defer s.Close()
	for _, c := range []struct {
		guard *Guard
		want  int
	}{{&Guard{}, http.StatusBadGateway}, {&Guard{Allow: []string{hostOf(s)}}, http.StatusOK}} {
		client, _, _ := start(t, []string{hostOf(s)}, "", c.guard)
		resp, err := client.Get(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != c.want {
			t.Errorf("got %s, want %d", resp.Status, c.want)
		}
	}
}
