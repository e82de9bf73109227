package matrix

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/result"
)

func parsed(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.UnmarshalStrict([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

// The order is what the deployers' own times say (faults F30).
func TestEarlyStarts(t *testing.T) {
	ref := func(kind, name string) result.Ref {
		if kind == "Application" {
			return applicationRef(name)
		}
		return fluxRef(kind, name)
	}
	application := func(wave, began, ended string) *timing {
		return applicationTiming(parsed(t, `{metadata: {annotations: {argocd.argoproj.io/sync-wave: "`+wave+`"}}, status: {history: [
			{deployStartedAt: "2026-01-01T00:00:`+began+`Z", deployedAt: "2026-01-01T00:00:`+ended+`Z"},
			{deployStartedAt: "2026-01-01T00:00:50Z", deployedAt: "2026-01-01T00:00:59Z"}]}}`))
	}
	release := func(after, began, ready string) *timing {
		return releaseTiming(parsed(t, `{apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, metadata: {namespace: flux-system}, spec: {dependsOn: [`+after+`]}, status: {conditions: [{type: Ready, status: "True", lastTransitionTime: "2026-01-01T00:00:`+ready+`Z"}], history: [
			{firstDeployed: "2026-01-01T00:00:58Z"}, {firstDeployed: "2026-01-01T00:00:`+began+`Z"}]}}`))
	}
	for name, c := range map[string]struct {
		items []Item
		want  string
	}{
		"waves that waited": {[]Item{{ID: "Application a", Ref: ref("Application", "a"), timing: application("0", "01", "05")}, {ID: "Application b", Ref: ref("Application", "b"), timing: application("1", "05", "06")}}, ""},
		"one wave":          {[]Item{{ID: "Application a", Ref: ref("Application", "a"), timing: application("1", "01", "05")}, {ID: "Application b", Ref: ref("Application", "b"), timing: application("1", "02", "06")}}, ""},
		"a wave that did not wait": {[]Item{{ID: "Application b", Ref: ref("Application", "b"), timing: application("1", "02", "06")}, {ID: "Application a", Ref: ref("Application", "a"), timing: application("0", "01", "05")}},
			"Application b started 3s before Application a finished"},
		"for two": {[]Item{{ID: "Application a", Ref: ref("Application", "a"), timing: application("-1", "01", "05")}, {ID: "Application b", Ref: ref("Application", "b"), timing: application("0", "01", "09")}, {ID: "Application c", Ref: ref("Application", "c"), timing: application("10", "02", "09")}},
			"Application b started 4s before Application a finished\nApplication c started 7s before Application b finished (and before 1 other earlier item)"},
		"no history":              {[]Item{{ID: "Application a", Ref: ref("Application", "a"), timing: application("0", "01", "05")}, {ID: "Application b", Ref: ref("Application", "b"), timing: &timing{wave: 1}}}, ""},
		"a dependency that held":  {[]Item{{ID: "HelmRelease a", Ref: ref("HelmRelease", "a"), timing: release("", "01", "05")}, {ID: "HelmRelease b", Ref: ref("HelmRelease", "b"), timing: release("{name: a}", "07", "08")}}, ""},
		"no dependency":           {[]Item{{ID: "HelmRelease a", Ref: ref("HelmRelease", "a"), timing: release("", "01", "05")}, {ID: "HelmRelease b", Ref: ref("HelmRelease", "b"), timing: release("", "02", "03")}}, ""},
		"a dependency not waited": {[]Item{{ID: "HelmRelease a", Ref: ref("HelmRelease", "a"), timing: release("", "01", "05")}, {ID: "HelmRelease b", Ref: ref("HelmRelease", "b"), timing: release("{name: a}", "02", "03")}}, "HelmRelease b started 3s before HelmRelease a finished"},
	} {
		if got := strings.Join(earlyStarts(c.items), "\n"); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, c.want)
		}
	}
}
