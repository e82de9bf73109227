package facts

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// A key that a container mounts by itself is needed, and a path that no item of a volume makes is
// named. What is optional, or may come from several sources, is left out.
func TestOf_Parts(t *testing.T) {
	known := map[string][]string{"known": {"k"}}
	const mount = "containers: [{name: m, volumeMounts: [{name: v, mountPath: /etc/app.yaml, subPath: app.yaml}]}]}"
	for name, c := range map[string]struct{ spec, needs, unnamed string }{
		"a key":                    {"{volumes: [{name: v, configMap: {name: c}}], " + mount, "ConfigMap c app.yaml", ""},
		"of a Secret":              {"{volumes: [{name: v, secret: {secretName: s}}], " + mount, "Secret s app.yaml", ""},
		"of one source":            {"{volumes: [{name: v, projected: {sources: [{secret: {name: s}}]}}], " + mount, "Secret s app.yaml", ""},
		"of several":               {"{volumes: [{name: v, projected: {sources: [{secret: {name: s}}, {configMap: {name: c}}]}}], " + mount, "", ""},
		"optional":                 {"{volumes: [{name: v, configMap: {name: c, optional: true}}], " + mount, "", ""},
		"of a claim":               {"{volumes: [{name: v, persistentVolumeClaim: {claimName: c}}], " + mount, "", ""},
		"an item":                  {"{volumes: [{name: v, configMap: {name: c, items: [{key: k, path: app.yaml}]}}], " + mount, "ConfigMap c k", ""},
		"a directory of items":     {"{volumes: [{name: v, configMap: {name: c, items: [{key: k, path: app.yaml/x}]}}], " + mount, "ConfigMap c k", ""},
		"no item":                  {"{volumes: [{name: v, configMap: {name: c, items: [{key: app.yaml, path: other.yaml}]}}], " + mount, "ConfigMap c app.yaml", "m app.yaml v"},
		"no item of an optional":   {"{volumes: [{name: v, configMap: {name: c, optional: true, items: [{key: k, path: x}]}}], " + mount, "", ""},
		"the volume itself":        {"{volumes: [{name: v, configMap: {name: c}}], containers: [{name: m, volumeMounts: [{name: v, mountPath: /etc/app, subPath: ./}]}]}", "", ""},
		"below a key":              {"{volumes: [{name: v, configMap: {name: known}}], containers: [{name: m, volumeMounts: [{name: v, mountPath: /etc/app, subPath: k/x}]}]}", "", "m k/x v"},
		"below one of an unknown":  {"{volumes: [{name: v, configMap: {name: c}}], containers: [{name: m, volumeMounts: [{name: v, mountPath: /etc/app, subPath: k/x}]}]}", "", ""},
		"of fields":                {"{volumes: [{name: v, downwardAPI: {items: [{path: labels}]}}], " + mount, "", "m app.yaml v"},
		"of several with no such":  {"{volumes: [{name: v, projected: {sources: [{secret: {name: known}}, {configMap: {name: c, items: [{key: k, path: p}]}}, {serviceAccountToken: {path: t}}]}}], " + mount, "ConfigMap c k", "m app.yaml v"},
		"of several, one optional": {"{volumes: [{name: v, projected: {sources: [{secret: {name: known}}, {configMap: {name: known, optional: true}}]}}], " + mount, "", ""},
		"of an empty source":       {"{volumes: [{name: v, projected: {sources: [{}]}}], " + mount, "", "m app.yaml v"},
		"of several with such":     {"{volumes: [{name: v, projected: {sources: [{secret: {name: known}}, {serviceAccountToken: {path: app.yaml}}]}}], " + mount, "", ""},
		"the whole":                {"{volumes: [{name: v, configMap: {name: c}}], containers: [{name: m, volumeMounts: [{name: v, mountPath: /etc/app}]}]}", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var spec corev1.PodSpec
			if err := yaml.UnmarshalStrict([]byte(c.spec), &spec); err != nil {
				t.Fatal(err)
			}
			var got, unnamed []string
			for _, n := range NeedsOf(&spec) {
				if len(n.Keys) > 0 {
					got = append(got, fmt.Sprintf("%s %s %s", n.Kind, n.Name, strings.Join(n.Keys, ",")))
				}
			}
			for _, p := range NeedUnnamed(&spec, func(_, name string) []string { return known[name] }) {
				unnamed = append(unnamed, p.Container+" "+p.SubPath+" "+p.Volume)
			}
			if strings.Join(got, "; ") != c.needs || strings.Join(unnamed, "; ") != c.unnamed {
				t.Errorf("got %q and %q, want %q and %q", got, unnamed, c.needs, c.unnamed)
			}
		})
	}
}
