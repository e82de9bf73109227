package simulate

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"io"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/cert"

	"github.com/nvidia/aicr-action/internal/infra"
)

// A CustomResourceDefinition may have a webhook that converts between its versions. The pods that
// serve it are simulated, so the API server could neither create an object in another version than
// the stored one nor list those that exist, and Argo CD, which lists every kind, would wait for its
// whole budget. The stand-in converts as a definition without a webhook does: it changes nothing
// but apiVersion.

// maxReview bounds the text of a request to convert.
const maxReview = 64 << 20

// Authority signs the certificates of stand-ins that the API server verifies. The API server takes
// it for one of the system's, so that it counts for a webhook without a caBundle: on a real cluster
// an operator fills that in.
type Authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// NewAuthority makes an authority for one cluster.
func NewAuthority() (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := certificateTemplate("stand-ins")
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	return &Authority{certificate, key}, err
}

// PEM is the authority's certificate.
func (a *Authority) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: a.certificate.Raw})
}

// sign makes a certificate for a host.
func (a *Authority) sign(host string) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := certificateTemplate(host)
	template.DNSNames, template.ExtKeyUsage = []string{host}, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, a.key)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}

func certificateTemplate(name string) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(1, 0, 0)}
}

// ServeConversions answers requests to convert objects. A certificate is the recipe's own, from a
// Secret, if that is what the caBundle of the definition trusts, and else one of the authority.
func (s *APIServiceStandIn) ServeConversions(a *Authority, clients *infra.Clients) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.certificate = func(host string) (*tls.Certificate, error) {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if own, err := servedBy(ctx, clients, host); err == nil && own != nil {
			return own, nil
		}
		return a.sign(host)
	}
}

// certificateOf chooses the certificate for a connection: one for its host if that is a Service's,
// and else that of every stand-in, which no client verifies.
func (s *APIServiceStandIn) certificateOf(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	s.mu.Lock()
	choose := s.certificate
	s.mu.Unlock()
	if choose == nil || !strings.HasSuffix(hello.ServerName, ".svc") {
		return nil, nil // the configuration's
	}
	return choose(hello.ServerName)
}

// servedBy returns the certificate in a Secret of a Service's namespace that is for its host, and
// that the caBundle of a definition which converts there trusts; nil if there is none.
func servedBy(ctx context.Context, clients *infra.Clients, host string) (*tls.Certificate, error) {
	name, namespace, _ := strings.Cut(strings.TrimSuffix(host, ".svc"), ".")
	secrets, err := clients.Kube.CoreV1().Secrets(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var candidates []*tls.Certificate
	for i := range secrets.Items {
		candidates = append(candidates, pairsFor(&secrets.Items[i], host)...)
	}
	if len(candidates) == 0 {
		return nil, nil
	}
	definitions, err := clients.Dynamic.Resource(infra.CRDResource).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for i := range definitions.Items {
		client, _, _ := unstructured.NestedMap(definitions.Items[i].Object, "spec", "conversion", "webhook", "clientConfig")
		if to, _ := client["service"].(map[string]any); to["name"] != name || to["namespace"] != namespace {
			continue
		}
		bundle, _ := client["caBundle"].(string)
		raw, err := base64.StdEncoding.DecodeString(bundle)
		roots := x509.NewCertPool()
		if err != nil || !roots.AppendCertsFromPEM(raw) {
			continue
		}
		for _, pair := range candidates {
			if trusted(pair, host, roots) {
				return pair, nil
			}
		}
	}
	return nil, nil
}

// pairsFor returns the certificates for a host that a Secret has with their keys.
func pairsFor(s *corev1.Secret, host string) []*tls.Certificate {
	var all []*tls.Certificate
	for _, c := range s.Data {
		for _, k := range s.Data {
			pair, err := tls.X509KeyPair(c, k)
			if err == nil && pair.Leaf.VerifyHostname(host) == nil {
				all = append(all, &pair)
			}
		}
	}
	return all
}

func trusted(pair *tls.Certificate, host string, roots *x509.CertPool) bool {
	between := x509.NewCertPool()
	for _, der := range pair.Certificate[1:] {
		if c, err := x509.ParseCertificate(der); err == nil {
			between.AddCert(c)
		}
	}
	_, err := pair.Leaf.Verify(x509.VerifyOptions{DNSName: host, Roots: roots, Intermediates: between})
	return err == nil
}

// convert answers a request of the API server to convert objects; false if it is another request.
func (s *APIServiceStandIn) convert(w http.ResponseWriter, r *http.Request) bool {
	if r.Method != http.MethodPost {
		return false
	}
	var review struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Request    *struct {
			UID               string           `json:"uid"`
			DesiredAPIVersion string           `json:"desiredAPIVersion"`
			Objects           []map[string]any `json:"objects"`
		} `json:"request"`
	}
	if json.NewDecoder(io.LimitReader(r.Body, maxReview)).Decode(&review) != nil || review.Kind != "ConversionReview" || review.Request == nil {
		http.Error(w, "a stand-in answers here, for requests to convert objects only", http.StatusBadRequest)
		return true
	}
	for _, o := range review.Request.Objects {
		o["apiVersion"] = review.Request.DesiredAPIVersion
	}
	s.mu.Lock()
	host, _, _ := strings.Cut(r.Host, ":")
	if group, _, _ := strings.Cut(review.Request.DesiredAPIVersion, "/"); !slices.Contains(s.converted, group+" by "+host) {
		s.converted = append(s.converted, group+" by "+host)
	}
	s.mu.Unlock()
	_ = json.NewEncoder(w).Encode(map[string]any{"apiVersion": review.APIVersion, "kind": review.Kind, "response": map[string]any{
		"uid": review.Request.UID, "convertedObjects": review.Request.Objects, "result": map[string]any{"status": metav1.StatusSuccess},
	}}) // an error means that the client has disconnected
	return true
}

// Converted lists the API groups whose objects it has converted, each with the server in whose
// place.
func (s *APIServiceStandIn) Converted() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(slices.Values(s.converted))
}
