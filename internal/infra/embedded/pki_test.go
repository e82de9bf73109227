package embedded

import (
	"encoding/csv"
	"os"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/kwok/pkg/consts"

	"github.com/nvidia/aicr-action/internal/infra/host"
)

// The kubeconfig has a token and no certificate, and the API server takes that token for the user of
// the certificate. Each cluster has another, in files of the user's alone.
func TestAdministratorsToken(t *testing.T) {
	seen := map[string]bool{}
	for range 2 {
		c, _ := fakeCluster(t, host.Paths{Root: t.TempDir()}, "x", nil)
		if err := c.install(t.Context()); err != nil {
			t.Fatal(err)
		}
		cfg, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig())
		if err != nil {
			t.Fatal(err)
		}
		if cfg.BearerToken == "" || cfg.CertFile != "" || len(cfg.CertData) > 0 || seen[cfg.BearerToken] {
			t.Errorf("got token %q and certificate %q %d, want a new token alone", cfg.BearerToken, cfg.CertFile, len(cfg.CertData))
		}
		seen[cfg.BearerToken] = true
		file, err := os.Open(c.pkiFile(tokenFile))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = file.Close() }()
		records, err := csv.NewReader(file).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		admin, err := cert.CertsFromFile(c.pkiFile("admin.crt"))
		if err != nil {
			t.Fatal(err)
		}
		subject := admin[0].Subject
		if len(records) != 1 || !slices.Equal(records[0], []string{cfg.BearerToken, subject.CommonName, "", strings.Join(subject.Organization, ",")}) || len(subject.Organization) == 0 {
			t.Errorf("got tokens %q, want that of %s in %q", records, subject.CommonName, subject.Organization)
		}
		server, err := c.rt.GetComponent(t.Context(), consts.ComponentKubeApiserver)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(server.Args, "--token-auth-file="+c.pkiFile(tokenFile)) {
			t.Errorf("the API server does not read the token: %q", server.Args)
		}
		for _, path := range []string{c.pkiFile(tokenFile), c.Kubeconfig()} {
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s: got %v, %v; want mode 0600", path, info.Mode(), err)
			}
		}
	}
}
