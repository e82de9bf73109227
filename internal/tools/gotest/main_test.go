package main

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// module is a module with a package per name, whose test is the text.
func module(t *testing.T, packages map[string]string) {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{"go.mod": "module example.com/m\n\ngo 1.24\n"}
	for name, text := range packages {
		files[name+"/x_test.go"] = "package " + name + "\n\nimport \"testing\"\n\n" + text
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	t.Setenv("GOFLAGS", "")
	t.Setenv("GOWORK", "off")
}

func gotest(ci string, args ...string) (int, string) {
	var stdout, stderr strings.Builder
	code := run(context.Background(), args, func(string) string { return ci }, &stdout, &stderr)
	return code, stdout.String() + stderr.String()
}

const (
	good    = "func TestGood(t *testing.T) { t.Log(\"not shown\"); t.Run(\"part\", func(t *testing.T) {}) }\n"
	bad     = "func TestBad(t *testing.T) { t.Run(\"part\", func(t *testing.T) { t.Error(\"what is wrong\") }) }\nfunc TestGood(t *testing.T) { t.Log(\"not shown\") }\n"
	skipped = "func TestSkipped(t *testing.T) { t.Skip(\"no browser\") }\n"
	broken  = "func TestBroken(t *testing.T) { undefined() }\n"
	panics  = "func TestPanics(t *testing.T) { panic(\"out of order\") }\n"
	silent  = "func TestQuiet(t *testing.T) {}\n"
)

// What a person sees is what go test prints, and the code is go test's.
func TestRun(t *testing.T) {
	for _, tc := range []struct {
		name     string
		packages map[string]string
		ci       string
		args     []string
		code     int
		want     string // an expression
		not      []string
	}{
		{name: "passes", packages: map[string]string{"a": good, "b": silent}, want: `^ok  \texample.com/m/a\t\S+\nok  \texample.com/m/b\t\S+\nThe 2 slowest tests:\n +0\.0s  example.com/m/a TestGood/part\n +0\.0s  example.com/m/b TestQuiet\n$`},
		{name: "fails", packages: map[string]string{"a": bad, "b": silent}, code: 1, not: []string{"not shown", "=== RUN", "PASS"},
			want: `(?s)^--- FAIL: TestBad .*x_test.go:5: what is wrong\n--- FAIL: TestBad/part .*\nFAIL\nFAIL\texample.com/m/a\t\S+\nok  \texample.com/m/b\t.*\nFAIL\n$`},
		{name: "does not compile", packages: map[string]string{"a": broken, "b": silent}, code: 1, want: `(?s)undefined: undefined.*FAIL\texample.com/m/a \[build failed\]\n.*\nFAIL\n$`},
		{name: "panics", packages: map[string]string{"a": panics}, code: 1, want: `(?s)panic: out of order.*FAIL\texample.com/m/a\t.*\nFAIL\n$`},
		{name: "skips", packages: map[string]string{"a": skipped}, want: `^ok  \texample.com/m/a\t`, not: []string{"FAIL"}},
		{name: "skips in CI", packages: map[string]string{"a": skipped}, ci: "true", code: 1, want: `(?s)every test must run there:\n  example.com/m/a TestSkipped\nFAIL\n$`},
		{name: "skips in CI with -short", packages: map[string]string{"a": skipped}, ci: "true", args: []string{"-short"}, want: `^ok `, not: []string{"FAIL"}},
		{name: "a flag that go test does not know", packages: map[string]string{"a": silent}, args: []string{"-timeout", "nonsense"}, code: 2, want: `nonsense`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			module(t, tc.packages)
			code, out := gotest(tc.ci, append([]string{"-p", "1"}, append(tc.args, "./...")...)...)
			if code != tc.code || !regexp.MustCompile(tc.want).MatchString(out) {
				t.Errorf("got code %d, want %d and %s in\n%s", code, tc.code, tc.want, out)
			}
			for _, text := range tc.not {
				if strings.Contains(out, text) {
					t.Errorf("%q is in\n%s", text, out)
				}
			}
		})
	}
}

// The slowest come first, ten of them, and a test of which the subtests are listed is not listed
// itself.
func TestSlowest(t *testing.T) {
	var out strings.Builder
	p := newPrinter(&out)
	if err := p.read(strings.NewReader(`{"Action":"run","Package":"a","Test":"TestAll"}
{"Action":"run","Package":"a","Test":"TestAll/one"}
{"Action":"pass","Package":"a","Test":"TestAll/one","Elapsed":2.04}
{"Action":"pass","Package":"a","Test":"TestAll","Elapsed":90}
{"Action":"output","Package":"b","Test":"TestQueued","Output":"    slots.go:30: queued: 59.0s\n"}
{"Action":"pass","Package":"b","Test":"TestQueued","Elapsed":60}
{"Action":"pass","Package":"b","Test":"TestSlow","Elapsed":30.5}
{"Action":"skip","Package":"b","Test":"TestNot","Elapsed":0}
`)); err != nil {
		t.Fatal(err)
	}
	p.printSlowest(2)
	if want := "The 2 slowest tests:\n     30.5s  b TestSlow\n      2.0s  a TestAll/one\n"; out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}
