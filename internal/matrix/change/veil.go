package change

import (
	"regexp"
	"strings"

	"github.com/nvidia/aicr-action/internal/result"
)

// The names and texts that look like a secret. Charts put some of them elsewhere than in a Secret: in
// a ConfigMap, an environment variable or an argument.
var (
	secretName = regexp.MustCompile(`(?i)(passw(or)?d|passphrase|secret|token|credential|api[-_]?key|access[-_]?key|private[-_]?key)`)
	// namesOnly are fields that name a Secret or say how one is used.
	namesOnly  = regexp.MustCompile(`(?i)(secretname|secretref|secretkeyref|imagepullsecrets|automountserviceaccounttoken|serviceaccounttoken|secrets?\[[^\]]*\]|tokenexpiration\w*)[^"]*$`)
	secretText = regexp.MustCompile(`(?i)(-----BEGIN |(passw(or)?d|passphrase|secret|token|credential|api[-_]?key|access[-_]?key|private[-_]?key)["']?\s*[=:]\s*\S|://[^/\s:@]+:[^/\s@]+@)`)
)

// notShown stands for a value that looks like a secret. It is not even a digest: a short password
// could be found by trying.
const notShown = "a value that is not shown"

// Veiled is the field without values that look like a secret.
func Veiled(f result.FieldChange) result.FieldChange {
	if secretName.MatchString(f.Path) && !namesOnly.MatchString(f.Path) || secretText.MatchString(f.From) || secretText.MatchString(f.To) {
		f.From, f.To = veil(f.From), veil(f.To)
	}
	return f
}

// veil keeps texts that are no value, and those of a Secret, which have its length only.
func veil(text string) string {
	switch {
	case text == "nothing", text == "null", text == "true", text == "false", strings.HasSuffix(text, `that is not shown"`):
		return text
	}
	return notShown
}
