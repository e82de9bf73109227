package charts

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/docker/cli/cli/config"
	"github.com/google/go-containerregistry/pkg/authn"
	"helm.sh/helm/v3/pkg/cli"
	"helm.sh/helm/v3/pkg/repo"

	"github.com/nvidia/aicr-action/internal/util/egress"
)

// logins are the user's settings for Helm and Docker: those of `helm repo add`,
// `helm registry login`, `docker login`, and credential helpers.
type logins struct {
	repositories []*repo.Entry
	keychain     authn.Keychain
}

// readLogins reads Helm's files; Docker's are read when a registry is asked.
func readLogins() (*logins, error) {
	settings := cli.New() // HELM_REPOSITORY_CONFIG, HELM_REGISTRY_CONFIG, else Helm's own places
	l := &logins{keychain: authn.NewMultiKeychain(helmKeychain(settings.RegistryConfig), authn.DefaultKeychain)}
	known, err := repo.LoadFile(settings.RepositoryConfig)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("read Helm's repositories: %w", err)
	default:
		l.repositories = known.Repositories
	}
	return l, nil
}

// of is what Helm knows of a repository; never nil.
func (l *logins) of(repository string) *repo.Entry {
	for _, e := range l.repositories {
		if e != nil && sameRepository(e.URL, repository) {
			return e
		}
	}
	return &repo.Entry{URL: repository}
}

// helmKeychain is the file that `helm registry login` writes. It has the form of Docker's, with
// credential helpers, and its own place.
type helmKeychain string

func (file helmKeychain) Resolve(target authn.Resource) (authn.Authenticator, error) {
	f, err := os.Open(string(file))
	if errors.Is(err, fs.ErrNotExist) {
		return authn.Anonymous, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read Helm's registry logins: %w", err)
	}
	defer func() { _ = f.Close() }() // it is only read
	logins, err := config.LoadFromReader(f)
	if err != nil {
		return nil, fmt.Errorf("read Helm's registry logins in %s: %w", string(file), err)
	}
	host := target.RegistryStr()
	if host == "index.docker.io" {
		host = authn.DefaultAuthKey
	}
	found, err := logins.GetAuthConfig(host)
	if err != nil {
		return nil, fmt.Errorf("read Helm's login for %s: %w", host, err)
	}
	auth := authn.AuthConfig{Username: found.Username, Password: found.Password, Auth: found.Auth, IdentityToken: found.IdentityToken, RegistryToken: found.RegistryToken}
	if auth == (authn.AuthConfig{}) {
		return authn.Anonymous, nil
	}
	return authn.FromConfig(auth), nil
}

// withTLS gives the transport that a repository's certificates need.
func withTLS(base *egress.Transport, e *repo.Entry) (http.RoundTripper, error) {
	if e.CertFile == "" && e.CAFile == "" && !e.InsecureSkipTLSverify {
		return base, nil
	}
	own := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: e.InsecureSkipTLSverify} // as the user configured Helm; the digest is checked anyway
	if e.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(e.CertFile, e.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("read the certificate that Helm has for %s: %w", e.URL, err)
		}
		own.Certificates = []tls.Certificate{pair}
	}
	if e.CAFile != "" {
		pem, err := os.ReadFile(e.CAFile)
		if err != nil {
			return nil, fmt.Errorf("read the authority that Helm has for %s: %w", e.URL, err)
		}
		own.RootCAs = x509.NewCertPool()
		if !own.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s, the authority that Helm has for %s, has no certificate", e.CAFile, e.URL)
		}
	}
	return base.WithTLS(own), nil
}

// names reports whether the user has named HOST:PORT by a repository of Helm's or a login for a registry.
func (l *logins) names(hostPort string) bool {
	for _, e := range l.repositories {
		if e == nil {
			continue
		}
		if u, err := url.Parse(e.URL); err == nil && egress.HostPort(u) == hostPort {
			return true
		}
	}
	login, err := l.keychain.Resolve(registryOf(strings.TrimSuffix(hostPort, ":443")))
	return err == nil && login != authn.Anonymous
}

// registryOf is a registry by its host.
type registryOf string

func (r registryOf) String() string      { return string(r) }
func (r registryOf) RegistryStr() string { return string(r) }

// basic adds a repository's user and password to requests for the repository. It adds them to other
// requests only if Helm is configured to (--pass-credentials).
type basic struct {
	next  http.RoundTripper
	entry *repo.Entry
}

func (b *basic) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.entry.Username != "" && b.entry.Password != "" && (b.entry.PassCredentialsAll || b.own(r)) {
		r = r.Clone(r.Context())
		r.SetBasicAuth(b.entry.Username, b.entry.Password)
	}
	return b.next.RoundTrip(r)
}

func (b *basic) own(r *http.Request) bool {
	home, err := http.NewRequest(http.MethodGet, b.entry.URL, nil)
	return err == nil && sameOrigin(home.URL, r.URL)
}
