package action_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// ciMachine is what .ci/run finds. Its programs do nothing but take their minutes, on a clock that
// only they move.
type ciMachine struct {
	minutes int    // of make test
	built   bool   // whether the images for Kind are in the cache directory
	pinned  bool   // whether the registries have the pinned ones
	user    int    // 0 is root
	broken  string // the command that fails, by its first words
	hangs   string // the command that is stopped at its time limit
	bare    bool   // without a browser and shellcheck
}

// run runs .ci/run: the commands it called of go and make, what it printed, and its exit code.
func (m ciMachine) run(t *testing.T) (calls []string, printed string, code int) {
	t.Helper()
	dir := t.TempDir()
	isOne := func(first string) string { return `case "$*" in "` + first + `"*) true;; *) false;; esac` }
	fails := "false"
	if m.broken != "" {
		fails = isOne(m.broken)
	}
	hangs := "false"
	if m.hangs != "" {
		hangs = isOne(m.hangs)
	}
	pass := func(minutes int) string {
		return fmt.Sprintf(`echo $(($(cat "$MACHINE/clock") + %d)) > "$MACHINE/clock"`, 60*minutes)
	}
	called := `set -- "$(basename "$0")" "$@"; echo "$*${KIND_IMAGES:+ [$KIND_IMAGES]}" >> "$MACHINE/calls"; ! { ` + fails + `; } || exit 1; `
	status := "missing in DIR"
	if m.built {
		status = "kept in DIR"
	}
	if status += ": assembled, because x: y"; m.pinned {
		status = strings.Replace(status, "assembled", "pinned", 1)
	}
	for name, script := range map[string]string{
		"date": `cat "$MACHINE/clock"`, "id": fmt.Sprintf("echo %d", m.user), "df": "true", "apt-get": called, "unshare": "true",
		"make":    `cat "$CI_HUGE_PAGES" > "$MACHINE/huge-pages-meanwhile"; ` + called + `case "$*" in "make test") ` + pass(m.minutes) + `;; esac`,
		"go":      called + `case "$*" in *status) echo "` + status + `";; *build) ` + pass(12) + `;; esac`,
		"timeout": `echo "$*" >> "$MACHINE/limits"; shift 3; if ` + hangs + `; then exit 124; fi; exec "$@"`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	path := dir + string(os.PathListSeparator) + os.Getenv("PATH")
	if m.bare {
		path = dir
		for _, name := range []string{"bash", "sh", "basename", "cat", "dirname", "sed"} { // what .ci/run and the programs above need of a real machine
			program, err := exec.LookPath(name)
			if err == nil {
				err = os.Symlink(program, filepath.Join(dir, name))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	} else {
		for _, name := range []string{"chromium", "shellcheck"} {
			if err := os.WriteFile(filepath.Join(dir, name), nil, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "clock"), []byte("1000000\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	pages, before := filepath.Join(dir, "huge-pages"), "always [madvise] never\n" // in place of the kernel's, so that a test changes nothing of this machine
	if err := os.WriteFile(pages, []byte(before), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("bash", ".ci/run")
	cmd.Env = append(os.Environ(), "KIND_IMAGES=", "MACHINE="+dir, "CI_HUGE_PAGES="+pages, "PATH="+path)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	for _, file := range []string{"calls", "limits"} {
		raw, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil && file == "calls" {
			t.Fatalf("%v\n%s", err, out)
		}
		calls = append(calls, strings.Split(strings.TrimSpace(string(raw)), "\n")...)
	}
	meanwhile, after := "always\n", "madvise\n" // only root may set it, and gives it back however the run ends
	if m.user != 0 {
		meanwhile, after = before, before
	}
	kept := map[string]string{pages: after, pages + "-meanwhile": meanwhile}
	if !slices.Contains(calls, "make test") { // it ended before
		kept = map[string]string{pages: before}
	}
	for file, want := range kept {
		if got, err := os.ReadFile(file); err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v, want %q", filepath.Base(file), got, err, want)
		}
	}
	return calls, string(out), cmd.ProcessState.ExitCode()
}

// TestCIRun: .ci/run installs the programs that tests need, so that none is skipped. After `make
// test` it makes the images for Kind or takes the kept ones, runs as many of Kind's tests as the
// time suffices for, and says which. A failed or stopped step never passes.
func TestCIRun(t *testing.T) {
	const (
		test, status, build = "make test", "go run ./test/kindnode status", "go run ./test/kindnode build"
		update              = "apt-get update"
		install             = "apt-get install -y --no-install-recommends chromium shellcheck"
		all                 = "make test-kind KIND_TESTS="
		part                = all + "TestContractInKind|TestClusterFromTheNodeImage"
	)
	limit := func(minutes int, command string) string {
		return fmt.Sprintf("--signal=INT --kill-after=120 %dm %s", minutes, command)
	}
	for _, c := range []struct {
		name    string
		machine ciMachine
		calls   []string // and, after them, the limits that were set
		says    string
		code    int
	}{
		{"kept, with time for all", ciMachine{minutes: 35, built: true}, []string{test, status, all, limit(40, all)}, "all of them, 40 minutes at most, with images kept in DIR: assembled, because x: y\n", 0},
		{"kept, with time for a part", ciMachine{minutes: 36, built: true}, []string{test, status, part, limit(39, part)}, "TestClusterFromTheNodeImage, 39 minutes at most, with images kept in DIR: assembled, because x: y\n", 0},
		{"kept, just in time", ciMachine{minutes: 65, built: true}, []string{test, status, part, limit(10, part)}, "10 minutes at most, with images kept in DIR: assembled, because x: y\n", 0},
		{"kept, too late", ciMachine{minutes: 66, built: true}, []string{test, status, ""}, "NOT run: 9 of CI's 75 minutes are left, and with the images kept in DIR: assembled, because x: y they need 10. To run them: make test-kind\n", 0},
		{"made in the cold case", ciMachine{minutes: 51}, []string{test, status, build, part, limit(14, build), limit(12, part)}, "12 minutes at most, with images made by this run: assembled, because x: y\n", 0},
		{"made, with time for all", ciMachine{minutes: 20}, []string{test, status, build, all, limit(45, build), limit(43, all)}, "all of them, 43 minutes at most, with images made by this run: assembled, because x: y\n", 0},
		{"pulled", ciMachine{minutes: 20, pinned: true}, []string{test, status, build, all, limit(45, build), limit(43, all)}, "with images made by this run: pinned, because x: y\n", 0},
		{"too late to make them", ciMachine{minutes: 52}, []string{test, status, ""}, "NOT run: 23 of CI's 75 minutes are left, and with the images missing in DIR: assembled, because x: y they need 24. To run them: make test-kind\n", 0},
		{"not root", ciMachine{minutes: 5, user: 1000}, []string{test, ""}, "NOT run: they need Debian, root, and the right to start containers. To run them: make test-kind\n", 0},
		{"a bare machine", ciMachine{minutes: 35, built: true, bare: true}, []string{update, install, test, status, all, limit(40, all)}, "all of them", 0},
		{"a bare machine, not root", ciMachine{bare: true, user: 1000}, []string{test, ""}, "NOT run", 0},
		{"the programs cannot be had", ciMachine{bare: true, broken: install}, []string{update, install, ""}, "", 1},
		{"make test fails", ciMachine{broken: test, built: true}, []string{test, ""}, "", 1},
		{"the fixture is broken", ciMachine{broken: status}, []string{test, status, ""}, "", 1},
		{"making the images fails", ciMachine{broken: build}, []string{test, status, build, limit(65, build)}, "", 1},
		{"making them hangs", ciMachine{minutes: 40, hangs: build}, []string{test, status, limit(25, build)}, "TIME LIMIT: '" + build + "' was stopped after the 25 minutes that were left of CI's 75\n", 124},
		{"a test fails", ciMachine{minutes: 40, built: true, broken: "make test-kind"}, []string{test, status, part, limit(35, part)}, "", 1},
		{"a test hangs", ciMachine{minutes: 40, built: true, hangs: "make test-kind"}, []string{test, status, limit(35, part)}, "TIME LIMIT: '" + part + "' was stopped after the 35 minutes", 124},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			calls, printed, code := c.machine.run(t)
			used := " [assembled]"
			if c.machine.pinned {
				used = " [pinned]"
			}
			for i, call := range c.calls { // what status chose holds for what comes after it
				if call == build || call == all || call == part {
					c.calls[i] += used
				}
			}
			if got, want := strings.Join(calls, "\n"), strings.Join(c.calls, "\n"); got != want || code != c.code || !strings.Contains(printed, c.says) {
				t.Errorf("exit code %d, want %d; called\n%s\nwant\n%s\nprinted\n%s\nwant %q", code, c.code, got, want, printed, c.says)
			}
			if ran := strings.Contains(strings.Join(calls, "\n"), "make test-kind"); code == 0 && ran == strings.Contains(printed, "NOT run") {
				t.Errorf("the tests ran: %t, and it printed\n%s", ran, printed)
			}
		})
	}
}
