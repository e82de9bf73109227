package egress

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Guard says which hosts may be dialled although their addresses are of this machine or of a private
// network. All others must have public addresses: a stranger's text names them, and whether a port inside
// answers is not for its author to learn. It is asked when a connection is made, with the address that a
// name has then. Nil allows all hosts. Metadata services of clouds are never dialled.
type Guard struct {
	// Allow are HOST, HOST:PORT or networks, as ParseAllowed takes them.
	Allow []string
	// Named reports whether the user has named HOST:PORT elsewhere, e.g. by a login; may be nil.
	Named func(hostPort string) bool
}

// privateError is a host that is not dialled.
type privateError struct{ HostPort string }

func (e *privateError) Error() string {
	return fmt.Sprintf("%s is on this machine or in a private network, which nothing is downloaded from unless you allow it: add `--allow-private %[1]s`, or set AICR_ACTION_ALLOW_PRIVATE", e.HostPort)
}

var hostName = regexp.MustCompile(`^[\w-]+(\.[\w-]+)*(:[0-9]{1,5})?$`)

// ParseAllowed splits lists of hosts and networks, and refuses what is neither.
func ParseAllowed(lists ...string) ([]string, error) {
	var all []string
	for _, list := range lists {
		for _, one := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' }) {
			_, network := netip.ParsePrefix(one)
			_, address := netip.ParseAddr(strings.Trim(one, "[]"))
			_, withPort := netip.ParseAddrPort(one)
			if network != nil && address != nil && withPort != nil && !hostName.MatchString(one) {
				return nil, fmt.Errorf("%q is no host (HOST or HOST:PORT, without a scheme or path) and no network (10.0.0.0/8)", one)
			}
			all = append(all, strings.ToLower(one))
		}
	}
	return all, nil
}

// Allows reports whether HOST:PORT may be dialled wherever it is.
func (g *Guard) Allows(hostPort string) bool {
	if g == nil {
		return true
	}
	hostPort = strings.ToLower(hostPort)
	host, _, err := net.SplitHostPort(hostPort)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(g.Allow, func(a string) bool { return strings.Trim(a, "[]") == host || a == hostPort }) || g.Named != nil && g.Named(hostPort)
}

// network reports whether an address is in a network that is allowed.
func (g *Guard) network(ip netip.Addr) bool {
	return slices.ContainsFunc(g.Allow, func(a string) bool {
		n, err := netip.ParsePrefix(a)
		return err == nil && n.Contains(ip)
	})
}

