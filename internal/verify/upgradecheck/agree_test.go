package upgradecheck

import (
	"strings"
	"testing"
)

func TestDisagree(t *testing.T) {
	const good = `{"components": [{"component": "nodewright", "change": "added", "to": "1.0.0"}], "source": {"matched": 2, "helm": {"records": 3, "stampedUnmatched": 0}}}`
	const bundle = `{"components": []}`
	for name, c := range map[string]struct{ cluster, bundle, want string }{
		"agree":             {good, bundle, ""},
		"lists for numbers": {`{"components": [], "source": {"matched": ["a", "b"], "helm": {"stampedUnmatched": []}}}`, bundle, ""},
		"a line before it":  {"using kubeconfig x\n" + good, bundle, ""},
		"nothing matched":   {`{"components": [], "source": {"matched": 0}}`, bundle, "of the 2 components that were delivered it finds none"},
		"no component's":    {`{"source": {"matched": 2, "helm": {"stampedUnmatched": ["x"]}}}`, bundle, "1 Helm releases have a chart that AICR's bundler made"},
		"not installed":     {`{"components": [{"component": "cert-manager", "change": "added"}], "source": {"matched": 1}}`, bundle, "cert-manager: it was delivered, and counts as not installed"},
		"another version":   {`{"components": [{"component": "cert-manager", "change": "version", "from": "1.0", "to": "1.1", "verdict": "unknown", "failsRun": true}], "source": {"matched": 2}}`, bundle, `cert-manager: of the cluster it says version from "1.0" to "1.1", unknown, and of the bundle nothing`},
		"only the bundle's": {good, `{"components": [{"component": "cert-manager", "change": "version", "from": "1.0", "to": "1.1"}]}`, `of the cluster it says nothing, and of the bundle version`},
		"fails the run":     {`{"components": [{"component": "x", "change": "version", "failsRun": true}], "source": {"matched": 2}}`, `{"components": [{"component": "x", "change": "version"}]}`, "x: of the cluster"},
	} {
		a, err := ReadAnswer(c.cluster)
		if err != nil {
			t.Fatal(err)
		}
		b, err := ReadAnswer(c.bundle)
		if err != nil {
			t.Fatal(err)
		}
		f := Disagree("upgrade-check", a, b, []string{"cert-manager", "gpu-operator"})
		switch {
		case c.want == "" && f != nil, c.want != "" && f == nil:
			t.Errorf("%s: got %+v", name, f)
		case f != nil && !strings.Contains(f.Cause(), c.want):
			t.Errorf("%s: want %q in %q", name, c.want, f.Cause())
		}
	}
	for _, text := range []string{"", "no help topic for upgrade-check", `{"components": 5}`, `{"source": {"matched": "x"}}`} {
		if _, err := ReadAnswer(text); err == nil {
			t.Errorf("%q is an answer", text)
		}
	}
}
