package report

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/nvidia/aicr-action/internal/testkit/testskip"
)

// browser opens pages in headless Chromium, and remembers what its console says.
type browser struct {
	ctx context.Context

	mu       sync.Mutex
	messages []string
}

// newBrowser skips the test with -short, and where no browser is installed: `make test` needs Go,
// make and git only. With AICR_ACTION_TEST_BROWSER=required a browser that is missing fails the
// test, with -short too.
func newBrowser(t *testing.T) *browser {
	t.Helper()
	required := os.Getenv("AICR_ACTION_TEST_BROWSER") == "required"
	if !required {
		testskip.Short(t, "starts a browser")
	}
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		if required {
			t.Fatal("no Chromium on the PATH, and AICR_ACTION_TEST_BROWSER=required: install it (apt-get install chromium)")
		}
		testskip.Missing(t, "no Chromium on the PATH; apt-get install chromium to run this test")
	}
	// Tests run as root in containers, where Chromium has no sandbox; the page is our own.
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.WindowSize(1400, 1000))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	ctx, cancelAllocator := chromedp.NewExecAllocator(ctx, options...)
	ctx, cancelTab := chromedp.NewContext(ctx)
	t.Cleanup(func() { cancelTab(); cancelAllocator(); cancel() })
	b := &browser{ctx: ctx}
	err := chromedp.Listen(ctx, func(event any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		switch e := event.(type) {
		case *runtime.EventConsoleAPICalled:
			b.messages = append(b.messages, fmt.Sprintf("console.%s", e.Type))
		case *runtime.EventExceptionThrown:
			b.messages = append(b.messages, e.ExceptionDetails.Text)
		case *log.EventEntryAdded:
			b.messages = append(b.messages, e.Entry.Text+" "+e.Entry.URL)
		}
	})
	if err == nil {
		_, err = chromedp.Call(ctx, log.Enable, cdp.Empty{})
	}
	if err != nil {
		t.Fatalf("start %s: %v", path, err)
	}
	return b
}

func (b *browser) do(t *testing.T, actions ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		t.Fatalf("in the browser: %v", err)
	}
}

// open writes a report to a file and opens that.
func (b *browser) open(t *testing.T, r *Report) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "report.html")
	var page strings.Builder
	if err := r.WriteHTML(&page); err != nil {
		t.Fatalf("write the page: %v", err)
	}
	if err := os.WriteFile(file, []byte(page.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	b.do(t, chromedp.Navigate("file://"+file))
}

func eval[T any](t *testing.T, b *browser, script string) T {
	t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](script))
	if err != nil {
		t.Fatalf("in the browser: %s: %v", script, err)
	}
	return v
}

// clean fails if the console said anything at all.
func (b *browser) clean(t *testing.T) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.messages) > 0 {
		t.Errorf("the browser's console: %q", b.messages)
	}
}

// shot saves a screenshot for review if AICR_ACTION_SCREENSHOTS names a directory.
func (b *browser) shot(t *testing.T, name string) {
	t.Helper()
	dir := os.Getenv("AICR_ACTION_SCREENSHOTS")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		t.Fatalf("take a picture: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644); err != nil {
		t.Fatal(err)
	}
}

const shownCells = `[...document.querySelectorAll('#grid td[data-i]')].filter(td => getComputedStyle(td.querySelector('a')).visibility === 'visible' && td.checkVisibility()).map(td => td.dataset.k.split(' ')[0]).join(' ')`

