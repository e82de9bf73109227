package clusterstate

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
)

// Redacted stands in the place of each value of a Secret. An empty value stays empty: that is worth
// knowing, and tells nothing.
const Redacted = "REDACTED"

// secrets is the prefix of the keys of Secrets in etcd. ServiceAccount tokens, bootstrap tokens,
// TLS keys, registry credentials and Helm's releases are all below it. No other key holds a
// credential of the cluster.
const secrets = prefix + "secrets/"

// helmType is the type of the Secrets in which Helm keeps its releases.
const helmType corev1.SecretType = "helm.sh/release.v1"

// redactor decodes and encodes Secrets as the API server stores them.
type redactor struct {
	decoder runtime.Decoder
	encoder runtime.Encoder
}

func newRedactor() (*redactor, error) {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	codecs := serializer.NewCodecFactory(scheme)
	// The encoder writes protobuf, the API server's default. The decoder also reads JSON
	// (--storage-media-type).
	encoder := codecs.EncoderForVersion(protobuf.NewSerializer(scheme, scheme), corev1.SchemeGroupVersion)
	return &redactor{decoder: codecs.UniversalDeserializer(), encoder: encoder}, nil
}

// redact returns a Secret's stored form without its values. It returns an error for a Secret that
// it cannot decode, e.g. because of encryption at rest.
func (r *redactor) redact(stored []byte) ([]byte, error) {
	obj, _, err := r.decoder.Decode(stored, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("decode a Secret: %w", err)
	}
	s, ok := obj.(*corev1.Secret)
	if !ok {
		return nil, fmt.Errorf("decode a Secret: it is a %T", obj)
	}
	redactSecret(s)
	var out bytes.Buffer
	if err := r.encoder.Encode(s, &out); err != nil {
		return nil, fmt.Errorf("encode Secret %s/%s: %w", s.Namespace, s.Name, err)
	}
	return out.Bytes(), nil
}

func redactSecret(s *corev1.Secret) {
	for name, value := range s.Annotations {
		if tells(value, s.Data) {
			delete(s.Annotations, name)
		}
	}
	for key, value := range s.Data {
		switch {
		case len(value) == 0:
		case s.Type == helmType && key == "release":
			s.Data[key] = redactRelease(value)
		default:
			s.Data[key] = []byte(Redacted)
		}
	}
	for key := range s.StringData { // never stored, says the API; a client may have bypassed it
		s.StringData[key] = Redacted
	}
}

// tells reports whether an annotation gives a value away: one that holds an object, as
// kubectl.kubernetes.io/last-applied-configuration does (its values may be older ones), or one of
// the values itself.
func tells(annotation string, data map[string][]byte) bool {
	if strings.HasPrefix(strings.TrimSpace(annotation), "{") {
		return true
	}
	for _, value := range data {
		if len(value) > 0 && (strings.Contains(annotation, string(value)) || strings.Contains(annotation, base64.StdEncoding.EncodeToString(value))) {
			return true
		}
	}
	return false
}
