package report

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/mdtext"
)

func TestMarkdown(t *testing.T) {
	r := sample()
	r.Unread = []string{"shard-2.json: cut off"}
	text := r.markdown(maxMarkdown)
	at := 0
	for _, part := range []string{ // in this order
		"## ✗ AICR matrix: 10 cells: 2 passed, 1 infrastructure, 3 failed", "**Not included:** `shard-2.json: cut off`", "| recipe | `helm` | `argocd-oci` | `flux-oci` |",
		"| `eks` | ✓ 29.8 s, 112 pods | ✓ 77.0 s, 112 pods \\* | ✗ `SCHEDULING_FAILED (1)` |", "| `base` | ■ interrupted | ○ not run | – skipped |",
		"### What went wrong", "#### 1. `COMPONENT_DIED (14)` in 1 cell", "`SCHEDULING_FAILED (1)` in 2 cells", "Look at `recipes/components/cert-manager/values.yaml:30`.",
		"Cells: `eks/flux-oci`, `eks-training/helm`", "matrix run eks --deployer flux-oci --keep",
		"not run** `base/argocd-oci`", "skipped** `base/flux-oci`: `NO_NODE_PROFILE (18): no node profile for service gke`", "<summary>Times</summary>", "<summary>Warnings: 1</summary>", "<summary>Overrides: 2</summary>",
	} {
		i := strings.Index(text[at:], part)
		if i < 0 {
			t.Errorf("want %q after byte %d of\n%s", part, at, text)
			continue
		}
		at += i
	}
	if strings.Contains(text, "left out") {
		t.Error("nothing had to be left out")
	}
}

// What to do is read without a click: a short story stands below its cause, and the edit of a long one, and
// the lines in front of the quotations of an upgrade, stand above its details.
func TestMarkdown_EditUnfolded(t *testing.T) {
	const details = "<details><summary>Details of <code>eks/flux-oci</code></summary>"
	r := sample()
	r.Results = r.Results[2:3]
	for name, tc := range map[string]struct {
		first  string
		more   int
		folded bool
	}{
		"short":               {"the cause", 1, false},
		"long":                {"the cause", 19, true},
		"an upgrade, short":   {"delete it before", 1, false},
		"an upgrade, a line":  {"edit: delete it before", 0, false},
		"an upgrade, quoting": {"delete it before", 30, true},
	} {
		story := append([]string{tc.first}, slices.Repeat([]string{"more"}, tc.more)...)
		if tc.more > 0 {
			story[min(5, tc.more)] = "edit: change `a` in recipes/a.yaml:3"
		}
		r.Results[0].Findings = []result.Finding{{Cause: "the cause", Story: story}}
		text := r.markdown(maxMarkdown)
		before, _, folded := strings.Cut(text, details)
		if folded != tc.folded || !strings.Contains(before, "edit: ") || strings.Count(before, "the cause") != 1 || tc.first != "the cause" && !strings.Contains(before, "delete it before") {
			t.Errorf("%s:\n%s", name, text)
		}
	}
}

// Any text of a chart or a controller stays code in Markdown, and opens no link, tag or mention.
func TestMarkdown_UntrustedText(t *testing.T) {
	evil := "a``` <img src=x onerror=alert(1)> @team [x](http://y) | ``b`` `"
	r := sample()
	r.Results = r.Results[2:3]
	r.Results[0].Recipe, r.Results[0].Reason = "a|`b", reason.DeployFailed
	r.Results[0].Cause, r.Results[0].Details, r.Results[0].Notes = evil, []string{evil + "\n```\n# head"}, []string{evil}
	r.Results[0].Findings = []result.Finding{{Cause: evil, Story: r.Results[0].Details}}
	for more, fences := range map[int]int{0: 2, 20: 3} { // the timeline and notes; a short story is a list, and a long one is folded, in a fence
		untrusted(t, r, more, fences)
	}
}