// The filter takes words and statuses, hides what does not match everywhere on the page, says how
// many are left, and can be undone.
func TestPageFilter(t *testing.T) {
	b := newBrowser(t)
	b.open(t, sample())
	if got := eval[string](t, b, `document.getElementById('shown').textContent`); got != "10 of 10 cells shown" {
		t.Errorf("at first: got %q", got)
	}
	b.do(t, chromedp.SendKeys(chromedp.CSS("#q"), "training flux"))
	if got := eval[string](t, b, shownCells); got != "eks-training/flux-oci" {
		t.Errorf("training flux: got %q", got)
	}
	if got := eval[string](t, b, `document.getElementById('shown').textContent`); got != "1 of 10 cells shown" {
		t.Errorf("training flux: got %q", got)
	}
	if got := eval[string](t, b, `[...document.querySelectorAll('.cause')].filter(a => a.checkVisibility()).map(a => a.querySelector('code').textContent).join()`); got != "COMPONENT_DIED (14)" {
		t.Errorf("causes of what is shown: got %q", got)
	}
	if got := eval[int](t, b, `[...document.querySelectorAll('details.cell')].filter(a => a.checkVisibility()).length`); got != 1 {
		t.Errorf("cells of what is shown: got %d", got)
	}
	b.shot(t, "filtered")
	b.do(t, chromedp.Click(chromedp.CSS("button[type=reset]")), chromedp.WaitVisible(chromedp.CSS("#c0")))
	if got := eval[string](t, b, `document.getElementById('shown').textContent`); got != "10 of 10 cells shown" {
		t.Errorf("after the reset: got %q", got)
	}
	b.do(t, chromedp.SendKeys(chromedp.CSS("#q"), "SCHEDULING_failed"))
	if got := eval[string](t, b, shownCells); got != "eks/flux-oci eks-training/helm" {
		t.Errorf("by reason: got %q", got)
	}
	b.do(t, chromedp.Click(chromedp.CSS("button[type=reset]")), chromedp.Click(chromedp.CSS("input[value=failed]")), chromedp.Click(chromedp.CSS("input[value=timeout]")), chromedp.Click(chromedp.CSS("input[value=infra]")), chromedp.Click(chromedp.CSS("input[value=passed]")))
	if got := eval[string](t, b, shownCells); got != "base/helm base/argocd-oci base/flux-oci" {
		t.Errorf("by status: got %q", got)
	}
	b.do(t, chromedp.SendKeys(chromedp.CSS("#q"), "nothing like this"))
	if got := eval[string](t, b, `document.getElementById('shown').textContent`); got != "0 of 10 cells shown" {
		t.Errorf("nothing matches: got %q", got)
	}
	b.clean(t)
}

// With the keyboard alone: the first stop skips to the grid, Enter on an entry of the grid opens
// its cell and moves there.
func TestPageKeyboard(t *testing.T) {
	b := newBrowser(t)
	b.open(t, sample())
	b.do(t, chromedp.KeyEvent(kb.Tab))
	if got := eval[string](t, b, `document.activeElement.textContent`); got != "Skip to the grid" {
		t.Errorf("the first stop: got %q", got)
	}
	b.do(t, chromedp.KeyEvent(kb.Enter), chromedp.KeyEvent(kb.Tab))
	if got := eval[string](t, b, `document.activeElement.getAttribute('href')`); got != "#c0" {
		t.Errorf("the stop after the skip: got %q, want the grid's first entry", got)
	}
	b.do(t, chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(chromedp.CSS("#c2 .nodes")))
	if got := eval[string](t, b, `document.activeElement.tagName + ' ' + document.activeElement.parentElement.id`); got != "SUMMARY c2" {
		t.Errorf("after Enter: focus is on %q, want the cell's summary", got)
	}
	b.shot(t, "cell")
	b.do(t, chromedp.KeyEvent(kb.Enter))
	if eval[bool](t, b, `document.getElementById('c2').open`) {
		t.Error("Enter on the summary does not fold the cell")
	}
	b.clean(t)
}

