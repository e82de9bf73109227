package archtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	skips = regexp.MustCompile(`\b\w+\.Skip(f|Now)?\(`)
	// mayskip are the two places that skip: the helper, and a type with the methods of testing.T.
	mayskip = []string{"internal/testkit/testskip/testskip.go", "internal/testkit/testskip/testskip_test.go", "internal/verify/validate/agent/tests.go"}
)

// skipsIn returns the numbers of a file's lines that skip a test.
func skipsIn(text string) []int {
	var lines []int
	for i, line := range strings.Split(text, "\n") {
		if skips.MatchString(line) {
			lines = append(lines, i+1)
		}
	}
	return lines
}

// Only internal/testkit/testskip skips tests: it fails them in CI.
func TestSkips(t *testing.T) {
	const bad = "if testing." + "Short() {\n\tt." + "Skip(\"slow\")\n}\nb." + "Skipf(why)\nreturn fs.SkipDir\nskip.Short(t, why)\n"
	if got := skipsIn(bad); len(got) != 2 || got[0] != 2 || got[1] != 4 {
		t.Fatalf("got lines %v of an example, want 2 and 4", got)
	}
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(file, ".go") {
			return err
		}
		rel, err := filepath.Rel(root, file)
		if err != nil || slices.Contains(mayskip, filepath.ToSlash(rel)) {
			return err
		}
		text, err := os.ReadFile(file)
		for _, line := range skipsIn(string(text)) {
			t.Errorf("%s:%d: skip tests with internal/testkit/testskip, which fails them in CI", rel, line)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
