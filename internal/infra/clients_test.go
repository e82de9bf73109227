package infra

import (
	"crypto/tls"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"
)

// A cluster that is removed and created again with the same name has its CA in a file of the same
// path. The clients of the new cluster run in the same process while those of the old one exist.
// client-go's cache of connections must not make them reject the new certificate.
func TestClients_ClusterCreatedAgain(t *testing.T) {
	dir := t.TempDir()
	ca, kubeconfig := filepath.Join(dir, "ca.crt"), filepath.Join(dir, "kubeconfig.yaml")
	var kept []*Clients // else the cache may let go of the old one's connections
	for _, generation := range []string{"v1.1.1", "v2.2.2"} {
		certificate, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		pair, err := tls.X509KeyPair(certificate, key)
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if err := json.NewEncoder(w).Encode(map[string]string{"gitVersion": generation}); err != nil {
				t.Error(err)
			}
		}))
		server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
		server.StartTLS()
		t.Cleanup(server.Close)

		if err := os.WriteFile(ca, certificate, 0o600); err != nil {
			t.Fatal(err)
		}
		cfg := clientcmdapi.NewConfig()
		cfg.Clusters["c"] = &clientcmdapi.Cluster{Server: server.URL, CertificateAuthority: ca}
		cfg.Contexts["c"] = &clientcmdapi.Context{Cluster: "c"}
		cfg.CurrentContext = "c"
		if err := clientcmd.WriteToFile(*cfg, kubeconfig); err != nil {
			t.Fatal(err)
		}
		clients, err := NewClients(kubeconfig)
		if err != nil {
			t.Fatal(err)
		}
		kept = append(kept, clients)
		if v, err := clients.Discovery.ServerVersion(); err != nil || v.GitVersion != generation {
			t.Errorf("the version of %s: %v, %v", generation, v, err)
		}
	}
	if len(kept) != 2 {
		t.Error("both clusters' clients are to be in use at once")
	}
}
