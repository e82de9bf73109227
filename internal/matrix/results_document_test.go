package matrix

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/matrix/gate"
	"github.com/nvidia/aicr-action/internal/result"
)

// jsonNames are the names that a struct of this project has in JSON, and those of the structs in it
// except some, each once.
func jsonNames(of reflect.Type, except ...reflect.Type) []string {
	var names []string
	seen := map[reflect.Type]bool{}
	for _, t := range except {
		seen[t] = true
	}
	var walk func(reflect.Type)
	walk = func(t reflect.Type) {
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct || t == reflect.TypeFor[time.Time]() || seen[t] {
			return
		}
		seen[t] = true
		for i := range t.NumField() {
			f := t.Field(i)
			if !f.IsExported() && !f.Anonymous {
				continue
			}
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "" && !f.Anonymous {
				name = f.Name
			}
			if name != "" && name != "-" && !slices.Contains(names, name) {
				names = append(names, name)
			}
			walk(f.Type)
		}
	}
	walk(of)
	return names
}

// docs/results.md lists every field of a result and of cell.json, each in its own section.
func TestResultsDocument(t *testing.T) {
	raw, err := os.ReadFile("../../docs/results.md")
	if err != nil {
		t.Fatal(err)
	}
	section := func(from string) string {
		_, text, ok := strings.Cut(string(raw), "\n### "+from+"\n")
		if !ok {
			t.Fatalf("docs/results.md has no section %q", from)
		}
		text, _, _ = strings.Cut(text, "\n## ")
		text, _, _ = strings.Cut(text, "\n### ")
		return text
	}
	placement, finding, expected, observed := reflect.TypeFor[result.Placement](), reflect.TypeFor[result.Finding](), reflect.TypeFor[expectationRecord](), reflect.TypeFor[gate.ObservedRecord]()
	scheduling := reflect.TypeFor[result.Scheduling]()
	for _, part := range []struct {
		heading string
		names   []string
		least   int
	}{
		{"The extra object of a cell", jsonNames(reflect.TypeFor[result.Result](), placement, scheduling, finding), 30},
		{"Findings", jsonNames(finding), 10},
		{"Placement", jsonNames(placement), 15},
		{"Scheduling", jsonNames(scheduling), 15},
		{"cell.json", slices.Concat(jsonNames(reflect.TypeFor[cellRecord](), reflect.TypeFor[result.Result](), expected, observed), jsonNames(expected), jsonNames(observed)), 40},
	} {
		if len(part.names) < part.least {
			t.Fatalf("%s: only %d names found: %q", part.heading, len(part.names), part.names)
		}
		listed := map[string]bool{}
		for _, span := range regexp.MustCompile("`[^`]+`").FindAllString(section(part.heading), -1) {
			for _, word := range regexp.MustCompile(`\w+`).FindAllString(span, -1) {
				listed[word] = true
			}
		}
		for _, n := range part.names {
			if !listed[n] {
				t.Errorf("docs/results.md, %s: the field `%s` is not listed", part.heading, n)
			}
		}
	}
}
