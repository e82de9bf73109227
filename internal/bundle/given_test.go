package bundle

import "testing"

// TestRelease_Given: what another program's bundle gives a release takes the place of the usual.
func TestRelease_Given(t *testing.T) {
	in := fixture()
	in.Given = map[string]Given{"tuning": {HelmName: "other", Path: "elsewhere"}}
	b := mustBundle(t, helmDeployer{}, in)
	for name, want := range map[string][2]string{"tuning": {"other", "elsewhere"}, "web": {"web", "usual"}} {
		r := releaseOf(t, b, name)
		if got := [2]string{r.InHelm(), r.PathOr("usual")}; got != want {
			t.Errorf("%s: name and path %q, want %q", name, got, want)
		}
	}
}
