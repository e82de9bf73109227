package helmfile

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
)

const failed = `Upgrading release=two, chart=/cell/helmfile/tmp/x/two, namespace=b
helm:kXyZa> Release "two" does not exist. Installing it now.
helm:kXyZa> Error: 1 error occurred:
FAILED RELEASES:
NAME   NAMESPACE   CHART   VERSION   DURATION
two    b           r/two   1.0.0           2s

in ./helmfile.yaml: in .helmfiles[0]: in ./level-0.yaml: failed processing release two: command "/stack/bin/helm" exited with non-zero status:

PATH:
  /stack/bin/helm

ARGS:
  0: helm (4 bytes)

ERROR:
  exit status 1

EXIT STATUS
  1

STDERR:
  I1125 21:59:25.804229    1566 warnings.go:107] "Warning: would violate PodSecurity"
  Error: 1 error occurred:
  	* DaemonSet.apps "x" is invalid: privileged

COMBINED OUTPUT:
  Release "two" does not exist. Installing it now.
  Error: 1 error occurred:
`

const dropped = `helm:kAbcd> Release "one" does not exist. Installing it now.
helm:kEfgh> Release "two" does not exist. Installing it now.
helm:kEfgh> I1125 21:59:25.804229    1566 warnings.go:107] "Warning: unknown field \"spec.rplicas\""
helm:kEfgh> I1125 21:59:25.804229    1566 warnings.go:107] "Warning: metadata.finalizers: prefer a domain-qualified name"
helm:kAbcd> NOTES: an unknown field "x" is no warning
`

// The text of a failed release is helm's own sentence, the API server's error first (faults F37).
func TestFailures(t *testing.T) {
	ended := errors.New("helmfile ended with exit code 1")
	for name, c := range map[string]struct {
		said string
		err  error
		want map[string]string
	}{
		"release":        {failed, ended, map[string]string{"two": `DaemonSet.apps "x" is invalid: privileged`}},
		"without stderr": {"in ./level-0.yaml: failed processing release one: context canceled", ended, map[string]string{"one": "context canceled"}},
		"its own": {
			"Building dependency\nin ./helmfile.yaml: in ./level-1.yaml: [release \"a\" depends on \"b/c\" which does not exist]", ended,
			map[string]string{"": "helmfile ended with exit code 1: in ./helmfile.yaml: in ./level-1.yaml: [release \"a\" depends on \"b/c\" which does not exist]"},
		},
		"silent":         {"", ended, map[string]string{"": "helmfile ended with exit code 1; it printed nothing"}},
		"dropped fields": {dropped, nil, map[string]string{"two": `unknown field "spec.rplicas" (the API server dropped it)`}},
		"of an upgrade": {
			"helm:kAbcd> I1125 21:59:25.804229    1566 warnings.go:107] \"Warning: unknown field \\\"spec.x\\\"\"\nhelm:kAbcd> Release \"one\" has been upgraded. Happy Helming!", nil,
			map[string]string{"one": `unknown field "spec.x" (the API server dropped it)`},
		},
		"good": {strings.ReplaceAll(dropped, "unknown field", "known field"), nil, map[string]string{}},
	} {
		if got := failures(c.said, c.err); !maps.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// No release is good that Helm's storage does not have as deployed, and the last one not before
// helmfile has ended without an error.
func TestItems(t *testing.T) {
	releases := []bundle.Release{{Name: "one", Namespace: "a"}, {Name: "two", Namespace: "b"}, {Name: "three", Namespace: "b"}}
	all := map[string]string{"a/one": "deployed", "b/two": "deployed", "b/three": "deployed"}
	some := map[string]string{"a/one": "deployed", "b/two": "pending-install"}
	broken := map[string]string{"a/one": "deployed", "b/two": "failed"}
	for name, c := range map[string]struct {
		statuses map[string]string
		ended    bool
		wrong    map[string]string
		want     string
	}{
		"begins":       {nil, false, nil, "blocked blocked blocked"},
		"installs":     {some, false, nil, "good waiting blocked"},
		"not ended":    {all, false, nil, "good good waiting"},
		"ended":        {all, true, map[string]string{}, "good good good"},
		"failed":       {broken, true, map[string]string{"two": "no"}, "good failed blocked"},
		"field":        {all, true, map[string]string{"two": "unknown field"}, "good failed good"},
		"own error":    {map[string]string{"a/one": "deployed"}, true, map[string]string{"": "no"}, "good failed blocked"},
		"error at end": {all, true, map[string]string{"": "no"}, "good good failed"},
		"left out":     {some, true, map[string]string{}, "good failed failed"},
	} {
		var got []string
		for _, item := range itemsOf(releases, c.statuses, c.ended, c.wrong) {
			if item.ID == "" || item.Ref.Kind != lane.KindRelease || item.Text == "" {
				t.Errorf("%s: %+v is not complete", name, item)
			}
			got = append(got, item.State.String())
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%s: got %s, want %s", name, text, c.want)
		}
	}
}
