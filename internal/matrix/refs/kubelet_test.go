package refs

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

func TestRefusals(t *testing.T) {
	const digest = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	for spec, want := range map[string]string{
		"{containers: [{name: m, image: a}]}": "",
		"{containers: [{name: m}]}":           "",
		"{containers: [{name: m, image: 'example.com:5000/a/b:1@sha256:" + digest + "'}]}":                                                           "",
		"{containers: [{name: m, image: 'example.com/a:'}]}":                                                                                         `container m has the image "example.com/a:", which is no name of an image (invalid reference format)`,
		"{containers: [{name: m, image: '/a:1'}]}":                                                                                                   `container m has the image "/a:1"`,
		"{containers: [{name: m, image: ':1'}]}":                                                                                                     `container m has the image ":1"`,
		"{initContainers: [{name: i, image: 'example.com/A:1'}], containers: [{name: m, image: a}]}":                                                 "container i has the image \"example.com/A:1\"",
		"{containers: [{name: m, image: 'a@sha256:12'}]}":                                                                                            `container m has the image "a@sha256:12"`,
		"{securityContext: {runAsNonRoot: true, runAsUser: 0}, containers: [{name: m, image: a}]}":                                                   "container m has runAsNonRoot: true and runAsUser: 0",
		"{securityContext: {runAsNonRoot: true}, containers: [{name: m, image: a, securityContext: {runAsUser: 0}}]}":                                "container m has runAsNonRoot: true and runAsUser: 0",
		"{securityContext: {runAsNonRoot: true, runAsUser: 0}, containers: [{name: m, image: a, securityContext: {runAsUser: 1000}}]}":               "",
		"{securityContext: {runAsNonRoot: true, runAsUser: 0}, containers: [{name: m, image: a, securityContext: {runAsNonRoot: false}}]}":           "",
		"{securityContext: {runAsNonRoot: true}, containers: [{name: m, image: a}]}":                                                                 "",
		"{containers: [{name: m, image: a, ports: [{name: http, containerPort: 80}], readinessProbe: {httpGet: {port: http}}}]}":                     "",
		"{containers: [{name: m, image: a, readinessProbe: {tcpSocket: {port: 80}}}]}":                                                               "",
		"{containers: [{name: m, image: a, readinessProbe: {httpGet: {port: http}}}, {name: n, image: a, ports: [{name: http}]}]}":                   "the readinessProbe of container m asks port http, and the container has no port of that name",
		"{initContainers: [{name: s, image: a, restartPolicy: Always, startupProbe: {tcpSocket: {port: up}}}], containers: [{name: m, image: a}]}":   "the startupProbe of container s asks port up",
		"{containers: [{name: m, image: a, livenessProbe: {httpGet: {port: http}}}]}":                                                                "harmless: the livenessProbe of container m",
		"{containers: [{name: m, image: a, lifecycle: {postStart: {httpGet: {port: http}}}}]}":                                                       "the postStart hook of container m asks port http",
		"{securityContext: {sysctls: [{name: net.core.somaxconn}]}, containers: [{name: m, image: a}]}":                                              "harmless: sets sysctl net.core.somaxconn",
		"{securityContext: {sysctls: [{name: net.ipv4.tcp_syncookies}], seccompProfile: {type: RuntimeDefault}}, containers: [{name: m, image: a}]}": "",
		"{securityContext: {seccompProfile: {type: Localhost, localhostProfile: p/none.json}}, containers: [{name: m, image: a}]}":                   "harmless: uses the seccomp profile p/none.json, a file of the node",
		"{containers: [{name: m, image: a, securityContext: {appArmorProfile: {type: Localhost, localhostProfile: strict}}}, {name: n, image: a, securityContext: {appArmorProfile: {type: Localhost, localhostProfile: strict}}}]}": "harmless: uses the AppArmor profile strict of the node",
		"{volumes: [{name: v, gitRepo: {repository: r}}], containers: [{name: m, image: a}]}":                                                                     "has volume v of type gitRepo, which Kubernetes no longer mounts",
		"{volumes: [{name: v, cephfs: {monitors: [a]}}], containers: [{name: m, image: a}]}":                                                                      "has volume v of type cephfs, which",
		"{volumes: [{name: v, emptyDir: {medium: HugePages}}], containers: [{name: m, image: a}]}":                                                                "has volume v of medium HugePages, and no container requests huge pages",
		"{volumes: [{name: v, emptyDir: {medium: HugePages-1Gi}}], containers: [{name: m, image: a, resources: {limits: {hugepages-2Mi: 4Mi}}}]}":                 "has volume v of medium HugePages-1Gi, and no container requests hugepages-1Gi",
		"{volumes: [{name: v, emptyDir: {medium: HugePages-1Gi}}], containers: [{name: m, image: a, resources: {limits: {hugepages-1024Mi: 1Gi}}}]}":              "",
		"{volumes: [{name: v, emptyDir: {medium: HugePages}}], containers: [{name: m, image: a, resources: {limits: {hugepages-2Mi: 4Mi}}}]}":                     "",
		"{volumes: [{name: v, emptyDir: {medium: HugePages}}], containers: [{name: m, image: a, resources: {limits: {hugepages-2Mi: 4Mi, hugepages-1Gi: 1Gi}}}]}": "has volume v of medium HugePages, and its containers request huge pages of several sizes (1Gi, 2Mi)",
		"{volumes: [{name: v, emptyDir: {medium: Memory}}, {name: i, image: {reference: 'example.com/a:1'}}], containers: [{name: m, image: a}]}":                 "",
		"{volumes: [{name: v, image: {reference: 'example.com/A:1'}}], containers: [{name: m, image: a}]}":                                                        `has volume v of image "example.com/A:1", which is no name of an image`,
		"{containers: [{name: m, image: a, imagePullPolicy: Never}]}":                                                                                             "harmless: container m has imagePullPolicy: Never",
		"{containers: [{name: m, image: a, securityContext: {capabilities: {add: [SYS_ADMIN, net_admin], drop: [ALL]}}}]}":                                        "",
		"{containers: [{name: m, image: a, securityContext: {capabilities: {add: [CAP_SYS_ADMIN]}}}]}":                                                            "harmless: container m names capability CAP_SYS_ADMIN, which does not exist; in Kubernetes its name is SYS_ADMIN",
		"{containers: [{name: m, image: a, securityContext: {capabilities: {drop: [SYS_ADMINS]}}}]}":                                                              "harmless: container m names capability SYS_ADMINS, which does not exist",
		"{containers: [{name: m, image: a, volumeMounts: [{name: v, mountPath: /proc/driver/nvidia}]}]}":                                                          "container m mounts volume v at /proc/driver/nvidia, and a mount inside of /proc is refused",
		"{containers: [{name: m, image: a, volumeMounts: [{name: v, mountPath: /proc}, {name: v, mountPath: /host/proc/x}, {name: v, mountPath: /proc/stat}]}]}":  "",
	} {
		var s corev1.PodSpec
		if err := yaml.UnmarshalStrict([]byte(spec), &s); err != nil {
			t.Fatalf("%s: %v", spec, err)
		}
		got := KubeletRefusals(&s)
		if want == "" {
			if len(got) > 0 {
				t.Errorf("%s: got %+v", spec, got)
			}
			continue
		}
		harmless := strings.HasPrefix(want, "harmless: ")
		if want = strings.TrimPrefix(want, "harmless: "); len(got) != 1 || !strings.HasPrefix(got[0].Text, want) || got[0].Harmless != harmless {
			t.Errorf("%s: got %+v, want %q", spec, got, want)
		}
	}
}

