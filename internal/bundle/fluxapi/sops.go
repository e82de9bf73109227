package fluxapi

// sops.go reads objects that SOPS has encrypted, whose key is not here.

import (
	"encoding/base64"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// placeholder is the value of an encrypted key: text that stands for itself, or logins for no registry where the API server and
// kubelets want logins.
func placeholder(key string) string {
	switch key {
	case corev1.DockerConfigJsonKey:
		return `{"auths":{}}`
	case corev1.DockerConfigKey:
		return "{}"
	}
	return "encrypted-by-sops"
}

// IsEncryptedSOPS reports whether a value is one that SOPS has encrypted.
func IsEncryptedSOPS(value string) bool { return strings.HasPrefix(value, "ENC[") }

// IsEncryptedSOPS reports whether SOPS has encrypted an object, or a part of it.
func IsEncrypted(n *yamlv3.Node) bool { return yamlx.Find(n, "sops") != nil }

// FillEncrypted makes a Secret or ConfigMap one that is not encrypted: its keys have placeholders for values.
func FillEncrypted(n *yamlv3.Node) {
	yamlx.Drop(n, "sops")
	secret := yamlx.Text(n, "kind") == "Secret"
	for _, field := range []string{"data", "stringData", "binaryData"} {
		data := yamlx.Find(n, field)
		if data == nil || data.Kind != yamlv3.MappingNode {
			continue
		}
		for i := 1; i < len(data.Content); i += 2 {
			if value := data.Content[i]; IsEncryptedSOPS(value.Value) {
				value.Value, value.Tag, value.Style = placeholder(data.Content[i-1].Value), "!!str", 0
				if field != "stringData" && (secret || field == "binaryData") {
					value.Value = base64.StdEncoding.EncodeToString([]byte(value.Value))
				}
			}
		}
	}
}

// Unseal leaves out what SOPS has encrypted of an object's data, and gives its keys.
func Unseal(n *yamlv3.Node) (keys []string) {
	for _, field := range []string{"data", "stringData"} {
		data := yamlx.Find(n, field)
		for i := 0; data != nil && i+1 < len(data.Content); i += 2 {
			if IsEncryptedSOPS(data.Content[i+1].Value) {
				keys = append(keys, data.Content[i].Value)
			}
		}
	}
	for _, key := range keys {
		yamlx.Drop(yamlx.Find(n, "data"), key)
		yamlx.Drop(yamlx.Find(n, "stringData"), key)
	}
	return keys
}
