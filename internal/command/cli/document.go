package cli

import (
	"bytes"
	"encoding/json"

	"sigs.k8s.io/yaml"
)

// DocumentYAML is a value as YAML that reads back as exactly that value, and is inert, as Inert is,
// on any stream: a text that a CI runner would take for a command is written as JSON, which is YAML
// too. PrintYAML is for what is not read back.
func DocumentYAML(v any) ([]byte, error) {
	text, err := yaml.Marshal(v)
	if err != nil {
		return nil, err
	}
	return InertDocument(text)
}

// DocumentJSON is a value as JSON, inert as DocumentYAML is.
func DocumentJSON(v any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(inertJSON{&out})
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return out.Bytes(), err
}

// InertDocument is a YAML or JSON document as it is, if it is inert; otherwise the same document as
// JSON that is.
func InertDocument(text []byte) ([]byte, error) {
	if Inert(string(text)) == string(text) {
		return text, nil
	}
	raw, err := yaml.YAMLToJSON(text)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, raw, "", "  "); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return bytes.ReplaceAll(out.Bytes(), []byte("##["), []byte(`#\u0023[`)), nil
}
