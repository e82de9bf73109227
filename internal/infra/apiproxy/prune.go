package apiproxy

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// pathsField is the number of the field paths in the message openapi.v2.Document of gnostic's
// OpenAPIv2.proto.
const pathsField = 8

// withoutPaths is an OpenAPI v2 document in protobuf without its paths. Argo CD's cache of a
// cluster reads the definitions only: from the paths it would learn which content types an
// operation takes, and it never asks.
func withoutPaths(doc []byte) ([]byte, error) {
	kept := make([]byte, 0, len(doc))
	for rest := doc; len(rest) > 0; {
		tag, n := binary.Uvarint(rest)
		if n <= 0 {
			return nil, errors.New("a field has no tag")
		}
		size := uint64(n)
		switch tag & 7 {
		case 0:
			_, m := binary.Uvarint(rest[n:])
			if m <= 0 {
				return nil, fmt.Errorf("field %d has no value", tag>>3)
			}
			size += uint64(m)
		case 1:
			size += 8
		case 2:
			length, m := binary.Uvarint(rest[n:])
			if m <= 0 || length > math.MaxInt32 {
				return nil, fmt.Errorf("field %d has no length", tag>>3)
			}
			size += uint64(m) + length
		case 5:
			size += 4
		default:
			return nil, fmt.Errorf("field %d has the unknown wire type %d", tag>>3, tag&7)
		}
		if size > uint64(len(rest)) {
			return nil, fmt.Errorf("field %d is cut", tag>>3)
		}
		if tag>>3 != pathsField {
			kept = append(kept, rest[:size]...)
		}
		rest = rest[size:]
	}
	return kept, nil
}

// patchesOnly is an OpenAPI v3 document with what kubectl's validator reads of it: which kinds have
// a PATCH, and with which parameters. The parameters of the components stay, since those of an
// operation may refer to them.
func patchesOnly(doc []byte) ([]byte, error) {
	type operation struct {
		Parameters json.RawMessage `json:"parameters,omitempty"`
		Kind       json.RawMessage `json:"x-kubernetes-group-version-kind,omitempty"`
	}
	type path struct {
		Patch *operation `json:"patch,omitempty"`
	}
	var d struct {
		OpenAPI    json.RawMessage `json:"openapi,omitempty"`
		Info       json.RawMessage `json:"info,omitempty"`
		Paths      map[string]path `json:"paths"`
		Components struct {
			Parameters json.RawMessage `json:"parameters,omitempty"`
		} `json:"components,omitzero"`
	}
	if err := json.Unmarshal(doc, &d); err != nil {
		return nil, err
	}
	return json.Marshal(d)
}