// Check refuses HOST:PORT by its name alone: an address, or a name of this machine.
func (g *Guard) Check(hostPort string) error {
	if g.Allows(hostPort) {
		return nil
	}
	host, _, err := net.SplitHostPort(hostPort)
	if err != nil {
		return err
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	host, _, _ = strings.Cut(host, "%")
	ip, err := netip.ParseAddr(host)
	if err == nil {
		if err := refuseMetadata("", netip.AddrPortFrom(ip, 0).String(), nil); err != nil {
			return err
		}
	}
	last := host[strings.LastIndex(host, ".")+1:]
	_, odd := strconv.ParseUint(last, 0, 64) // 127.1 and 0x7f000001 are addresses to some
	if host == "localhost" || strings.HasSuffix(host, ".localhost") || err != nil && odd == nil || err == nil && inside(ip) && !g.network(ip.Unmap()) {
		return &privateError{hostPort}
	}
	return nil
}

// DialContext dials HOST:PORT at an address that may be dialled. A private one gives the same error whether
// something listens there or not: nothing is sent to it.
func (g *Guard) DialContext(ctx context.Context, network, hostPort string) (net.Conn, error) {
	if err := g.Check(hostPort); err != nil {
		return nil, err
	}
	return g.dial(ctx, network, hostPort)
}

// dial looks at the addresses that a name has.
func (g *Guard) dial(ctx context.Context, network, hostPort string) (net.Conn, error) {
	d := Dialer()
	if g != nil && !g.Allows(hostPort) {
		d.Control = func(network, address string, c syscall.RawConn) error {
			at, err := netip.ParseAddrPort(address)
			if err != nil {
				return err
			}
			if err := refuseMetadata(network, address, c); err != nil {
				return err
			}
			if inside(at.Addr()) && !g.network(at.Addr().Unmap().WithZone("")) {
				return &privateError{hostPort}
			}
			return nil
		}
	}
	conn, err := d.DialContext(ctx, network, hostPort)
	var private *privateError
	if errors.As(err, &private) {
		return nil, private // without the address that the name has
	}
	return conn, err
}

// reserved are networks that no public address is in, besides those that package netip knows. 198.18.0.0/15
// is none of them: proxies that take over all connections answer for names with addresses from it.
func reserved() []netip.Prefix {
	var all []netip.Prefix
	for _, text := range []string{"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "240.0.0.0/4", "fec0::/10", "64:ff9b:1::/48"} {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

// inside reports whether an address is of this machine, of a private network or of no network.
func inside(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	if ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast() || ip.IsUnspecified() || ip.IsMulticast() {
		return true
	}
	if slices.ContainsFunc(reserved(), func(n netip.Prefix) bool { return n.Contains(ip) }) {
		return true
	}
	if b := ip.As16(); ip.Is6() {
		for _, form := range []struct {
			network string
			at      int // of the IPv4 address in it, to which a gateway or this machine passes the packets
		}{{"64:ff9b::/96", 12}, {"2002::/16", 2}, {"::/96", 12}} {
			if netip.MustParsePrefix(form.network).Contains(ip) && inside(netip.AddrFrom4([4]byte(b[form.at:form.at+4]))) {
				return true
			}
		}
	}
	own, err := net.InterfaceAddrs()
	return err != nil || slices.ContainsFunc(own, func(a net.Addr) bool {
		n, ok := a.(*net.IPNet)
		if !ok {
			return false
		}
		mine, ok := netip.AddrFromSlice(n.IP)
		return ok && mine.Unmap() == ip
	})
}

// metadata are the addresses at which clouds give logins to their machines, besides link-local ones: of
// Azure, Alibaba and AWS.
func metadata() []string { return []string{"168.63.129.16", "100.100.100.200", "fd00:ec2::254"} }

// refuseMetadata is the Control of all connections: a cloud's machine has its metadata service, which hands
// out logins, at such an address, and no repository is there.
func refuseMetadata(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	ip := at.Addr().Unmap().WithZone("")
	if ip.IsLinkLocalUnicast() || ip.IsLinkLocalMulticast() || slices.Contains(metadata(), ip.String()) {
		return fmt.Errorf("%s is an address of a cloud's metadata service or a link-local one, where no repository is", ip)
	}
	return nil
}

// Transport dials repositories and registries, directly where guard lets it, or through the proxy for
// their address. It is safe for concurrent use.
type Transport struct {
	proxy           func(*url.URL) (*url.URL, error)
	guard           *Guard
	direct, proxied *http.Transport
}

// NewTransport makes a transport. Proxies are the usual variables', read from getenv; what a name leads to
// behind one is for the proxy to decide, but no address of this machine or a private network is asked of it.
func NewTransport(getenv func(string) string, guard *Guard) *Transport {
	t := &Transport{proxy: ProxyOf(getenv), guard: guard, direct: &http.Transport{
		DialContext:           guard.DialContext,
		DisableCompression:    true, // a digest is of the bytes that the repository has
		ForceAttemptHTTP2:     true,
		MaxIdleConns:          20,
		IdleConnTimeout:       30 * time.Second,
		TLSHandshakeTimeout:   20 * time.Second,
		ResponseHeaderTimeout: 60 * time.Second,
		TLSClientConfig:       &tls.Config{MinVersion: tls.VersionTLS12},
	}}
	t.proxied = t.direct.Clone()
	t.proxied.DialContext = Dialer().DialContext // the user named it
	t.proxied.Proxy = func(r *http.Request) (*url.URL, error) { return t.proxy(r.URL) }
	return t
}

// WithTLS is the transport with other settings for TLS.
func (t *Transport) WithTLS(c *tls.Config) *Transport {
	own := *t
	own.direct, own.proxied = t.direct.Clone(), t.proxied.Clone()
	own.direct.TLSClientConfig, own.proxied.TLSClientConfig = c, c.Clone()
	return &own
}

// RoundTrip asks directly, or through the proxy.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	via, err := t.proxy(r.URL)
	if err != nil {
		return nil, err
	}
	if via == nil {
		return t.direct.RoundTrip(r)
	}
	if err := t.guard.Check(HostPort(r.URL)); err != nil {
		return nil, err
	}
	return t.proxied.RoundTrip(r)
}

// CloseIdleConnections closes those that no request uses.
func (t *Transport) CloseIdleConnections() {
	t.direct.CloseIdleConnections()
	t.proxied.CloseIdleConnections()
}
