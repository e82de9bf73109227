package policy

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func TestUnreadable(t *testing.T) {
	for text, want := range map[string]string{
		`{kind: Deployment, spec: {template: {spec: {containers: [{resources: {requests: {cpu: "1e999999999"}}}]}}}}`:                                 "spec template spec containers 0 resources requests cpu 1e999999999",
		`{kind: Deployment, spec: {template: {spec: {containers: [{resources: {limits: {memory: 1e999999999}}}]}}}}`:                                  "spec template spec containers 0 resources limits memory 1e999999999",
		`{kind: Deployment, spec: {template: {spec: {volumes: [{emptyDir: {sizeLimit: "1E-99999"}}]}}}}`:                                              "spec template spec volumes 0 emptyDir sizeLimit 1E-99999",
		`{kind: PersistentVolumeClaim, spec: {resources: {requests: {storage: "+.5e0001000"}}}}`:                                                      "spec resources requests storage +.5e0001000",
		`{kind: ResourceQuota, spec: {hard: {pods: "1e55555"}}}`:                                                                                      "spec hard pods 1e55555",
		`{kind: LimitRange, spec: {limits: [{type: Container, defaultRequest: {cpu: "1e55555"}}]}}`:                                                   "spec limits 0 defaultRequest cpu 1e55555",
		`{kind: HorizontalPodAutoscaler, spec: {metrics: [{external: {target: {value: "1e55555"}}}]}}`:                                                "spec metrics 0 external target value 1e55555",
		`{kind: Thing, apiVersion: example.com/v1, spec: {pod: {resources: {limits: {cpu: "1e55555"}}}}}`:                                             "spec pod resources limits cpu 1e55555",
		`{kind: Deployment, spec: {template: {metadata: {labels: {commit: "7e12345"}}, spec: {containers: [{env: [{name: A, value: "7e12345"}]}]}}}}`: "",
		`{kind: Deployment, spec: {template: {spec: {containers: [{resources: {requests: {cpu: "1e3", memory: 1.5Gi}}}]}}}}`:                          "",
		`{kind: ConfigMap, data: {requests: "1e99999"}}`:                                                                                              "",
		`{kind: Thing, apiVersion: example.com/v1, spec: {revision: "7e12345"}}`:                                                                      "",
	} {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
			t.Fatal(err)
		}
		path, value := unreadable(o)
		if got := strings.TrimSpace(strings.Join(path, " ") + " " + value); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}
