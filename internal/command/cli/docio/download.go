package docio

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/egress"
	"github.com/nvidia/aicr-action/internal/util/httpstatus"
)

// mostRedirects is how often a server may send the reader to another address of its own.
const mostRedirects = 5

// download gets a document from an http:// or https:// address. A redirect to another host is an
// error: the address that was given says whose document it is, and a login in it must not go
// elsewhere.
func (p Places) download(ctx context.Context, kind Kind, address string) ([]byte, string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return nil, address, reason.New(reason.Usage, "%q is not an address that a %s can be read from", address, kind)
	}
	shown := shown(u)
	switch u.Scheme {
	case "https":
	case "http":
		if !egress.Loopback(u.Host) {
			p.warn("%s is not encrypted: an attacker on the network can change the %s", shown, kind)
		}
	default:
		return nil, shown, reason.New(reason.Usage, "a %s cannot be read from %s; want a file, -, https://… or cm://NAMESPACE/NAME", kind, shown)
	}
	whole := ctx
	ctx, cancel := context.WithTimeout(ctx, p.timeout())
	defer cancel()
	data, err := p.get(ctx, kind, u)
	switch {
	case err == nil:
		return data, shown, nil
	case whole.Err() != nil:
		return nil, shown, context.Cause(whole)
	case errors.Is(err, context.DeadlineExceeded):
		err = httpstatus.With(http.StatusGatewayTimeout, fmt.Errorf("it did not arrive within %s", p.timeout()))
	}
	return nil, shown, reason.New(reason.DownloadFailed, "download the %s from %s: %w", kind, shown, err)
}

func (p Places) get(ctx context.Context, kind Kind, u *url.URL) ([]byte, error) {
	proxy := egress.ProxyOf(p.Getenv)
	transport := &http.Transport{
		Proxy:              func(r *http.Request) (*url.URL, error) { return proxy(r.URL) },
		DialContext:        egress.Dialer().DialContext,
		DisableCompression: true, // the limit is for what is read
		TLSClientConfig:    &tls.Config{MinVersion: tls.VersionTLS12},
	}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, CheckRedirect: sameHost, Timeout: p.timeout() + time.Second}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("User-Agent", "aicr-action")
	r.Header.Set("Accept", "application/yaml, application/json, text/plain, */*")
	resp, err := client.Do(r)
	if err != nil {
		var of *url.Error
		if errors.As(err, &of) { // it would print the whole address, with what may be a token
			err = of.Err
		}
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }() // what matters is in the reads
	if resp.StatusCode != http.StatusOK {
		return nil, httpstatus.With(resp.StatusCode, fmt.Errorf("the server answers %s", resp.Status))
	}
	if resp.ContentLength > most {
		return nil, fmt.Errorf("it has %d MiB; the limit for a %s is %d MiB", resp.ContentLength>>20, kind, most>>20)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, most+1))
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fmt.Errorf("the server announced %d bytes, and closed the connection after %d", resp.ContentLength, len(data))
	case err != nil:
		return nil, err
	case len(data) > most:
		return nil, fmt.Errorf("it has more than %d MiB, the limit for a %s", most>>20, kind)
	case isHTML(resp.Header.Get("Content-Type"), data):
		return nil, fmt.Errorf("the server sent a web page, perhaps a login or a file in a viewer; use the address of the raw file")
	}
	return data, nil
}

func sameHost(r *http.Request, via []*http.Request) error {
	from := via[len(via)-1].URL
	switch {
	case len(via) > mostRedirects:
		return fmt.Errorf("the server redirects more than %d times", mostRedirects)
	case from.Scheme == "https" && r.URL.Scheme != "https":
		return fmt.Errorf("the server redirects to %s, which is not encrypted", shown(r.URL))
	case egress.HostPort(via[0].URL) != egress.HostPort(r.URL) && !(from.Scheme == "http" && r.URL.Scheme == "https" && from.Hostname() == r.URL.Hostname()):
		return fmt.Errorf("the server redirects to another host, %s; if you trust it, give that address", shown(r.URL))
	}
	return nil
}

func isHTML(contentType string, data []byte) bool {
	if media, _, err := mime.ParseMediaType(contentType); err == nil && (media == "text/html" || media == "application/xhtml+xml") {
		return true
	}
	head := bytes.ToLower(bytes.TrimSpace(data[:min(len(data), 512)]))
	return bytes.HasPrefix(head, []byte("<!doctype")) || bytes.HasPrefix(head, []byte("<html"))
}

// shown is an address as it may be printed: without a login, and without what may be a token.
func shown(u *url.URL) string {
	bare := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	return strings.TrimSuffix(bare.String(), "?")
}
