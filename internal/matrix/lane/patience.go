package lane

import (
	"strings"
	"time"
)

// SuspectFor is how long an error that a controller retries must last without a change to be a
// failure.
const SuspectFor = 10 * time.Second

// Retryable reports whether another Application may still fix the error. Waves order the creation
// of Applications, not their health (faults F30), so a custom resource may come before its CRD;
// Argo CD retries.
func Retryable(message string) bool {
	for _, part := range []string{"error looking up service account", "because it is being terminated"} {
		if strings.Contains(message, part) {
			return true // also "forbidden", but only until the object that it names exists, or is gone
		}
	}
	for _, part := range []string{"is invalid", "Invalid value", "Unsupported value", "forbidden", "denied the request"} {
		if strings.Contains(message, part) {
			return false // whatever else the message contains, e.g. a field called timeoutSeconds
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

// OrUnknown returns s, or "Unknown" if it is empty.
func OrUnknown(s string) string {
	if s == "" {
		return "Unknown"
	}
	return s
}
