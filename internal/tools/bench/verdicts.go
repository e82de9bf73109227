package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// verdictMarks are those of the table of the times to a verdict.
var verdictMarks = marks{"<!-- made by `make bench-verdicts UPDATE=1` -->\n", "<!-- end of what `make bench-verdicts` made -->\n"}

// soon is how many seconds after the object that shows a fault its verdict should be there, in most of 100 cases.
const (
	soon = 20
	most = 95
)

// verdictTime is a line that the fault-injection suite of package matrix writes.
type verdictTime struct {
	Cell, Reason, Cause, Object string
	After                       float64
}

// benchVerdicts runs the fault-injection suite, those cells of it that a pattern of go test names, one at a time, and gives the
// table of how long the verdicts took.
func benchVerdicts(ctx context.Context, dir, pattern string, nightly bool, stderr io.Writer) (string, error) {
	file := filepath.Join(dir, "verdicts")
	args := []string{"test", "-count=1", "-vet=off", "-timeout", "6h", "-parallel", "1"}
	suite := "^TestFaultInjection$"
	if nightly {
		args, suite = append(args, "-tags", "nightly"), "^Test(Nightly)?FaultInjection$"
	}
	if pattern != "" {
		suite += "/" + pattern
	}
	cmd := exec.CommandContext(ctx, "go", append(args, "-run", suite, "./internal/matrix", "-args", "-verdicts", file)...)
	cmd.Stdout, cmd.Stderr = stderr, stderr
	failed := cmd.Run()
	raw, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("the suite noted no verdict: %w (%w)", err, failed)
	}
	all, err := readVerdicts(string(raw))
	if err != nil {
		return "", err
	}
	return verdictTable(all), failed
}

func readVerdicts(text string) (all []verdictTime, err error) {
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		var v verdictTime
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			return nil, fmt.Errorf("a line of -verdicts: %w", err)
		}
		all = append(all, v)
	}
	return all, nil
}

// verdictTable is the share of verdicts by lane that come soon, and those that do not.
func verdictTable(all []verdictTime) string {
	lanes := map[string][]float64{}
	var late []verdictTime
	for _, v := range all {
		lane := v.Cell[strings.LastIndex(v.Cell, "/")+1:]
		lanes[lane] = append(lanes[lane], v.After)
		lanes["all"] = append(lanes["all"], v.After)
		if v.After > soon {
			late = append(late, v)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "| lane | failed cells | verdict within %d s | median | 95 of 100 within |\n|---|--:|--:|--:|--:|\n", soon)
	for _, lane := range append(slices.DeleteFunc(slices.Sorted(maps.Keys(lanes)), func(l string) bool { return l == "all" }), "all") {
		times := lanes[lane]
		slices.Sort(times)
		in := 0
		for _, t := range times {
			if t <= soon {
				in++
			}
		}
		fmt.Fprintf(&b, "| %s | %d | %.0f %% | %.1f s | %.1f s |\n", lane, len(times), 100*float64(in)/float64(max(1, len(times))), percentile(times, 50), percentile(times, most))
	}
	if len(late) > 0 {
		slices.SortFunc(late, func(x, y verdictTime) int { return int(y.After*1000) - int(x.After*1000) })
		fmt.Fprintf(&b, "\n| later than %d s | reason | after | from the creation of |\n|---|---|--:|---|\n", soon)
		for _, v := range late {
			from := v.Object
			if from == "" {
				from = "the delivery's beginning"
			}
			fmt.Fprintf(&b, "| %s | %s | %.0f s | %s |\n", v.Cell, v.Reason, v.After, from)
		}
	}
	return b.String()
}

// percentile of sorted numbers; 0 without any.
func percentile(sorted []float64, p int) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(0, int(math.Ceil(float64(len(sorted)*p)/100))-1)]
}