// What a screen reader needs, and no layout that must be scrolled sideways on a narrow screen but
// for the grid in its own frame.
func TestPageStructure(t *testing.T) {
	b := newBrowser(t)
	b.open(t, sample())
	for what, script := range map[string]string{
		"one h1":                        `document.querySelectorAll('h1').length === 1`,
		"a language":                    `document.documentElement.lang === 'en'`,
		"a caption":                     `document.querySelector('#grid caption').textContent.length > 0`,
		"headers of rows and columns":   `[...document.querySelectorAll('#grid th')].every(th => th.scope === (th.closest('thead') ? 'col' : 'row'))`,
		"a label on every input":        `[...document.querySelectorAll('input')].every(i => i.labels.length > 0 && i.labels[0].textContent.trim())`,
		"a name on every link":          `[...document.querySelectorAll('a')].every(a => a.textContent.trim().length > 0)`,
		"unique ids":                    `new Set([...document.querySelectorAll('[id]')].map(e => e.id)).size === document.querySelectorAll('[id]').length`,
		"a target for every label":      `[...document.querySelectorAll('[aria-labelledby]')].every(e => document.getElementById(e.getAttribute('aria-labelledby')))`,
		"headings without gaps":         `[...document.querySelectorAll('h1,h2,h3,h4,h5,h6')].map(h => +h.tagName[1]).every((n, i, all) => i === 0 || n <= all[i-1] + 1)`,
		"a live region for the filter":  `document.getElementById('shown').getAttribute('role') === 'status'`,
		"a status in words everywhere":  `[...document.querySelectorAll('#grid td[data-s] a')].every(a => /passed|failed|timeout|infrastructure|interrupted|not run|skipped/.test(a.textContent))`,
		"marks that are not read aloud": `[...document.querySelectorAll('.mark > span')].every(s => s.getAttribute('aria-hidden') === 'true')`,
	} {
		if !eval[bool](t, b, script) {
			t.Errorf("the page lacks %s", what)
		}
	}
	b.do(t, chromedp.EmulateViewport(390, 800))
	if got := eval[int](t, b, `document.documentElement.scrollWidth`); got > 390 {
		t.Errorf("on a screen of 390 pixels the page is %d wide, because of %s", got,
			eval[string](t, b, `[...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > 390 && !e.closest('.scroll')).map(e => e.tagName + '.' + e.className).join(' ')`))
	}
	b.shot(t, "narrow")
	b.clean(t)
}

// Both colour schemes are the page's own.
func TestPageSchemes(t *testing.T) {
	b := newBrowser(t)
	seen := map[string]bool{}
	for _, scheme := range []string{"light", "dark"} {
		_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
		if err != nil {
			t.Fatalf("choose the %s scheme: %v", scheme, err)
		}
		b.open(t, sample())
		seen[eval[string](t, b, `getComputedStyle(document.body).backgroundColor`)] = true
		b.shot(t, scheme)
		b.do(t, chromedp.Click(chromedp.CSS(`a[href="#c2"]`)), chromedp.WaitVisible(chromedp.CSS("#c2 .nodes")))
		b.shot(t, scheme+"-cell")
	}
	if len(seen) != 2 {
		t.Errorf("got backgrounds %v, want one per scheme", seen)
	}
	b.clean(t)
}

// 152 cells are there in less than a second of the browser's main thread: parsing, script, layout
// and painting. Its own time, since the machine may be busy with something else; the time on the
// clock is logged.
func TestPageSpeed(t *testing.T) {
	b := newBrowser(t)
	if _, err := chromedp.Call(b.ctx, performance.Enable, performance.EnableParams{TimeDomain: performance.EnableTimeDomainThreadTicks}); err != nil {
		t.Fatal(err)
	}
	before := b.mainThread(t)
	b.open(t, big())
	b.do(t, chromedp.WaitVisible(chromedp.CSS("#shown")))
	took := b.mainThread(t) - before
	t.Logf("%d cells: %s of the main thread, %.0f ms on the clock", len(big().Results), took, eval[float64](t, b, `performance.getEntriesByType('navigation')[0].loadEventEnd`))
	if took <= 0 || took > time.Second {
		t.Errorf("%d cells took %s, want less than 1s", len(big().Results), took)
	}
	b.do(t, chromedp.SendKeys(chromedp.CSS("#q"), "training-07 flux"))
	if got := eval[string](t, b, `document.getElementById('shown').textContent`); got != "1 of 152 cells shown" {
		t.Errorf("the filter: got %q", got)
	}
	b.clean(t)
}

// mainThread is the time that the page's main thread has worked so far.
func (b *browser) mainThread(t *testing.T) time.Duration {
	t.Helper()
	all, err := chromedp.Call(b.ctx, performance.GetMetrics, cdp.Empty{})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all.Metrics {
		if m.Name == "TaskDuration" {
			return time.Duration(m.Value * float64(time.Second))
		}
	}
	t.Fatalf("no TaskDuration in %v", all.Metrics)
	return 0
}

