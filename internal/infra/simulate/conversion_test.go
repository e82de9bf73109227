package simulate

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	kubefake "k8s.io/client-go/kubernetes/fake"

	"github.com/nvidia/aicr-action/internal/infra"
)

// The API server verifies the stand-in's certificate: by the caBundle of the definition if that is
// of a rendered certificate, and else by the authority that it takes for the system's.
func TestConversions(t *testing.T) {
	const host = "a.x.svc"
	recipes, system := newAuthority(t), newAuthority(t)
	pair, err := recipes.sign(host)
	if err != nil {
		t.Fatal(err)
	}
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "tls"}, Data: map[string][]byte{
		"tls.crt": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]}), "tls.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}), "note": []byte("neither"),
	}}
	for name, c := range map[string]struct {
		bundle string
		trusts *Authority
	}{
		"no caBundle":         {"", system},
		"the recipe's own":    {base64.StdEncoding.EncodeToString(recipes.PEM()), recipes},
		"one that knows none": {base64.StdEncoding.EncodeToString(newAuthority(t).PEM()), system},
	} {
		t.Run(name, func(t *testing.T) {
			crd := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "things.example.com"},
				"spec": map[string]any{"conversion": map[string]any{"webhook": map[string]any{"clientConfig": map[string]any{"caBundle": c.bundle, "service": map[string]any{"name": "a", "namespace": "x"}}}}}}}
			clients := &infra.Clients{Kube: kubefake.NewClientset(secret), Dynamic: fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{infra.CRDResource: "CustomResourceDefinitionList"}, crd)}
			socket := filepath.Join(t.TempDir(), "s")
			s, err := StartAPIServiceStandIn(socket, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			s.ServeConversions(system, clients)
			roots := x509.NewCertPool()
			roots.AppendCertsFromPEM(c.trusts.PEM())
			client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
				conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
				if err == nil {
					_, err = io.WriteString(conn, "CONNECT "+address+" HTTP/1.1\r\nHost: "+address+"\r\n\r\n")
				}
				if err == nil {
					_, err = io.ReadFull(conn, make([]byte, len("HTTP/1.1 200 Connection established\r\n\r\n")))
				}
				return conn, err
			}}}
			response, err := client.Post("https://"+host+"/convert", "application/json", strings.NewReader(
				`{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"u","desiredAPIVersion":"example.com/v1","objects":[{"apiVersion":"example.com/v1alpha1","kind":"Thing","spec":{"size":3}}]}}`))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = response.Body.Close() }()
			var got struct {
				Kind     string
				Response struct {
					UID              string
					ConvertedObjects []map[string]any
					Result           metav1.Status
				}
			}
			if err := json.NewDecoder(response.Body).Decode(&got); err != nil {
				t.Fatal(err)
			}
			objects := got.Response.ConvertedObjects
			if got.Kind != "ConversionReview" || got.Response.UID != "u" || got.Response.Result.Status != "Success" || len(objects) != 1 || objects[0]["apiVersion"] != "example.com/v1" || objects[0]["kind"] != "Thing" {
				t.Errorf("got %+v", got)
			}
			if !slices.Equal(s.Converted(), []string{"example.com by a.x.svc"}) {
				t.Errorf("it says that it converted %q", s.Converted())
			}
		})
	}
}

func newAuthority(t *testing.T) *Authority {
	t.Helper()
	a, err := NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	return a
}
