package rendering

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Of a definition only the head is kept, and its conversion: the API server calls that.
func TestParse_Definition(t *testing.T) {
	const text = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Thing, plural: things}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {service: {name: a, namespace: b, port: 8443}}}}
`
	all, err := ParseDocuments(text)
	if err != nil || len(all) != 1 {
		t.Fatalf("got %v, %v", all, err)
	}
	port, ok, err := unstructured.NestedInt64(all[0].Object, "spec", "conversion", "webhook", "clientConfig", "service", "port")
	if port != 8443 || !ok || err != nil {
		t.Errorf("got port %d, %v, %v", port, ok, err)
	}
	versions, _, _ := unstructured.NestedSlice(all[0].Object, "spec", "versions")
	if v, _ := versions[0].(map[string]any); len(versions) != 1 || v["schema"] != nil || v["storage"] != true {
		t.Errorf("got the versions %v", versions)
	}
}

// An object without a name is an error that says what its deployers do with it (F196).
func TestParse_NoName(t *testing.T) {
	for text, want := range map[string]string{
		"{apiVersion: batch/v1, kind: Job, metadata: {generateName: once-}}": "Job with metadata.generateName once- and without metadata.name: Helm and Flux look objects up by their names, and Argo CD makes a name for hooks only; give it one",
		"{apiVersion: v1, kind: ConfigMap, metadata: {labels: {a: b}}}":      "ConfigMap without metadata.name",
	} {
		if _, err := ParseDocuments(text); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// A hook of Argo CD's may be without a name, since Argo CD makes one.
func TestParse_NameOfAHook(t *testing.T) {
	for annotation, want := range map[string]string{
		"argocd.argoproj.io/hook: PreSync":            "once-0000000-presync-0",
		"argocd.argoproj.io/hook: 'Nothing,PostSync'": "once-0000000-postsync-0",
		"helm.sh/hook: post-install":                  "once-0000000-postsync-0",
		"argocd.argoproj.io/hook: SyncFail":           "",
	} {
		all, err := ParseDocuments("{apiVersion: batch/v1, kind: Job, metadata: {generateName: once-, annotations: {" + annotation + "}}}")
		if got := err == nil && all[0].GetName() == want; got != (want != "") || want != "" && !generatedName(all[0]) {
			t.Errorf("%s: got %v, %v", annotation, all, err)
		}
	}
}
