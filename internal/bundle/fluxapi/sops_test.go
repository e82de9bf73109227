package fluxapi

import (
	"encoding/base64"
	"encoding/json"
	"testing"

	yamlv3 "go.yaml.in/yaml/v3"
)

// A pull secret that SOPS has encrypted still has logins that the API server and a kubelet can read.
func TestFillEncrypted(t *testing.T) {
	for field, decode := range map[string]func(string) ([]byte, error){"data": base64.StdEncoding.DecodeString, "stringData": func(s string) ([]byte, error) { return []byte(s), nil }} {
		var doc yamlv3.Node
		if err := yamlv3.Unmarshal([]byte("kind: Secret\n"+field+": {.dockerconfigjson: 'ENC[AES256_GCM,data:a=]', .dockercfg: 'ENC[AES256_GCM,data:a=]', other: 'ENC[AES256_GCM,data:a=]', plain: cA==}\nsops: {mac: x}\n"), &doc); err != nil {
			t.Fatal(err)
		}
		FillEncrypted(doc.Content[0])
		var made map[string]any
		if err := doc.Decode(&made); err != nil {
			t.Fatal(err)
		}
		values, _ := made[field].(map[string]any)
		for _, key := range []string{".dockerconfigjson", ".dockercfg"} {
			text, _ := values[key].(string)
			raw, err := decode(text)
			var logins map[string]any
			if err != nil || json.Unmarshal(raw, &logins) != nil {
				t.Errorf("%s: got %q for %s, want JSON", field, text, key)
			}
		}
		text, _ := values["other"].(string)
		if raw, err := decode(text); err != nil || len(raw) == 0 || values["plain"] != "cA==" || made["sops"] != nil {
			t.Errorf("%s: got %v", field, made)
		}
	}
}
