package lane

import (
	"strings"
	"time"
)

// SuspectFor: a controller's error that it tries again is a failure once it has lasted this long without a change.
const SuspectFor = 10 * time.Second

// Retryable: what another Application, still on its way, may bring. Waves order the creation of Applications, not their health
// (faults F30), so a custom resource may come before its CRD; Argo CD tries again.
func Retryable(message string) bool {
	for _, part := range []string{"error looking up service account", "because it is being terminated"} {
		if strings.Contains(message, part) {
			return true // "forbidden" too, but only until the object that it speaks of is there, or gone
		}
	}
	for _, part := range []string{"is invalid", "Invalid value", "Unsupported value", "forbidden", "denied the request"} {
		if strings.Contains(message, part) {
			return false // whatever else the sentence has in it, e.g. a field called timeoutSeconds
		}
	}
	for _, part := range []string{
		"could not find", "no matches for kind", "not found", "connection refused", "try again", "object has been modified", "timeout", "TLS handshake",
		"EOF", "being terminated",
	} {
		if strings.Contains(message, part) {
			return true
		}
	}
	return false
}

// OrUnknown is s, or "Unknown" for an empty one.
func OrUnknown(s string) string {
	if s == "" {
		return "Unknown"
	}
	return s
}
