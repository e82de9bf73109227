package delivery

import (
	"encoding/base64"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var noBase64 = judge.Check{
	ID: "MX527", Name: "data-is-no-base64", Needs: judge.Rendered, Kinds: judge.KindsOf("", "ConfigMap", "Secret"), Gives: reason.DeployFailed,
	Title: "The data of a Secret, and the binaryData of a ConfigMap, is base64",
	Why:   "The API server decodes it when it reads the object (https://kubernetes.io/docs/concepts/configuration/secret/#restriction-names-data), and its error names neither the object nor the key.",
	Fix:   "Encode the value (b64enc in a template), or give it under stringData.",
	Says:  "has a value for key %s that is no base64 (%s)", Then: "the API server cannot read it: write it with b64enc, or under stringData",
	Run: func(s *judge.Scope) {
		for _, o := range s.Rendered(judge.KindsOf("", "ConfigMap", "Secret")...) {
			field := "data"
			if o.Object.GetKind() == "ConfigMap" {
				field = "binaryData"
			}
			data, _, _ := unstructured.NestedMap(o.Object.Object, field) // what is no map is refused for that
			for _, key := range slices.Sorted(maps.Keys(data)) {
				text, ok := data[key].(string)
				if _, err := base64.StdEncoding.DecodeString(text); ok && err != nil {
					s.Report(o, field+"."+key, key, err)
				}
			}
		}
	},
}
