package report

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Every cell counts once, and the list has those that count as failed.
func TestOutputs(t *testing.T) {
	r := sample()
	all, err := r.Outputs()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, o := range all {
		got[o.Name] = o.Value
	}
	sum := 0
	for name, want := range map[string]int{"passed": 2, "failed": 5, "skipped": 1, "not-run": 2} {
		sum += want
		if got[name] != strconv.Itoa(want) {
			t.Errorf("%s: got %s, want %d", name, got[name], want)
		}
	}
	if got["total"] != strconv.Itoa(sum) {
		t.Errorf("total: got %s, want %d", got["total"], sum)
	}
	var failed []failedCell
	if err := json.Unmarshal([]byte(got["failed-cells"]), &failed); err != nil || len(failed) != 5 || strings.Contains(got["failed-cells"], "\n") {
		t.Fatalf("failed-cells: %v in %s", err, got["failed-cells"])
	}
	if failed[0] != (failedCell{"eks", "flux-oci", "", "", "SCHEDULING_FAILED", 1}) || failed[3].Reason != "COMPONENT_DIED" || failed[3].Code != 14 {
		t.Errorf("failed-cells: got %+v", failed)
	}
	if none, err := (&Report{}).Outputs(); err != nil || none[len(none)-1].Value != "[]" || none[0].Value != "0" {
		t.Errorf("no cell: got %v, %v", none, err)
	}
}

// No value can end early: delimiters are random, and other ones each time.
func TestWriteOutputs(t *testing.T) {
	var b bytes.Buffer
	if err := WriteOutputs(&b, []Output{{"a", "1\nx=y"}, {"b", ""}}); err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`^a<<([A-Z2-7]{26})\n1\nx=y\n([A-Z2-7]{26})\nb<<([A-Z2-7]{26})\n\n([A-Z2-7]{26})\n$`).FindStringSubmatch(b.String())
	if m == nil || m[1] != m[2] || m[3] != m[4] || m[1] == m[3] {
		t.Errorf("got %q", b.String())
	}
	if err := WriteOutputs(fullDisk{}, []Output{{"a", "1"}}); err == nil {
		t.Error("a writer that fails is no error")
	}
}