func TestNamed(t *testing.T) {
	long := strings.Repeat("a", 25)
	for _, c := range []struct {
		kind, name, spec string
		want             string
	}{
		{"Deployment", "web", "{setHostnameAsFQDN: true, subdomain: sub}", ""},
		{"Deployment", "web", "{subdomain: sub, hostname: " + long + long + "}", ""},
		{"Deployment", "web", "{setHostnameAsFQDN: true, hostname: " + long + long + "}", ""},
		{"Deployment", long, "{setHostnameAsFQDN: true, subdomain: sub}", "has setHostnameAsFQDN: true, and the name " + long + "-xxxxxxxx-xxxxx.sub.ns.svc.cluster.local has 65 characters"},
		{"StatefulSet", long, "{setHostnameAsFQDN: true, subdomain: sub}", ""},
		{"DaemonSet", long + "-longest-of-all", "{setHostnameAsFQDN: true, subdomain: sub}", "-xxxxx.sub.ns.svc.cluster.local has "},
		{"StatefulSet", long + long, "{setHostnameAsFQDN: true, subdomain: sub, hostname: db}", ""},
	} {
		var s corev1.PodSpec
		if err := yaml.UnmarshalStrict([]byte(c.spec), &s); err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, r := range kubeletNamed(c.kind, "ns", c.name, &s) {
			got += r.Text
		}
		if !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%+v: got %q", c, got)
		}
	}
}