func untrusted(t *testing.T, r *Report, more, fences int) {
	t.Helper()
	r.Results[0].Findings[0].Story = append(slices.Clone(r.Results[0].Details), slices.Repeat([]string{"  " + r.Results[0].Cause}, more)...)
	text := r.markdown(maxMarkdown)
	plain, fenced := outsideOfCode(t, text, backticks) // outside of fences what a chart says may stand in code spans only
	for line := range strings.Lines(plain) {
		if strings.Contains(line, "<img") || strings.Contains(line, "@team") {
			t.Errorf("not in code: %q", line)
		}
		if strings.HasPrefix(line, "# ") {
			t.Errorf("a heading out of a story: %q", line)
		}
	}
	if fenced != fences {
		t.Errorf("%d fences, want %d", fenced, fences)
	}
	if !strings.Contains(text, "| `` a\\|`b `` |") && !strings.Contains(text, "| ``a\\|`b`` |") {
		t.Errorf("a recipe's | breaks the grid:\n%s", text)
	}
}

// GitHub shows nothing of a summary that is longer than 1 MiB: the grid stays, the rest goes, and
// the report says so.
func TestMarkdownLimit(t *testing.T) {
	r := big()
	for i := range r.Results {
		if r.Results[i].Status == result.Failed {
			r.Results[i].Reason, r.Results[i].Details = reason.DeployFailed, nil
			r.Results[i].Findings = nil
			r.Results[i].Cause = fmt.Sprintf("cause %d %s", i, strings.Repeat("x", 200_000))
		}
	}
	text := r.markdown(maxMarkdown)
	if len(text) > 1<<20 || len(text) < 200_000 {
		t.Errorf("got %d bytes, want nearly as many as fit in 1 MiB", len(text))
	}
	for _, part := range []string{"`h100-eks-ubuntu-training-37`", "parts left out to stay below GitHub's limit"} {
		if !strings.Contains(text, part) {
			t.Errorf("want %q", part)
		}
	}
}

func TestAnnotations(t *testing.T) {
	var b bytes.Buffer
	if err := WriteAnnotations(&b, sample().Annotations(Checkout{Root: "/ws", Dir: "/ws/sub"})); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != 6 {
		t.Fatalf("got %d annotations, want one per root cause, and one for the cells without a verdict:\n%s", len(lines), b.String())
	}
	for i, part := range []string{
		"::error title=COMPONENT_DIED (14) in 1 cell::helm-controller ended", "::error file=sub/recipes/components/cert-manager/values.yaml,line=30,title=SCHEDULING_FAILED (1) in 2 cells::Deployment cert-manager/cert-manager",
		"::error file=sub/recipes/overlays/base.yaml,line=12,", "LANE_DIVERGENCE", "SYNC_TIMEOUT", "::error title=INTERRUPTED%3A 2 cells without a verdict::interrupted by interrupt%0Acells: base/helm, base/argocd-oci",
	} {
		if !strings.Contains(lines[i], part) {
			t.Errorf("annotation %d: got %q, want %q", i, lines[i], part)
		}
	}
	if !strings.Contains(lines[1], "%0Acells: eks/flux-oci, eks-training/helm%0Arerun: matrix run") {
		t.Errorf("got %q, want cells and the rerun command in it", lines[1])
	}
	// Recipes outside of the repository: GitHub could not show the file, so the place is in the
	// text.
	out := sample().Annotations(Checkout{Root: "/elsewhere", Dir: "/ws"})
	if out[1].File != "" || !strings.HasPrefix(out[1].Message, "recipes/components/cert-manager/values.yaml:30: ") {
		t.Errorf("got %+v", out[1])
	}
	many := &Report{}
	for i := range 14 {
		many.Results = append(many.Results, cellOf("eks", "lane-"+strconv.Itoa(i), 1, result.Verdict{Status: result.Failed, Reason: reason.DeployFailed, Cause: "cause\n::error::" + strconv.Itoa(i)}))
		many.Results[i].Cause = strconv.Itoa(i) + " " + many.Results[i].Cause
	}
	all := many.Annotations(Checkout{})
	if len(all) != 10 || all[9].Message != "5 more root causes are in the report" {
		t.Errorf("got %d annotations, the last %+v", len(all), all[len(all)-1])
	}
	b.Reset()
	if err := WriteAnnotations(&b, []Annotation{{Title: "t,file=x::", Message: "one\n::error::two"}}); err != nil || strings.Count(b.String(), "\n") != 1 {
		t.Errorf("an annotation of %d lines, or an error (%v): %q", strings.Count(b.String(), "\n"), err, b.String())
	}
	long := &Report{Results: []result.Result{cellOf("eks", "helm", 1, result.Verdict{Status: result.Failed, Reason: reason.DeployFailed, Cause: strings.Repeat("é", 10000)})}}
	if a := long.Annotations(Checkout{})[0]; len([]rune(a.Message)) > 4096 || !strings.HasSuffix(a.Message, "rerun: "+long.Results[0].Rerun) {
		t.Errorf("%d characters, of which the runner would show 4096, without the command", len([]rune(a.Message)))
	}
	if err := WriteAnnotations(fullDisk{}, all); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a writer that fails: got %v", err)
	}
}

