package refs

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// What a kubelet makes of a path, with the sentences that the real one (1.36) had for the same templates: "missing
// value for NOPE", "must not be an absolute path", "must not contain '..'".
func TestPaths(t *testing.T) {
	in := kubeletAround{
		Data: func(kind, name string) kubeletData {
			return map[string]kubeletData{
				"ConfigMap have":  {Values: map[string]string{"DIR": "d", "EMPTY": "", "ABS": "/abs", "UP": "a/../b", "dash-ed": "e"}},
				"Secret have":     {Values: map[string]string{"UP": ".."}},
				"Secret live":     {Keys: []string{"DIR"}},
				"ConfigMap later": {Open: true},
			}[kind+" "+name]
		},
		Labels:  map[string]string{"app": "web", "none": "", "up": ".."},
		Service: func(name string) bool { return ofService("my-db", name) },
	}
	const (
		from  = "envFrom: [{configMapRef: {name: have}}]"
		field = "env: [{name: P, valueFrom: {fieldRef: {fieldPath: \"%\"}}}]"
	)
	fields := func(path string) string { return strings.Replace(field, "%", path, 1) }
	for _, c := range []struct{ expr, env, want string }{
		{"$(POD)/x", "", "container m mounts /v at $(POD)/x of volume v (subPathExpr), and has no variable POD"},
		{"$(POD)/$$(X)", "env: [{name: POD, value: p}]", ""},
		{"$(POD)", "env: [{name: POD}]", "and its variable POD is empty"},
		{"$(NOPE)", from, "and has no variable NOPE"},
		{"$(DIR)", from, ""},
		{"$(dash-ed)", from, ""},
		{"$(EMPTY)", from, "and its variable EMPTY is empty"},
		{"$(ABS)", from, "at $(ABS) of volume v (subPathExpr), which is the absolute path /abs"},
		{"x$(ABS)", from, ""},
		{"$(UP)", from, "which is a/../b, and a path of a volume may not contain '..'"},
		{"$(A_DIR)", "envFrom: [{prefix: A_, configMapRef: {name: have}}]", ""},
		{"$(DIR)", "envFrom: [{prefix: A_, configMapRef: {name: have}}]", "and has no variable DIR"},
		{"$(UP)", "envFrom: [{secretRef: {name: have}}]", "which is .., and"},
		{"$(DIR)", "envFrom: [{secretRef: {name: live}}]", ""},
		{"$(DIR)/../x", "envFrom: [{secretRef: {name: live}}]", "which is x/../x, and"},
		{"/$(DIR)", "envFrom: [{secretRef: {name: live}}]", "which is the absolute path /x"},
		{"$(NOPE)", "envFrom: [{secretRef: {name: live}}]", "and has no variable NOPE"},
		{"$(NOPE)", "envFrom: [{configMapRef: {name: later}}]", ""},
		{"$(NOPE)", "envFrom: [{configMapRef: {name: later}}], env: [{name: NOPE, value: /}]", "the absolute path /"},
		{"$(NOPE)", "envFrom: [{configMapRef: {name: gone, optional: true}}]", "and has no variable NOPE"},
		{"$(P)", "env: [{name: P, value: /abs}]", "the absolute path /abs"},
		{"$(P)", "env: [{name: P, value: ../x}]", "which is ../x, and"},
		{"$(P)", "env: [{name: P, value: ..x}]", ""},
		{"$(Q)", "env: [{name: P, value: ..}, {name: Q, value: $(P)/x}]", "which is ../x, and"},
		{"$(Q)", "env: [{name: Q, value: $(P)/x}, {name: P, value: ..}]", ""}, // $(P)/x as it is
		{"$(Q)", "env: [{name: P, value: ''}, {name: Q, value: $(P)}]", "and its variable Q is empty"},
		{"$(P)", "env: [{name: P, value: ..}, {name: P, value: x}]", ""},
		{"$(P", "", ""},
		{"$(A)$(B)", "", "and has no variable A; container m mounts /v at $(A)$(B) of volume v (subPathExpr), and has no variable B"},
		{"$(P)", "env: [{name: P, valueFrom: {configMapKeyRef: {name: have, key: ABS}}}]", "the absolute path /abs"},
		{"$(P)", "env: [{name: P, valueFrom: {secretKeyRef: {name: live, key: DIR}}}]", ""},
		{"$(P)", "env: [{name: P, valueFrom: {configMapKeyRef: {name: have, key: gone, optional: true}}}]", "and has no variable P"},
		{"$(P)", fields("metadata.name"), ""},
		{"$(P)", fields("metadata.labels['app']"), ""},
		{"$(P)", fields("metadata.labels['none']"), "and its variable P is empty"},
		{"$(P)", fields("metadata.labels['gone']"), "and its variable P is empty"},
		{"$(P)", fields("metadata.annotations['app']"), "and its variable P is empty"},
		{"$(P)", fields("metadata.labels['up']"), "which is .., and"},
		{"$(P)", fields("metadata.labels['pod-template-hash']"), ""},
		{"$(P)", fields("metadata.annotations['batch.kubernetes.io/job-completion-index']"), ""},
		{"$(KUBERNETES_SERVICE_HOST)", "", ""},
		{"$(MY_DB_SERVICE_PORT_SQL)/$(MY_DB_PORT_80_TCP_ADDR)", "", ""},
		{"$(MY_CACHE_SERVICE_HOST)", "", "and has no variable MY_CACHE_SERVICE_HOST"},
	} {
		var s corev1.PodSpec
		if err := yaml.UnmarshalStrict([]byte("{containers: [{name: m, "+c.env+map[bool]string{true: ", "}[c.env != ""]+"volumeMounts: [{name: v, mountPath: /v, subPathExpr: "+c.expr+"}]}]}"), &s); err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		var got []string
		for _, r := range kubeletPaths(&s, in) {
			got = append(got, r.Text)
		}
		if all := strings.Join(got, "; "); !strings.HasSuffix(all, c.want) && !strings.Contains(all, c.want) || c.want == "" && all != "" {
			t.Errorf("%s, %s: got %q, want %q", c.expr, c.env, all, c.want)
		}
	}
	var s corev1.PodSpec
	if err := yaml.Unmarshal([]byte("{enableServiceLinks: false, containers: [{name: m, volumeMounts: [{name: v, subPathExpr: $(MY_DB_SERVICE_HOST)$(KUBERNETES_PORT)}]}]}"), &s); err != nil {
		t.Fatal(err)
	}
	if got := kubeletPaths(&s, in); len(got) != 1 || !strings.Contains(got[0].Text, "no variable MY_DB_SERVICE_HOST") {
		t.Errorf("without links: got %+v", got)
	}
}
