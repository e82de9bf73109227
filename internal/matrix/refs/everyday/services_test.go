package everyday

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/refs/problem"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// A Service that is another name leads to one that exists, and not to an address or back to itself (F139).
func TestFind_ExternalNames(t *testing.T) {
	other := func(name, host string) bundle.Object {
		return bundle.Object{Component: "c", Object: testkit.Parsed(t, "{apiVersion: v1, kind: Service, metadata: {namespace: x, name: "+name+"}, spec: {type: ExternalName, externalName: "+host+"}}")}
	}
	for host, want := range map[string]string{
		"db.example.com":         "",
		"web.x.svc":              "",
		"web.x":                  "",
		"10.0.0.1":               "has the address 10.0.0.1 as its externalName, which is a name",
		"nope.x.svc":             "is another name for Service x/nope, which does not exist",
		"s.x.svc.cluster.local.": "is another name for itself: x/s, x/s",
		"back.x.svc":             "is another name for itself: x/s, x/back, x/s",
		"circle.x.svc":           "",
	} {
		t.Run(host, func(t *testing.T) {
			objects := []bundle.Object{other("s", host), other("back", "s.x.svc"), other("circle", "circle.x.svc")}
			have := Cluster{Services: []corev1.Service{{}}}
			have.Services[0].Name, have.Services[0].Namespace = "web", "x"
			for i := range objects {
				var s corev1.Service
				if !problem.Read(&objects[i], &s) {
					t.Fatal("no Service")
				}
				have.Services = append(have.Services, s)
			}
			check(t, Find(&bundle.Expectation{Objects: objects[:1]}, have), want)
		})
	}
}
