package clusterstate

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// The fields of a release that `helm list`, `status`, `history` and `get manifest` need. Its values
// and notes are left out since they may contain credentials, and the chart's files since they are
// large. The values are in the bundle beside the snapshot. Fields that are not listed here are left
// out, so that a field of a later Helm cannot leak.
var (
	releaseFields = []string{"name", "namespace", "version", "apply_method"}
	infoFields    = []string{"first_deployed", "last_deployed", "deleted", "description", "status"}
	chartFields   = []string{"metadata", "lock"}
	hookFields    = []string{"name", "kind", "path", "events", "last_run", "weight", "delete_policies", "output_log_policies"}
)

// valuesNote is what `helm get values` prints.
const valuesNote = "the values are not in a snapshot; the bundle beside it has them"

// redactRelease takes what may be secret out of a release as Helm stores it: JSON, gzipped, in
// base64. One that does not decode is replaced as any other value is.
func redactRelease(stored []byte) []byte {
	release, err := decodeRelease(stored)
	if err != nil {
		return []byte(Redacted)
	}
	kept := only(release, releaseFields)
	kept["config"] = map[string]any{Redacted: valuesNote}
	if info, ok := release["info"].(map[string]any); ok {
		kept["info"] = only(info, infoFields)
		if notes, _ := info["notes"].(string); notes != "" {
			kept["info"].(map[string]any)["notes"] = Redacted
		}
	}
	if chart, ok := release["chart"].(map[string]any); ok {
		kept["chart"] = only(chart, chartFields)
	}
	if manifest, ok := release["manifest"].(string); ok {
		kept["manifest"] = redactManifest(manifest)
	}
	if hooks, ok := release["hooks"].([]any); ok {
		var all []any
		for _, h := range hooks {
			hook, ok := h.(map[string]any)
			if !ok {
				continue
			}
			redacted := only(hook, hookFields)
			if manifest, ok := hook["manifest"].(string); ok {
				redacted["manifest"] = redactManifest(manifest)
			}
			all = append(all, redacted)
		}
		kept["hooks"] = all
	}
	out, err := encodeRelease(kept)
	if err != nil {
		return []byte(Redacted)
	}
	return out
}

func only(m map[string]any, fields []string) map[string]any {
	kept := map[string]any{}
	for _, f := range fields {
		if v, ok := m[f]; ok {
			kept[f] = v
		}
	}
	return kept
}

// mostRelease is the limit for an unpacked release, in bytes. A Secret of one megabyte may unpack
// to a thousand, and a recipe can contain any Secret.
const mostRelease = 64 << 20

// decodeRelease follows helm.sh/helm/v3/pkg/storage/driver/util.go, which does not export it. Old
// releases are not gzipped.
func decodeRelease(stored []byte) (map[string]any, error) {
	raw, err := base64.StdEncoding.DecodeString(string(stored))
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(raw, []byte{0x1f, 0x8b, 0x08}) {
		r, err := gzip.NewReader(bytes.NewReader(raw))
		if err != nil {
			return nil, err
		}
		if raw, err = io.ReadAll(io.LimitReader(r, mostRelease+1)); err != nil {
			return nil, err
		}
		if len(raw) > mostRelease {
			return nil, fmt.Errorf("it unpacks to more than %d MiB", mostRelease>>20)
		}
	}
	var release map[string]any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return release, d.Decode(&release)
}

func encodeRelease(release map[string]any) ([]byte, error) {
	raw, err := json.Marshal(release)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	if _, err := zipped.Write(raw); err != nil {
		return nil, err
	}
	if err := zipped.Close(); err != nil {
		return nil, err
	}
	return []byte(base64.StdEncoding.EncodeToString(out.Bytes())), nil
}

// separator matches a line that starts a YAML document. In YAML such a line does so in any place.
var separator = regexp.MustCompile(`(?m)^---(?:[ \t\r].*)?$`)

// redactManifest replaces the values of the Secrets in a manifest. It copies other documents byte
// by byte, and leaves out one that is not YAML, since its content is unknown.
func redactManifest(manifest string) string {
	docs := separator.Split(manifest, -1)
	for i, doc := range docs {
		var content any
		err := yamlx.Check([]byte(doc))
		if err == nil {
			err = yaml.Unmarshal([]byte(doc), &content)
		}
		if err != nil {
			docs[i] = "\n# " + Redacted + ": not YAML\n"
			continue
		}
		if !redactObject(content) {
			continue
		}
		out, err := yaml.Marshal(content)
		if err != nil {
			out = []byte("# " + Redacted + "\n")
		}
		docs[i] = "\n" + heading(doc) + string(out)
	}
	return strings.Join(docs, "---")
}

// heading is Helm's comment about the template that a document is from.
func heading(doc string) string {
	for _, line := range strings.Split(doc, "\n") {
		if strings.HasPrefix(line, "# Source: ") {
			return line + "\n"
		}
	}
	return ""
}

// redactObject replaces the values of every Secret in content, also of those in a List or in
// another object. It reports whether there was one.
func redactObject(content any) bool {
	found := false
	switch v := content.(type) {
	case []any:
		for _, item := range v {
			found = redactObject(item) || found
		}
	case map[string]any:
		for _, item := range v {
			found = redactObject(item) || found
		}
		if v["kind"] != "Secret" || v["apiVersion"] != "v1" {
			return found
		}
		found = true
		redactManifestSecret(v)
	}
	return found
}

func redactManifestSecret(secret map[string]any) {
	values := map[string][]byte{}
	for field, redacted := range map[string]string{"data": base64.StdEncoding.EncodeToString([]byte(Redacted)), "stringData": Redacted} {
		entries, _ := secret[field].(map[string]any)
		for key, value := range entries {
			if value == nil || value == "" {
				continue
			}
			plain := []byte(fmt.Sprint(value))
			if decoded, err := base64.StdEncoding.DecodeString(string(plain)); err == nil && field == "data" {
				plain = decoded
			}
			values[field+key], entries[key] = plain, redacted
		}
	}
	meta, _ := secret["metadata"].(map[string]any)
	annotations, _ := meta["annotations"].(map[string]any)
	for name, value := range annotations {
		if tells(fmt.Sprint(value), values) {
			delete(annotations, name)
		}
	}
}
