package app

import (
	"encoding/base64"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// encryptedMark is what a value that SOPS has encrypted begins with.
const encryptedMark = "ENC["

// placeholder is the value of an encrypted key.
const placeholder = "encrypted-by-sops"

// encrypted reports whether SOPS has encrypted an object, or a part of it.
func encrypted(n *yamlv3.Node) bool { return yamlx.Find(n, "sops") != nil }

// decrypted gives an object as Flux applies it, if SOPS has encrypted it: a Secret or ConfigMap has
// its keys, with placeholders for values, since the key is not here. What is encrypted in others may
// decide what runs, and is refused.
func (f *fluxApp) decrypted(o object) (object, error) {
	if !encrypted(o.node) {
		return o, nil
	}
	if strings.HasPrefix(o.kind(), encryptedMark) || strings.HasPrefix(o.name(), encryptedMark) || o.kind() != "Secret" && o.kind() != "ConfigMap" {
		return o, f.repo.bad(o, nil, "this object is encrypted by SOPS beyond the data of a Secret or ConfigMap, and its key is not here: encrypt only these (encrypted_regex: ^(data|stringData)$), or run a copy of the path with test values")
	}
	made := object{o.file, yamlx.Clone(o.node)}
	yamlx.Drop(made.node, "sops")
	for _, field := range []string{"data", "stringData", "binaryData"} {
		data := yamlx.Find(made.node, field)
		if data == nil || data.Kind != yamlv3.MappingNode {
			continue
		}
		for i := 1; i < len(data.Content); i += 2 {
			if value := data.Content[i]; strings.HasPrefix(value.Value, encryptedMark) {
				value.Value, value.Tag, value.Style = placeholder, "!!str", 0
				if field != "stringData" && (o.kind() == "Secret" || field == "binaryData") {
					value.Value = base64.StdEncoding.EncodeToString([]byte(placeholder))
				}
			}
		}
	}
	f.override("%s %s (%s) is encrypted by SOPS, whose key is not here: its values are placeholders", o.kind(), o.name(), f.repo.at(o))
	return made, nil
}

// readable refuses values of a HelmRelease that are in an encrypted object: they decide what is
// installed.
func (f *fluxApp) readable(o object, namespace string, from *yamlv3.Node) error {
	if from == nil {
		return nil
	}
	for _, item := range from.Content {
		kind, name := yamlx.Text(item, "kind"), yamlx.Text(item, "name")
		i := slices.IndexFunc(f.values, func(s object) bool {
			return s.kind() == kind && s.name() == name && yamlx.Text(s.node, "metadata", "namespace") == namespace
		})
		if i >= 0 && encrypted(f.values[i].node) {
			return f.repo.badAt(o, item, "the values of HelmRelease %s are in %s %s (%s), which is encrypted by SOPS, and its key is not here: run a copy of the path with test values", o.name(), kind, name, f.repo.at(f.values[i]))
		}
	}
	return nil
}