// For any text of a recipe, a chart or a controller, an annotation is one line with one command,
// and decoding it returns the text, with control characters spelled.
func TestAnnotations_UntrustedText(t *testing.T) {
	undo := strings.NewReplacer("%0D", "\r", "%0A", "\n", "%3A", ":", "%2C", ",", "%25", "%")
	for _, evil := range []string{
		"::error::x", "a\n::set-output name=a::b", "a\r\n::add-mask::x", "%0A::error::x", "%25%0A", "##[error]x", "a\u2028::error::x", "x::y,file=a,line=1::z", "::stop-commands::x", "\x00\x1b[2J",
	} {
		var b bytes.Buffer
		if err := WriteAnnotations(&b, []Annotation{{Title: evil, Message: evil, File: evil, Line: 1}}); err != nil {
			t.Fatal(err)
		}
		line, more, _ := strings.Cut(b.String(), "\n")
		parts := regexp.MustCompile(`^::error file=([^:,]*),line=1,title=([^:,]*)::(.*)$`).FindStringSubmatch(line)
		if more != "" || parts == nil || strings.Contains(line, "\r") {
			t.Errorf("%q became %q", evil, b.String())
			continue
		}
		for i, part := range parts[1:] {
			if got, want := undo.Replace(part), mdtext.Visible(evil); got != want && got != strings.TrimSpace(want) {
				t.Errorf("part %d of %q is read as %q", i, evil, got)
			}
		}
	}
}

// fullDisk is a file that cannot be written.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// The annotation of a recipe that does not parse is on the line of the error's position, not on a
// line that its text names.
func TestErrorAnnotation(t *testing.T) {
	at := Checkout{Root: "/ws", Dir: "/ws/sub"}
	malformed := func(file string) error {
		return reason.Wrap(reason.Usage, fmt.Errorf("read it: %w", errors.Join(errors.New("other/recipes/x.yaml:3: first"), &recipe.FileError{File: file, Line: 7, Err: errors.New("unknown field")})))
	}
	if a := ErrorAnnotation("USAGE (2)", malformed("recipes/overlays/eks.yaml"), []string{"recipes"}, at); a.File != "sub/recipes/overlays/eks.yaml" || a.Line != 7 || a.Title != "USAGE (2)" {
		t.Errorf("got %+v", a)
	}
	if a := ErrorAnnotation("USAGE (2)", malformed("/other/recipes/overlays/eks.yaml"), []string{"/other/recipes"}, at); a.File != "" || !strings.Contains(a.Message, "/other/recipes/overlays/eks.yaml:7: unknown field") {
		t.Errorf("outside of the repository: got %+v", a)
	}
	if a := ErrorAnnotation("USAGE (2)", malformed("recipes/overlays/eks.yaml"), []string{"", ""}, at); a.File != "" {
		t.Errorf("the recipes in the binary: got %+v", a)
	}
	if a := ErrorAnnotation("USAGE (2)", errors.New("recipes/overlays/eks.yaml:7: quoted"), []string{"recipes"}, at); a.File != "" || a.Message != "recipes/overlays/eks.yaml:7: quoted" {
		t.Errorf("a line that only the text names: got %+v", a)
	}
}

