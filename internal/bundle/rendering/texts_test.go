package rendering

import (
	"strings"
	"testing"
)

func TestParse_Texts(t *testing.T) {
	for doc, want := range map[string]string{
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {port: 80}}":                                                                       "ConfigMap a: data.port is no text, but 80",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {on: yes}}}":                                                                      "metadata.labels.true is no text, but true",
		"{apiVersion: v1, kind: ConfigMapList, items: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {port: 80}}]}":                       "ConfigMap a: data.port is no text",
		"{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {ratio: 1.5}}":                                                                  "stringData.ratio is no text, but 1.5",
		"{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {selector: {gpu: true}}}":                                                            "spec.selector.gpu is no text, but true",
		"{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {template: {spec: {nodeSelector: {gpu: true}}}}}":                            "Deployment a: spec.template.spec.nodeSelector.gpu is no text, but true",
		"{apiVersion: batch/v1, kind: CronJob, metadata: {name: a}, spec: {jobTemplate: {spec: {template: {metadata: {annotations: {scrape: true}}}}}}}": "spec.jobTemplate.spec.template.metadata.annotations.scrape",
		"{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {nodeSelector: {gpu: 'true'}}}":                                                          "",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {empty: null}}, data: {a: '80'}}":                                            "",
		"{apiVersion: a.example.com/v1, kind: Widget, metadata: {name: a}, data: {port: 80}}":                                                            "",
	} {
		_, err := ParseDocuments(doc)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", doc, err, want)
		}
	}
}
