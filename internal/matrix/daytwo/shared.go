package daytwo

import (
	"crypto"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"hash/adler32"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"helm.sh/helm/v3/pkg/chart"

	"github.com/nvidia/aicr-action/internal/bundle"
)

const (
	// leastShared is the length of a value from which it is not equal by chance, leastWithin the
	// length from which it is not part of a longer one by chance.
	leastShared, leastWithin = 4, 8
	// mostPEM bounds the certificates and keys of one value.
	mostPEM = 8
)

func keysIn(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

func joined(above, key string) string {
	switch {
	case strings.ContainsAny(key, "./"):
		return above + "[" + strconv.Quote(key) + "]"
	case above == "":
		return key
	}
	return above + "." + key
}

// shared says what an ordinary object's value is to a hook's, e.g. "the same value"; empty if
// nothing shows that they have to do with each other.
func shared(hooks, others string) string {
	for _, h := range textsOf(hooks) {
		for _, o := range textsOf(others) {
			switch {
			case clock(h) || clock(o):
			case h == o && len(h) >= leastShared:
				return "the value"
			case len(h) >= leastWithin && strings.Contains(o, h), len(o) >= leastWithin && strings.Contains(h, o):
				return "the value in another text"
			case hashed(h, o):
				return "a checksum of the value"
			case certified(h, o):
				return "a certificate or key of the pair"
			}
		}
	}
	return ""
}

// textsOf are a value as it stands, and what it is the base64 of.
func textsOf(value string) []string {
	all := []string{strings.TrimSpace(value)}
	if raw, err := base64.StdEncoding.DecodeString(all[0]); err == nil && len(raw) >= leastShared {
		all = append(all, strings.TrimSpace(string(raw)))
	}
	return all
}

// clock reports whether a value is the time of the rendering, which objects share without a meaning.
func clock(value string) bool {
	if len(value) > 40 {
		return false
	}
	for _, day := range []time.Time{time.Now(), time.Now().Add(-24 * time.Hour), time.Now().Add(24 * time.Hour)} {
		for _, form := range []string{"2006-01-02", "20060102", "02 Jan 2006", "Jan _2", "2006/01/02"} {
			if strings.Contains(value, day.UTC().Format(form)) {
				return true
			}
		}
	}
	seconds, err := strconv.ParseInt(value[:min(len(value), 10)], 10, 64)
	return err == nil && len(value) >= 10 && time.Since(time.Unix(seconds, 0)).Abs() < 48*time.Hour
}

// hashed reports whether the second is a checksum of the first, or the beginning of one.
func hashed(value, sum string) bool {
	if len(sum) < leastWithin {
		return false
	}
	for _, text := range []string{value, value + "\n", base64.StdEncoding.EncodeToString([]byte(value))} {
		raw := []byte(text)
		one, two, five := sha1.Sum(raw), sha256.Sum256(raw), sha512.Sum512(raw) //nolint:gosec // what charts use
		for _, s := range [][]byte{one[:], two[:], five[:]} {
			if strings.HasPrefix(hex.EncodeToString(s), sum) {
				return true
			}
		}
		if sum == fmt.Sprint(adler32.Checksum(raw)) {
			return true
		}
	}
	return false
}

// certified reports whether a certificate or key of one text belongs to a certificate of the other:
// one has signed the other, or both have one public key.
func certified(a, b string) bool {
	certs, keys := pemOf(a)
	others, otherKeys := pemOf(b)
	for _, c := range certs {
		if slices.ContainsFunc(others, func(o *x509.Certificate) bool {
			return c.CheckSignatureFrom(o) == nil || o.CheckSignatureFrom(c) == nil
		}) {
			return true
		}
		keys = append(keys, c.PublicKey)
	}
	for _, o := range others {
		otherKeys = append(otherKeys, o.PublicKey)
	}
	for _, k := range keys {
		public, ok := k.(interface{ Equal(crypto.PublicKey) bool })
		if ok && slices.ContainsFunc(otherKeys, func(o crypto.PublicKey) bool { return public.Equal(o) }) {
			return true
		}
	}
	return false
}

// pemOf are the certificates of a text, and the public keys of its private ones.
func pemOf(text string) (certs []*x509.Certificate, keys []crypto.PublicKey) {
	rest := []byte(text)
	for range mostPEM {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if c, err := x509.ParseCertificate(block.Bytes); err == nil {
			certs = append(certs, c)
		}
		var private any
		var err error
		switch block.Type {
		case "RSA PRIVATE KEY":
			private, err = x509.ParsePKCS1PrivateKey(block.Bytes)
		case "EC PRIVATE KEY":
			private, err = x509.ParseECPrivateKey(block.Bytes)
		default:
			private, err = x509.ParsePKCS8PrivateKey(block.Bytes)
		}
		if signer, ok := private.(crypto.Signer); ok && err == nil {
			keys = append(keys, signer.Public())
		}
	}
	return certs, keys
}

var hexText = regexp.MustCompile(`^[0-9a-f]{8,128}$`)

// checksumOf reports whether an ordinary object's value is a checksum of the template that renders
// the hook: {{ include (print $.Template.BasePath "/secret.yaml") . | sha256sum }}. That renders the
// template once more, so that it has other values than the hook.
func checksumOf(in *bundle.Install, hook *bundle.Object, o leaf) bool {
	if !hexText.MatchString(o.value) {
		return false
	}
	included := "/" + path.Base(hook.Template) + `"`
	found := false
	templatesOf(in, func(name string, t *chart.File) {
		if name != o.of.Template {
			return
		}
		for _, action := range actionText.FindAllString(string(t.Data), -1) {
			found = found || strings.Contains(action, "include") && strings.Contains(action, included) && strings.Contains(action, "sum")
		}
	})
	return found
}
