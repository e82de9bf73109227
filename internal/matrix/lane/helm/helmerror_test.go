package helm

import (
	"errors"
	"testing"
)

// The error of the API server comes first, not the head of a list (faults F37).
func TestHelmError(t *testing.T) {
	for text, want := range map[string]string{
		"1 error occurred:\n\t* DaemonSet.apps \"x\" is invalid: privileged\n\n":          "DaemonSet.apps \"x\" is invalid: privileged",
		"2 errors occurred:\n\t* a is invalid\n\t* b is invalid\n\n":                      "a is invalid\nb is invalid",
		"failed pre-install: 1 error occurred:\n\t* job failed: BackoffLimitExceeded\n\n": "failed pre-install: job failed: BackoffLimitExceeded",
		"timed out waiting for the condition":                                             "timed out waiting for the condition",
	} {
		if got := helmError(errors.New(text)); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// Helm 4 names the object before the API server's error, which mostly does so itself.
func TestHelmError_Applied(t *testing.T) {
	const before = "server-side apply failed for object "
	for text, want := range map[string]string{
		before + `x/web /v1, Kind=Service: Service "web" is invalid: spec.ports[0].nodePort: Invalid value: 9`:                                                `Service "web" is invalid: spec.ports[0].nodePort: Invalid value: 9`,
		before + `x/a /v1, Kind=ConfigMap: failed to create typed patch object (x/a; /v1, Kind=ConfigMap): .dta: field not declared in schema`:                `failed to create typed patch object (x/a; /v1, Kind=ConfigMap): .dta: field not declared in schema`,
		before + `x/a apps/v1, Kind=Deployment: admission webhook "w.example.com" denied the request: no`:                                                     `Deployment x/a: admission webhook "w.example.com" denied the request: no`,
		before + `/a rbac.authorization.k8s.io/v1, Kind=ClusterRole: clusterroles.rbac.authorization.k8s.io "a" is forbidden: no`:                             `ClusterRole a: clusterroles.rbac.authorization.k8s.io "a" is forbidden: no`,
		"1 error occurred:\n\t* " + before + `x/a v1, Kind=Secret: Secret "a" is invalid: data: no` + "\n":                                                    `Secret "a" is invalid: data: no`,
		`conflict occurred while applying object x/a apps/v1, Kind=Deployment: Apply failed with 1 conflict: conflict with "b" using apps/v1: .spec.replicas`: `conflict occurred while applying object x/a apps/v1, Kind=Deployment: Apply failed with 1 conflict: conflict with "b" using apps/v1: .spec.replicas`,
	} {
		if got := helmError(errors.New(text)); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
}
