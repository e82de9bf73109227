package embedded

import (
	"bytes"
	"crypto/rand"
	"crypto/x509"
	"encoding/csv"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sigs.k8s.io/kwok/pkg/kwokctl/pki"
	kwokruntime "sigs.k8s.io/kwok/pkg/kwokctl/runtime"
)

// pkiFile is a file of the cluster's PKI: ca.crt, ca.key, admin.crt or admin.key.
func (c *ControlPlane) pkiFile(name string) string { return pkiFileIn(c.dir, name) }

// pkiFileIn is one in the directory of a cluster.
func pkiFileIn(dir, name string) string { return filepath.Join(dir, kwokruntime.PkiName, name) }

// writePKI makes the files that kwokctl would make: an authority, and one certificate for the API
// server and its clients. kwokctl makes none if the directory exists. Its keys would be RSA keys;
// these are on the curve P-256. That saves generating primes and most of each TLS handshake.
func (c *ControlPlane) writePKI() error {
	dir := filepath.Dir(c.pkiFile("ca.crt"))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	now := time.Now().UTC()
	begin, end := now.Add(-24*time.Hour), now.Add(pki.CertificateValidity)
	authority, authorityKey, err := pki.NewCertificateAuthority(pki.CertConfig{CommonName: "kwok-ca", PublicKeyAlgorithm: x509.ECDSA, NotBefore: begin, NotAfter: end})
	if err != nil {
		return fmt.Errorf("make the certificate authority of cluster %s: %w", c.name, err)
	}
	admin := pki.CertConfig{
		CommonName: pki.DefaultUser, Organization: pki.DefaultGroups, PublicKeyAlgorithm: x509.ECDSA, NotBefore: begin, NotAfter: end,
		Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, name := range pki.DefaultAltNames {
		if ip := net.ParseIP(name); ip != nil {
			admin.AltNames.IPs = append(admin.AltNames.IPs, ip)
		} else {
			admin.AltNames.DNSNames = append(admin.AltNames.DNSNames, name)
		}
	}
	certificate, key, err := pki.NewCertAndKey(authority, authorityKey, admin)
	if err != nil {
		return fmt.Errorf("make the certificate of cluster %s: %w", c.name, err)
	}
	if err := pki.WriteCertAndKey(dir, "ca", authority, authorityKey); err != nil {
		return err
	}
	if err := pki.WriteCertAndKey(dir, "admin", certificate, key); err != nil {
		return err
	}
	return c.writeToken()
}

// writeToken makes the token of the administrator, whom the certificate names too, in the file that
// the API server reads (--token-auth-file). The API server verifies a client's certificate anew with each request,
// 0.1 ms of CPU time, a sixteenth of all that it uses; a token it looks up.
func (c *ControlPlane) writeToken() error {
	c.token = rand.Text()
	var file bytes.Buffer
	w := csv.NewWriter(&file)
	_ = w.Write([]string{c.token, pki.DefaultUser, "", strings.Join(pki.DefaultGroups, ",")}) // a buffer takes everything
	w.Flush()
	return os.WriteFile(c.pkiFile(tokenFile), file.Bytes(), 0o600)
}

// tokenFile is the file of writeToken, in the directory of the cluster's PKI.
const tokenFile = "tokens.csv"