// Only lines of the recipes can be annotated.
func TestInRecipes(t *testing.T) {
	for _, tc := range []struct {
		recipe, data string // directories
		file         string
		line         int
		want         bool
	}{
		{"recipes", "", "recipes/overlays/eks.yaml", 7, true},
		{"recipes", "", "cert-manager/templates/deployment.yaml", 12, false},
		{"/tmp/my recipes", "", "/tmp/my recipes/b.yaml", 2, true},
		{"recipes", "", "/other/recipes/b.yaml", 2, false},
		{"./recipes/", "", "recipes/b.yaml", 2, true},
		{"the recipes in this binary", "", "recipes/b.yaml", 2, false},
		{"", "", "recipes/b.yaml", 2, false},
		{"recipes", "", "recipes/b.yaml", 0, false},
		{"re\xffcipes(", "", "re\xffcipes(/b.yaml", 2, true},
		{"recipes", "mine", "recipes/b.yaml", 2, true},
		{"the recipes in this binary", "mine", "mine/overlays/b.yaml", 2, true},
		{"recipes", "mine", "mine/overlays/b.yaml", 0, false},
		{"recipes", "mine", "other/b.yaml", 2, false},
	} {
		p := result.Place{File: tc.file, Line: tc.line}
		if got := inRecipes([]string{tc.recipe, tc.data}, p); (got == p) != tc.want || got != p && got != (result.Place{}) {
			t.Errorf("%s in %q, %q: got %+v", p, tc.recipe, tc.data, got)
		}
	}
}

// The page escapes what charts and controllers say, refers to nothing outside itself, and is small.
func TestHTML(t *testing.T) {
	r := sample()
	r.Results[2].Cause = `</script><script>alert(1)</script>`
	r.Results[2].Findings = []result.Finding{{Cause: r.Results[2].Cause, Story: []string{r.Results[2].Cause}}}
	r.Results[2].Placement.Nodes[0].Name = `"><img src=x onerror=alert(1)>`
	r.CI.URL = "javascript:alert(1)"
	var b strings.Builder
	if err := r.WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, bad := range []string{"<script>alert", "<img", "javascript:alert", "ZgotmplZ"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	if m := regexp.MustCompile(`(?:src|href)="(?:https?:|//)[^"]*"`).FindString(page); m != "" {
		t.Errorf("the page refers to %s", m)
	}
	b.Reset()
	if err := big().WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	if b.Len() > 2_250_000 {
		t.Errorf("152 cells take %d bytes, want less than 2.25 MB", b.Len())
	}
	b.Reset()
	if err := (&Report{}).WriteHTML(&b); err != nil || !strings.Contains(b.String(), "nothing was checked") {
		t.Errorf("an empty report: %v\n%s", err, b.String())
	}
}

// Text has a contrast of at least 4.5 to 1 in both schemes (WCAG 2.2, 1.4.3).
func TestContrast(t *testing.T) {
	css, err := pageFiles.ReadFile("page/page.css")
	if err != nil {
		t.Fatal(err)
	}
	light, dark, ok := strings.Cut(string(css), "@media (prefers-color-scheme:dark)")
	if !ok {
		t.Fatal("no dark scheme")
	}
	for scheme, text := range map[string]string{"light": light, "dark": dark} {
		color := map[string]string{}
		for _, m := range regexp.MustCompile(`--([a-z-]+):(#[0-9a-f]{6})`).FindAllStringSubmatch(text, -1) {
			color[m[1]] = m[2]
		}
		pairs := [][2]string{{"text", "bg"}, {"text", "surface"}, {"muted", "bg"}, {"muted", "surface"}, {"link", "bg"}, {"failed", "surface"}}
		for _, s := range []string{"passed", "failed", "timeout", "infra", "quiet"} {
			pairs = append(pairs, [2]string{s, s + "-bg"})
		}
		for _, p := range pairs {
			if c := contrast(t, color[p[0]], color[p[1]]); c < 4.5 {
				t.Errorf("%s: %s on %s has a contrast of %.1f", scheme, p[0], p[1], c)
			}
		}
	}
}