// Of many recipes: a heading per service, which goes when the filter hides its last row, and a
// summary of the lanes that agree.
func TestPage_ManyRecipes(t *testing.T) {
	b := newBrowser(t)
	b.do(t, chromedp.EmulateViewport(1400, 2000))
	b.open(t, wide())
	b.shot(t, "wide")
	for what, script := range map[string]string{
		"a heading per service":            `[...document.querySelectorAll('#grid tr.group th')].map(th => th.textContent.split(':')[0]).join() === 'aks,eks,gke,kind,lke,oke'`,
		"headings over all columns":        `[...document.querySelectorAll('#grid tr.group th')].every(th => th.scope === 'rowgroup' && th.colSpan === document.querySelectorAll('#grid thead th').length)`,
		"a summary in every row":           `[...document.querySelectorAll('#grid tr:not(.group) th[scope=row]')].every(th => th.nextElementSibling.matches('td.sum') && th.nextElementSibling.textContent.trim())`,
		"the lanes in a summary":           `document.querySelector('#grid td.sum.passed').textContent === '✓ 4 lanes, 33.3 to 60.3 s, 112 pods'`,
		"a status in words everywhere":     `[...document.querySelectorAll('#grid td[data-s] a')].every(a => /passed|failed|timeout|infrastructure|interrupted|not run|skipped/.test(a.textContent))`,
		"a grid that fits a wide window":   `document.querySelector('#grid').offsetWidth <= document.querySelector('.scroll').clientWidth`,
		"all of the recipes, and all once": `new Set([...document.querySelectorAll('#grid th[scope=row]')].map(th => th.textContent)).size === 40 && document.querySelectorAll('#grid th[scope=row]').length === 40`,
	} {
		if !eval[bool](t, b, script) {
			t.Errorf("the page lacks %s", what)
		}
	}
	b.do(t, chromedp.SendKeys(chromedp.CSS("#q"), "kind flux"))
	if got := eval[string](t, b, `[...document.querySelectorAll('#grid tr.group')].filter(tr => tr.checkVisibility()).map(tr => tr.textContent.split(':')[0]).join()`); got != "kind" {
		t.Errorf("kind flux: headings of %q, want only kind's", got)
	}
	b.shot(t, "wide-filtered")
	b.clean(t)
}

// A cell's timeline has its steps and components on one scale, each with words for those who do not see it, and fits
// a telephone and a screen in both colour schemes. What no node has is shown with its cause.
func TestPage_Timeline(t *testing.T) {
	b := newBrowser(t)
	for _, width := range []int64{360, 1280} {
		for _, scheme := range []string{"light", "dark"} {
			_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
			if err != nil {
				t.Fatal(err)
			}
			b.do(t, chromedp.EmulateViewport(width, 1200))
			b.open(t, sample())
			b.do(t, chromedp.Click(chromedp.CSS(`a[href="#c2"]`)), chromedp.WaitVisible(chromedp.CSS("#c2 .timeline")))
			b.shot(t, fmt.Sprintf("timeline-%d-%s", width, scheme))
			for what, script := range map[string]string{
				"a row of steps and one per component":  `[...document.querySelectorAll('#c2 .timeline > span')].map(s => s.firstChild.textContent.trim()).join() === 'steps,cert-manager,gpu-operator'`,
				"words for each row":                    `[...document.querySelectorAll('#c2 .timeline svg')].every(s => s.getAttribute('role') === 'img' && s.firstElementChild.tagName === 'title' && s.firstElementChild.textContent.length > 20)`,
				"a part for each step":                  `document.querySelectorAll('#c2 .timeline svg')[0].querySelectorAll('rect').length === 6`,
				"components on the scale of the steps":  `(() => { const r = [...document.querySelectorAll('#c2 .timeline svg')].map(s => s.lastElementChild.getBoundingClientRect()); return r[1].left < r[2].left && r[2].right <= r[0].right + 1 })()`,
				"what is not ready marked as such":      `document.querySelector('#c2 .timeline svg:last-child rect').classList.contains('unready')`,
				"parts that can be seen":                `[...document.querySelectorAll('#c2 .timeline rect')].every(r => r.getBoundingClientRect().width >= 1 && getComputedStyle(r).fill !== getComputedStyle(document.body).backgroundColor)`,
				"a width that needs no scrolling":       `document.documentElement.scrollWidth <= innerWidth`,
				"the cause beside a pod without a node": `document.querySelector('#c2 .nowhere li small').textContent.length > 10`,
			} {
				if !eval[bool](t, b, script) {
					t.Errorf("%d pixels, %s: the page lacks %s", width, scheme, what)
				}
			}
		}
	}
	b.clean(t)
}
