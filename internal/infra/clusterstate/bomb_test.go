package clusterstate

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
)

// A recipe's Secret that claims to be a Helm release must not fill the memory of the process that
// saves a snapshot: it is redacted like any other value.
func TestRedact_ReleaseBomb(t *testing.T) {
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	_, err := zipped.Write([]byte(`{"name":"x","manifest":"`))
	for blanks, i := bytes.Repeat([]byte(" "), 1<<20), 0; i < mostRelease>>20 && err == nil; i++ {
		_, err = zipped.Write(blanks)
	}
	if err == nil {
		_, err = zipped.Write([]byte(`"}`))
	}
	if err := errors.Join(err, zipped.Close()); err != nil {
		t.Fatal(err)
	}
	packed := []byte(base64.StdEncoding.EncodeToString(out.Bytes()))
	if got := string(redactRelease(packed)); got != Redacted {
		t.Errorf("got %d bytes, want %s", len(got), Redacted)
	}
	if _, err := decodeRelease(packed); err == nil || !strings.Contains(err.Error(), "unpacks to more than 64 MiB") {
		t.Errorf("got %v", err)
	}
}

// A manifest whose aliases stand for gigabytes is left out, as what is no YAML is.
func TestRedact_ManifestWithAliases(t *testing.T) {
	got := redactManifest("a: &a " + strings.Repeat("x", 1<<20) + "\nb: [" + strings.Repeat("*a,", 1000) + "]\n---\nkind: Pod\n")
	if !strings.Contains(got, "not YAML") || !strings.Contains(got, "kind: Pod") || len(got) > 1000 {
		t.Errorf("got %d bytes: %.200q", len(got), got)
	}
}
