package cli

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/nvidia/aicr-action/internal/infra"
)

// Progress prints the running tasks to stderr. On a terminal it prints a line at the end of each
// task. Below these lines it keeps the running tasks, with their seconds as kind prints them, and
// the foot. Elsewhere it prints plain lines: one at the end of a task, and while it runs a
// heartbeat with its detail every 15 s. It makes all text Inert.
type Progress struct {
	out   io.Writer
	tty   bool
	color bool

	mu     sync.Mutex
	active []*task
	foot   func(width int) []string // nil without one
	drawn  int                      // lines of the terminal that are drawn again
	quit   chan struct{}
	once   sync.Once
	done   chan struct{}
}

const heartbeat = 15 * time.Second

// NewProgress shows progress on out until it is closed. It is a terminal's if out is one, TERM is
// not dumb and CI is not set; NO_COLOR takes the colors away.
func NewProgress(out io.Writer, getenv func(string) string) *Progress {
	p := &Progress{out: out, quit: make(chan struct{}), done: make(chan struct{})}
	if f, ok := patientFile(out); ok {
		p.tty = term.IsTerminal(int(f.Fd())) && getenv("TERM") != "dumb"
		if p.tty && getenv("CI") != "" {
			p.tty = false
			_, _ = fmt.Fprintln(out, "CI is set: progress is printed line by line")
		}
	}
	p.color = p.tty && getenv("NO_COLOR") == ""
	go p.tick()
	return p
}

type task struct {
	p       *Progress
	what    string
	started time.Time
	mu      sync.Mutex
	detail  string
	spoken  time.Time // when a plain line was last printed
}

var _ infra.Progress = (*Progress)(nil)

// Begin starts showing a task.
func (p *Progress) Begin(what string) infra.Task {
	t := &task{p: p, what: Inert(what), started: time.Now(), spoken: time.Now()}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.active = append(p.active, t)
	if p.tty {
		p.draw()
	}
	return t
}

// Update changes the detail of a task, which the next line about it has.
func (t *task) Update(detail string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.detail = Inert(detail)
}

func (t *task) text() (string, time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.what
	if t.detail != "" {
		s += "  " + t.detail
	}
	return s, time.Since(t.started)
}

// End prints how a task ended and what it took.
func (t *task) End(detail string, err error) {
	p := t.p
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, other := range p.active {
		if other == t {
			p.active = append(p.active[:i], p.active[i+1:]...)
			break
		}
	}
	p.clear()
	mark, color := "✓", "\x1b[32m"
	if err != nil {
		mark, color = "✗", "\x1b[31m"
	}
	if p.color {
		mark = color + mark + "\x1b[0m"
	}
	text := t.what
	if detail != "" {
		text += "  " + Inert(detail)
	}
	_, _ = fmt.Fprintf(p.out, " %s %s  %.1fs\n", mark, text, time.Since(t.started).Seconds())
	if p.tty {
		p.draw()
	}
}

// mostTasks is how many running tasks are shown; more would push what has ended off the screen.
const mostTasks = 4

// draw shows what stays below everything else: the tasks that run, the oldest first, and the foot.
// A line that the terminal would wrap is cut, or clear would not find its beginning.
func (p *Progress) draw() {
	width := 100
	if f, ok := patientFile(p.out); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 20 {
			width = w
		}
	}
	var lines []string
	for i, t := range p.active {
		text, took := t.text()
		if more := len(p.active) - mostTasks; i == mostTasks-1 && more > 0 {
			lines = append(lines, fmt.Sprintf("%s  %.0fs  (and %d more)", text, took.Seconds(), more))
			break
		}
		lines = append(lines, fmt.Sprintf("%s  %.0fs", text, took.Seconds()))
	}
	for i := range lines {
		lines[i] = " • " + lines[i]
	}
	if p.foot != nil {
		for _, line := range p.foot(width) {
			lines = append(lines, " "+line)
		}
	}
	for i, text := range lines {
		if line := []rune(text); len(line) > width-1 {
			lines[i] = string(append(line[:width-2], '…'))
		}
	}
	p.clear()
	if len(lines) > 0 {
		_, _ = io.WriteString(p.out, "\r\x1b[2K"+strings.Join(lines, "\n\r\x1b[2K"))
	}
	p.drawn = len(lines)
}

// clear removes what draw has drawn, and returns the cursor to the first of its lines.
func (p *Progress) clear() {
	if !p.tty || p.drawn == 0 {
		return
	}
	_, _ = io.WriteString(p.out, "\r\x1b[2K"+strings.Repeat("\x1b[1A\x1b[2K", p.drawn-1))
	p.drawn = 0
}

// setFoot has lines drawn below everything else on a terminal; width is the terminal's, in columns.
// The function is called often.
func (p *Progress) setFoot(lines func(width int) []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.foot = lines
}

// say prints a separate line in a log. On a terminal the foot has the text.
func (p *Progress) say(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.tty {
		_, _ = fmt.Fprintf(p.out, " = %s\n", Inert(text))
	}
}

func (p *Progress) tick() {
	defer close(p.done)
	interval := time.Second
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-p.quit:
			return
		case <-ticker.C:
			p.beat()
		}
	}
}

func (p *Progress) beat() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tty {
		p.draw()
		return
	}
	for _, t := range p.active {
		if time.Since(t.spoken) < heartbeat {
			continue
		}
		t.spoken = time.Now()
		text, took := t.text()
		_, _ = fmt.Fprintf(p.out, " • %s  %.0fs\n", text, took.Seconds())
	}
}

// Close clears the line on a terminal, and ends the heartbeat. Tasks that still run are not printed
// any more, unless they end. It can be called again.
func (p *Progress) Close() {
	p.once.Do(func() {
		close(p.quit)
		<-p.done
		p.mu.Lock()
		defer p.mu.Unlock()
		p.clear()
		p.foot = nil
	})
}
