package daytwo

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// renderedTwice is a bundle of one chart, and what a second rendering of it has.
func renderedTwice(t *testing.T, templates map[string]string) (*bundle.Bundle, []bundle.Object) {
	t.Helper()
	ch := &chart.Chart{Metadata: &chart.Metadata{Name: "b"}}
	for name, text := range templates {
		ch.Templates = append(ch.Templates, &chart.File{Name: "templates/" + name, Data: []byte(text)})
	}
	render := func() []bundle.Object {
		files, err := engine.Render(ch, chartutil.Values{"Values": map[string]any{}, "Chart": ch.Metadata, "Release": map[string]any{"Namespace": "b"}})
		if err != nil {
			t.Fatal(err)
		}
		var all []bundle.Object
		for name, text := range files {
			for _, doc := range strings.Split(text, "\n---\n") {
				if o := testkit.Parsed(t, doc); o != nil {
					policy := o.GetAnnotations()["helm.sh/hook-delete-policy"]
					all = append(all, bundle.Object{Component: "b", Release: "b", Template: name, Object: o, Hook: o.GetAnnotations()["helm.sh/hook"] != "", Ephemeral: policy == "hook-succeeded"})
				}
			}
		}
		return all
	}
	release := bundle.Release{Name: "b", Component: "b"}
	return &bundle.Bundle{Installs: []bundle.Install{{Release: release, Chart: ch}}, Expectation: bundle.Expectation{Releases: []bundle.Release{release}, Objects: render()}}, render()
}

