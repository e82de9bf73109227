package agent

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/nvidia/aicr-action/internal/result"
)

// mark is the first byte of the lines that a test binary under -test.v=test2json prints itself, and
// not a test (src/testing/testing.go, marker).
const mark = '\x16'

// converter makes events of what a test binary prints, as `go tool test2json` does
// (src/cmd/internal/test2json), which an image without a Go toolchain does not have. Tests here
// have no subtests and do not run side by side.
type converter struct {
	emit    func(goTestEvent)
	current string // the test that output belongs to
	start   time.Time
	now     func() time.Time
	failed  bool // the binary says so
}

func newConverter(emit func(goTestEvent)) *converter {
	return &converter{emit: emit, start: time.Now(), now: time.Now}
}

func (l *lockedWriter) event(e goTestEvent) {
	data, err := json.Marshal(e)
	if err != nil {
		return // it has strings and numbers only
	}
	l.line(string(data))
}

var (
	runLine    = regexp.MustCompile(`^=== (RUN|PAUSE|CONT|NAME) +(\S*)$`)
	resultLine = regexp.MustCompile(`^--- (PASS|FAIL|SKIP): (\S+) \(([0-9.]+)s\)$`)
)

// line takes a line without its end.
func (c *converter) line(text string) {
	before, own, marked := strings.Cut(text, string(mark))
	if !marked {
		c.output(text)
		return
	}
	if before != "" {
		c.output(before)
	}
	if m := runLine.FindStringSubmatch(own); m != nil {
		c.current = m[2]
		if m[1] == "RUN" {
			c.send("run", 0)
		}
		c.output(own)
		return
	}
	if m := resultLine.FindStringSubmatch(own); m != nil {
		c.current = m[2]
		c.output(own)
		seconds, _ := strconv.ParseFloat(m[3], 64) // the pattern allows digits only
		c.send(strings.ToLower(m[1]), seconds)
		c.current = ""
		return
	}
	if own == "PASS" || own == "FAIL" {
		c.current, c.failed = "", own == "FAIL"
	}
	c.output(own)
}

// end gives the event of the whole binary.
func (c *converter) end(passed bool) {
	c.current = ""
	status := result.StepPassed
	if !passed || c.failed {
		status = result.StepFailed
	}
	c.send(actionOf(status), c.now().Sub(c.start).Seconds())
}

func (c *converter) output(line string) {
	c.emit(goTestEvent{Time: c.now().UTC(), Action: "output", Test: c.current, Output: line + "\n"})
}

func (c *converter) send(action string, seconds float64) {
	c.emit(goTestEvent{Time: c.now().UTC(), Action: action, Test: c.current, Elapsed: seconds})
}
