package oracle

import (
	"bufio"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/semver"
)

// difference is an input of which a program and the rules do not say the same.
type difference struct {
	input   input
	program string
	ours    string
}

// signature is what differences of one cause have in common, without names.
func (d *difference) signature() string {
	return withoutNames(d.program) + " | " + withoutNames(d.ours)
}

// What differs from input to input of one cause: quoted texts, numbers, names in the input's namespace.
var varying = regexp.MustCompile(`"[^"]*"|[\w.-]*\d[\w.-]*|(^|\s)in-\S+`)

func withoutNames(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return varying.ReplaceAllString(line, "_")
}

// known is a row of the table of known differences: a file of testdata/differences. Its first comment lines say which
// oracle differs, what the program and the rules say (regular expressions), in which inputs (where, another), why that may
// be, and the version in which it was seen. What follows is the smallest input that shows it.
type known struct {
	file, oracle, reason, version string
	program, ours                 *regexp.Regexp
	// where, if it is given, is in the inputs of which the row is.
	where *regexp.Regexp
	input input
}

// is reports whether the row is of a difference.
func (k *known) is(d *difference) bool {
	return k.program.MatchString(d.program) && k.ours.MatchString(d.ours) && k.where.MatchString(d.input.yaml())
}

func readKnown(dir string) (all []known, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		k, err := readRow(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, k)
	}
	return all, nil
}

func readRow(file string) (k known, err error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return k, err
	}
	k.file = file
	head := map[string]string{}
	for scanner := bufio.NewScanner(strings.NewReader(string(raw))); scanner.Scan() && strings.HasPrefix(scanner.Text(), "# "); {
		key, value, _ := strings.Cut(strings.TrimPrefix(scanner.Text(), "# "), ": ")
		head[key] = value
	}
	k.oracle, k.reason, k.version = head["oracle"], head["reason"], head["version"]
	for _, field := range []string{"oracle", "program", "ours", "reason", "version"} {
		if strings.TrimSpace(head[field]) == "" {
			return k, fmt.Errorf("has no line %q", "# "+field+": …")
		}
	}
	if k.program, err = regexp.Compile(head["program"]); err != nil {
		return k, fmt.Errorf("program: %w", err)
	}
	if k.ours, err = regexp.Compile(head["ours"]); err != nil {
		return k, fmt.Errorf("ours: %w", err)
	}
	if k.where, err = regexp.Compile(head["where"]); err != nil {
		return k, fmt.Errorf("where: %w", err)
	}
	k.input, err = readInput("known-"+strings.TrimSuffix(filepath.Base(file), ".yaml"), string(raw))
	return k, err
}

// settle compares what differs with the table, a line for what is wrong with either.
func settle(oracle, version string, rows []known, all []difference) (wrong []string) {
	used := map[string]bool{}
	for i := range all {
		d := &all[i]
		at := slices.IndexFunc(rows, func(k known) bool {
			return k.oracle == oracle && k.is(d)
		})
		if at < 0 {
			wrong = append(wrong, fmt.Sprintf("%s: %s\n  program: %s\n  ours:    %s", d.input.Name, d.input.From, d.program, strings.ReplaceAll(d.ours, "\n", "\n           ")))
			continue
		}
		if d.input.Name == rows[at].input.Name {
			used[rows[at].file] = true
		}
	}
	for _, k := range rows {
		switch {
		case k.oracle != oracle:
		case k.version != semver.MajorMinor(version):
			wrong = append(wrong, fmt.Sprintf("%s: was seen in %s, and the stack has %s: see whether it is still so, and write that version", k.file, k.version, version))
		case !used[k.file]:
			wrong = append(wrong, fmt.Sprintf("%s: its input does not differ in this way any more: delete it", k.file))
		}
	}
	return wrong
}

// save writes a difference as a row that lacks its reason.
func save(t testing.TB, dir, oracle, version string, d *difference) {
	t.Helper()
	name := fmt.Sprintf("%s-%s.yaml", strings.ToLower(oracle), regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(d.input.Name), "-"))
	first, _, _ := strings.Cut(d.ours, "\n")
	program, _, _ := strings.Cut(d.program, "\n")
	text := fmt.Sprintf("# oracle: %s\n# program: %s\n# ours: %s\n# reason: \n# version: %s\n# from: %s\n%s", oracle, regexp.QuoteMeta(program), regexp.QuoteMeta(cmp.Or(first, "silent")), semver.MajorMinor(version), strings.ReplaceAll(d.input.From, "\n", " "), d.input.yaml())
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Logf("saved in %s", filepath.Join(dir, name))
}

func TestSettle(t *testing.T) {
	dir := t.TempDir()
	row := func(name, head string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(head+"apiVersion: v1\nkind: Pod\nmetadata: {name: pod, namespace: x}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const head = "# oracle: kubelet\n# program: ^refused X\n# ours: ^silent$\n"
	row("a.yaml", head+"# version: v1.36\n")
	if _, err := readKnown(dir); err == nil || !strings.Contains(err.Error(), `a.yaml: has no line "# reason: …"`) {
		t.Errorf("a row without a reason: got %v", err)
	}
	row("a.yaml", head+"# version: v1.36\n# reason: so\n")
	row("b.yaml", strings.Replace(head, "X", "Y", 1)+"# version: v1.36\n# reason: so\n")
	row("c.yaml", strings.Replace(head, "X", "Z", 1)+"# version: v1.35\n# reason: so\n")
	rows, err := readKnown(dir)
	if err != nil {
		t.Fatal(err)
	}
	differs := func(in input, program string) difference { return difference{in, program, "silent"} }
	got := settle("kubelet", "v1.36.4", rows, []difference{differs(rows[0].input, "refused X: a"), differs(rows[2].input, "refused Z"), differs(input{Name: "new"}, "refused W")})
	want := []string{"new: \n  program: refused W\n  ours:    silent", "b.yaml: its input does not differ in this way any more", "c.yaml: was seen in v1.35, and the stack has v1.36.4"}
	if len(got) != len(want) {
		t.Fatalf("got %q", got)
	}
	for i := range want {
		if !strings.Contains(got[i], want[i]) {
			t.Errorf("got %q, want %q", got[i], want[i])
		}
	}
}
