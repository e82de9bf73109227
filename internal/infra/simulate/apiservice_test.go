package simulate

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The stand-in is reached as the API server does it: CONNECT through its socket, then TLS.
func TestAPIServiceStandIn_TLS(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	s, err := StartAPIServiceStandIn(socket, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, "CONNECT metrics.ns.svc:443 HTTP/1.1\r\nHost: metrics.ns.svc:443\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	const established = "HTTP/1.1 200 Connection established\r\n\r\n"
	answer := make([]byte, len(established))
	if _, err := io.ReadFull(conn, answer); err != nil || string(answer) != established {
		t.Fatalf("got %q, %v", answer, err)
	}
	client := http.Client{Transport: &http.Transport{DialTLSContext: func(context.Context, string, string) (net.Conn, error) {
		return tls.Client(conn, &tls.Config{InsecureSkipVerify: true}), nil // as an APIService with insecureSkipTLSVerify
	}}}
	response, err := client.Get("https://metrics.ns.svc/apis/custom.metrics.k8s.io/v1beta1")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK || !slices.Equal(s.Used(), []string{"custom.metrics.k8s.io/v1beta1"}) {
		t.Errorf("got %s; it says that it answered for %q", response.Status, s.Used())
	}
}

// What is to be dialled for real is: the API server reaches its kubelet through the socket, too.
func TestAPIServiceStandIn_Route(t *testing.T) {
	kubelet, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = kubelet.Close() }()
	go func() {
		conn, err := kubelet.Accept()
		if err == nil {
			_, _ = io.WriteString(conn, "the kubelet")
			_ = conn.Close()
		}
	}()
	address := kubelet.Addr().String()
	socket := filepath.Join(t.TempDir(), "s")
	s, err := StartAPIServiceStandIn(socket, func(a string) (string, bool, error) { return a, a == address, nil })
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, "CONNECT "+address+" HTTP/1.1\r\nHost: "+address+"\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(conn)
	if err != nil || string(got) != "HTTP/1.1 200 Connection established\r\n\r\nthe kubelet" {
		t.Errorf("got %q, %v", got, err)
	}
}

// What is behind an address and does not answer now is the API server's error, in its own words.
func TestAPIServiceStandIn_Refuses(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	s, err := StartAPIServiceStandIn(socket, func(string) (string, bool, error) { return "", false, errors.New("no pod of\nService n/x is ready") })
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, "CONNECT x.n.svc:443 HTTP/1.1\r\nHost: x.n.svc:443\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 502 no pod of Service n/x is ready\r\n") {
		t.Errorf("%v, %q", err, answer)
	}
}