// A value that a hook and an ordinary object share no longer fits after a hard refresh, in whichever
// form they have it. What only looks so is nothing: values of their own, the time, a hook's labels, a
// hook that a sync does not run, one that Argo CD does not take for a hook.
func TestTorn(t *testing.T) {
	hook := func(annotations, data string) string {
		return "apiVersion: v1\nkind: Secret\nmetadata: {name: h, annotations: {" + annotations + "}}\ndata: {" + data + "}\n"
	}
	const install = `helm.sh/hook: "pre-install,pre-upgrade"`
	plain := func(data string) string {
		return "\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {" + data + "}\n"
	}
	deployment := func(sum string) string {
		return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {template: {metadata: {annotations: {checksum/secret: '" + sum + "'}}}}\n"
	}
	const password, own = `{{- $p := randAlphaNum 16 }}` + "\n", `{{ randAlphaNum 16 | b64enc }}`
	const authority = `{{- $ca := genCA "one" 365 }}{{- $cert := genSignedCert "b" nil (list "b.b.svc") 365 $ca }}` + "\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  string // empty: nothing
		warns bool   // no finding, only the text
	}{
		"password":              {files: map[string]string{"x.yaml": password + hook(install, "p: {{ $p | b64enc }}") + plain("p: {{ $p }}")}, want: "ConfigMap c data.p and Secret h"},
		"in a longer text":      {files: map[string]string{"x.yaml": password + hook(install, "p: {{ $p | b64enc }}") + plain("url: 'postgres://u:{{ $p }}@db'")}, want: "data.url"},
		"checksum of the value": {files: map[string]string{"x.yaml": password + hook(install, "p: {{ $p | b64enc }}") + "\n---\n" + deployment("{{ $p | sha256sum }}")}, want: "Deployment d spec.template.metadata.annotations"},
		"checksum of the template": {files: map[string]string{
			"x.yaml": hook(install, "p: "+own), "d.yaml": deployment(`{{ include (print $.Template.BasePath "/x.yaml") . | sha256sum }}`)}, want: "Deployment d spec.template.metadata.annotations"},
		"checksum of another template": {files: map[string]string{
			"x.yaml": hook(install, "p: "+own), "y.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: y}\ndata: {p: " + own + "}\n", "d.yaml": deployment(`{{ include (print $.Template.BasePath "/y.yaml") . | sha256sum }}`)}},
		"authority":                       {files: map[string]string{"x.yaml": authority + hook(install, "ca.crt: {{ $ca.Cert | b64enc }}") + plain("ca: {{ $ca.Cert | b64enc }}")}, want: "ConfigMap c data.ca"},
		"its certificate only":            {files: map[string]string{"x.yaml": authority + hook(install, "tls.crt: {{ $cert.Cert | b64enc }}") + plain("ca: {{ $ca.Cert | b64enc }}")}, want: "ConfigMap c data.ca"},
		"its key only":                    {files: map[string]string{"x.yaml": authority + hook(install, "tls.key: {{ $cert.Key | b64enc }}") + plain("crt: {{ $cert.Cert | b64enc }}")}, want: "ConfigMap c data.crt"},
		"another authority":               {files: map[string]string{"x.yaml": authority + hook(install, "tls.crt: {{ $cert.Cert | b64enc }}") + plain(`ca: {{ (genCA "two" 365).Cert | b64enc }}`)}},
		"a hook of Argo CD":               {files: map[string]string{"x.yaml": password + hook("argocd.argoproj.io/hook: PreSync", "p: {{ $p | b64enc }}") + plain("p: {{ $p }}")}, want: "data.p"},
		"a hook of generated name":        {files: map[string]string{"x.yaml": password + strings.Replace(hook(install, ""), "name: h", "name: h-{{ $p | lower }}", 1) + plain("secret: h-{{ $p | lower }}")}, want: "data.secret"},
		"it is gone once it has run":      {files: map[string]string{"x.yaml": password + hook(install+", helm.sh/hook-delete-policy: hook-succeeded", "p: {{ $p | b64enc }}") + plain("p: {{ $p }}")}, want: "data.p", warns: true},
		"values of their own":             {files: map[string]string{"x.yaml": hook(install, "p: "+own) + plain("p: "+own)}},
		"a value that stays":              {files: map[string]string{"x.yaml": password + hook(install, "p: cGFzc3dvcmQ=, q: {{ $p | b64enc }}") + plain("p: password")}},
		"the time":                        {files: map[string]string{"x.yaml": hook(install, "t: {{ now | date \"2006-01-02T15:04:05.000000000\" | b64enc }}") + plain("t: '{{ now | date \"2006-01-02T15:04:05.000000000\" }}'")}},
		"a label of the hook":             {files: map[string]string{"x.yaml": password + hook(install+", roll: '{{ $p }}'", "") + plain("p: {{ $p }}")}},
		"a test":                          {files: map[string]string{"x.yaml": password + hook("helm.sh/hook: test", "p: {{ $p | b64enc }}") + plain("p: {{ $p }}")}},
		"a hook at deletion":              {files: map[string]string{"x.yaml": password + hook("helm.sh/hook: pre-delete", "p: {{ $p | b64enc }}") + plain("p: {{ $p }}")}},
		"a hook that Argo CD is to leave": {files: map[string]string{"x.yaml": password + hook(install+", argocd.argoproj.io/hook: Skip", "p: {{ $p | b64enc }}") + plain("p: {{ $p }}")}},
		"two hooks":                       {files: map[string]string{"x.yaml": password + hook(install, "p: {{ $p | b64enc }}") + "\n---\n" + strings.Replace(hook(install, "p: {{ $p | b64enc }}"), "name: h", "name: i", 1)}},
	} {
		t.Run(name, func(t *testing.T) {
			b, again := renderedTwice(t, c.files)
			findings, texts := driftTorn(b, again, nil)
			if (len(texts) == 1) != (c.want != "") || (len(findings) == 1) != (c.want != "" && !c.warns) {
				t.Fatalf("got %v and %d findings, want %q", texts, len(findings), c.want)
			}
			if c.want == "" {
				return
			}
			testkit.WantText(t, "text", texts[0].Cause, c.want, "which is a hook", "(b/templates/x.yaml:", " uses ")
			if !mayTear(b) {
				t.Error("MayTear: got false")
			}
		})
	}
}

