package intake

import (
	"errors"
	"slices"
	"strings"
	"testing"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/recipe"
)

func TestPost(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		spec string
		want []string
		line int
		err  string
	}{
		"none":            {"interval: 1m", nil, 0, ""},
		"patches, images": {"postRenderers:\n- kustomize:\n    patches: [{target: {kind: Job}, patch: 'a: b'}]\n    images: [{name: a, newTag: \"1\"}]\n- kustomize: {images: [{name: b, digest: c}]}", []string{`{"patches":[{"patch":"a: b","target":{"kind":"Job"}}],"images":[{"name":"a","newTag":"1"}]}`, `{"images":[{"name":"b","digest":"c"}]}`}, 0, ""},
		"common metadata": {"commonMetadata: {labels: {team: a}}", []string{`{"patches":[{"patch":"{\"apiVersion\":\"v1\",\"kind\":\"All\",\"metadata\":{\"labels\":{\"team\":\"a\"},\"name\":\"all\"}}","target":{"kind":".*"}}]}`}, 0, ""},
		"another field":   {"postRenderers:\n- kustomize:\n    images: []\n    patchesStrategicMerge: [{}]", nil, 4, "patchesStrategicMerge is not understood"},
		"no text":         {"postRenderers:\n- kustomize:\n    patches: [{target: {kind: Job}}]", nil, 3, "no text under patch"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var doc yamlv3.Node
			if err := yamlv3.Unmarshal([]byte(tc.spec), &doc); err != nil {
				t.Fatal(err)
			}
			got, err := helmReleasePost(doc.Content[0], func(line int) recipe.Origin { return recipe.Origin{File: "a.yaml", Line: line} })
			if !slices.Equal(got.Steps, tc.want) && tc.err == "" {
				t.Errorf("got %+v, want %q", got, tc.want)
			}
			wrong := (*helmReleaseError)(nil)
			if tc.err != "" && (!errors.As(err, &wrong) || wrong.Node.Line != tc.line || !strings.Contains(err.Error(), tc.err)) || tc.err == "" && err != nil {
				t.Errorf("got %v, want %q at line %d", err, tc.err, tc.line)
			}
		})
	}
}