// Of a hostile chart's values only so many, and only so long ones, are compared.
func TestTorn_Many(t *testing.T) {
	b, again := renderedTwice(t, map[string]string{"x.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: h, annotations: {helm.sh/hook: pre-install}}\nstringData:\n{{- range until 3000 }}\n  k{{ . }}: {{ randAlphaNum 9 }}\n{{- end }}\n---\n" +
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n{{- range until 3000 }}\n  k{{ . }}: {{ randAlphaNum 9 }}\n{{- end }}\n"})
	second := b.Expectation.Objects
	hooks, _ := sides(second, "b")
	if got := len(generatedIn(hooks, nil)); got != 1 {
		t.Errorf("a hook that the second rendering does not have: got %d places", got)
	}
	if f, _ := driftTorn(b, again, nil); len(f) != 0 {
		t.Errorf("got %v", f)
	}
}

// Only a lane with self-heal is red, and only where nothing better than two renderings decides. The
// charts are rendered once more at most once.
func TestRefresh_Check(t *testing.T) {
	b, again := renderedTwice(t, map[string]string{"x.yaml": "{{- $p := randAlphaNum 16 }}\napiVersion: v1\nkind: Secret\nmetadata: {name: h, annotations: {helm.sh/hook: pre-install}}\nstringData: {p: {{ $p }}}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {p: {{ $p }}}\n"})
	var second SecondRendering
	rendered := 0
	render := func(context.Context) ([]bundle.Object, error) {
		return second.Of(b, func() (bundle.Expectation, error) { rendered++; return bundle.Expectation{Objects: again}, nil })
	}
	for _, c := range []struct {
		refresh  HardRefresh
		reason   reason.Reason
		warnings int
	}{
		{HardRefresh{Heals: true}, reason.NeverSettles, 0},
		{HardRefresh{Heals: true, Delivered: true}, "", 0},
		{HardRefresh{}, "", 1},
		{HardRefresh{Delivered: true}, "", 1},
	} {
		c.refresh.Again = render
		warnings, err := c.refresh.Check(t.Context(), b, nil)
		if reason.Of(err) != c.reason || len(warnings) != c.warnings {
			t.Errorf("%+v: got %v, %v; want %q and %d warnings", c.refresh, warnings, err, c.reason, c.warnings)
		}
		if c.warnings > 0 && !strings.HasPrefix(warnings[0].Cause, "green only in lanes without Argo CD's self-heal: ConfigMap c data.p and Secret h") {
			t.Errorf("got %v", warnings)
		}
	}
	if rendered != 1 {
		t.Errorf("rendered %d times, want once", rendered)
	}
}

// What Check needs is rendered beside the cluster's start, and nothing that it does not need.
func TestRefresh_Begin(t *testing.T) {
	b, again := renderedTwice(t, map[string]string{"x.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: h, annotations: {helm.sh/hook: pre-install}}\nstringData: {p: {{ randAlphaNum 16 }}}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n"})
	plain, _ := renderedTwice(t, map[string]string{"x.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n"})
	for _, tc := range []struct {
		refresh HardRefresh
		bundle  *bundle.Bundle
		want    int32
	}{{HardRefresh{Heals: true}, b, 1}, {HardRefresh{}, b, 1}, {HardRefresh{Heals: true, Delivered: true}, b, 0}, {HardRefresh{Heals: true}, plain, 0}} {
		var begun, ended atomic.Int32
		goOn := make(chan struct{})
		tc.refresh.Again = func(context.Context) ([]bundle.Object, error) {
			begun.Add(1)
			<-goOn
			ended.Add(1)
			return again, nil
		}
		end := tc.refresh.Begin(t.Context(), tc.bundle) // returns while the rendering waits
		close(goOn)
		if end(); begun.Load() != tc.want || ended.Load() != tc.want {
			t.Errorf("%+v: %d renderings began and %d ended, want %d", tc.refresh, begun.Load(), ended.Load(), tc.want)
		}
	}
}
