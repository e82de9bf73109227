package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/testkit/workers"
)

// asProgram makes this test binary the program, for commands that a shell runs.
const asProgram = "AICR_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	workers.Serve(cli.Hidden())
	if os.Getenv(asProgram) != "" {
		os.Exit(cli.Main(run))
	}
	os.Exit(m.Run())
}

// elsewhere are the documented commands that need what a test does not have, with the test that
// does the same.
func elsewhere() map[string]string {
	return map[string]string{
		"go build -o bin/aicr ./cmd/aicr": "TestMain",
		"aicr recipe --service eks --accelerator h100 --intent training -o cm://gpu-operator/aicr-recipe": "TestConfigMap",
		"aicr recipe --snapshot cm://gpu-operator/aicr-snapshot --intent training":                        "TestConfigMap",
		"aicr snapshot -o cm://gpu-operator/aicr-snapshot":                                                "TestSnapshot",
		"aicr snapshot --only K8s,NodeTopology -o cm://gpu-operator/aicr-snapshot":                        "TestSnapshot",
		"aicr validate -r cm://gpu-operator/aicr-recipe -s cm://gpu-operator/aicr-snapshot --phase all":   "TestPipeline",
		"aicr validate -r recipe.yaml --phase deployment":                                                 "TestValidateCluster",
		"aicr snapshot --agent --image registry.example.com/aicr:1 -o snapshot.yaml":                      "TestSnapshotAgent",
		"aicr validate -r recipe.yaml --phase deployment --agent --image registry.example.com/aicr:1":     "TestValidateAgent",
		"aicr bundle -r cm://gpu-operator/aicr-recipe -o ./from-cluster":                                  "TestConfigMap",
		"aicr bundle -r https://example.com/recipe.yaml -o ./from-server":                                 "TestBundleSources",
		"aicr bundle -r recipe.yaml --deployer flux-oci -o oci://registry.example.com/aicr/training":      "TestBundlePublish",
		"aicr bundle -r recipe.yaml --charts upstream -o ./checked":                                       "TestBundleSources",
	}
}

// sections are those of this program's page: one of each command, by its name, and what stands
// before them as "".
func sections(t *testing.T) map[string]string {
	t.Helper()
	parts := strings.Split(read(t, "../../docs/aicr.md"), "\n## aicr ")
	all := map[string]string{"": parts[0]}
	for _, part := range parts[1:] {
		name, text, _ := strings.Cut(part, "\n")
		all["aicr "+name] = text
	}
	return all
}

// shown is a command of the page, and what the page says that it prints: the block that follows, if
// that has no language.
type shown struct{ command, output string }

var fenced = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")

func commandsOf(page string) []shown {
	var all []shown
	for _, block := range fenced.FindAllStringSubmatch(page, -1) {
		language, text := block[1], strings.ReplaceAll(block[2], "\\\n", "")
		switch language {
		case "sh":
			for line := range strings.Lines(text) {
				if line = strings.Join(strings.Fields(line), " "); line != "" && !strings.HasPrefix(line, "#") {
					all = append(all, shown{command: line})
				}
			}
		case "":
			if len(all) > 0 {
				all[len(all)-1].output += text
			}
		}
	}
	return all
}

// TestDocumentedCommands executes every command of the page, in their order, in a directory of its
// own for each section. What a section shows as the output is in the output, line by line, up to a
// line that is only "…".
func TestDocumentedCommands(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal("the commands are for bash, which this machine does not have")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "aicr"), []byte("#!/bin/sh\n"+asProgram+"=1 exec '"+self+"' \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	unused := elsewhere()
	for name, page := range sections(t) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "snapshot.yaml"), []byte(read(t, snapshotFile)), 0o644); err != nil {
			t.Fatal(err)
		}
		done := 0
		for _, c := range commandsOf(page) {
			done++
			if test, ok := elsewhere()[c.command]; ok {
				delete(unused, c.command)
				if !strings.Contains(testSources(t), "func "+test+"(") {
					t.Errorf("%s: %s: there is no test %s", name, c.command, test)
				}
				continue
			}
			// The page may show an exit code.
			cmd := exec.Command(bash, "-c", "set -euo pipefail\n"+strings.Replace(c.command, "; echo $?", " || echo $?", 1))
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "KUBECONFIG="+filepath.Join(dir, "none"), "PATH="+bin+":"+os.Getenv("PATH"), "AICR_ACTION_CACHE="+t.TempDir())
			out, _ := cmd.CombinedOutput() // ProcessState has the exit code
			if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != 0 {
				t.Errorf("%s: %s: got %v\n%s", name, c.command, cmd.ProcessState, out)
			}
			lines := strings.Split(string(out), "\n")
			for line := range strings.Lines(c.output) {
				if line = strings.TrimRight(line, "\n"); line != "…" && !slices.Contains(lines, line) {
					t.Errorf("%s: %s: the page shows %q; got\n%s", name, c.command, line, out)
				}
			}
		}
		if done == 0 && name != "" {
			t.Errorf("the section %s shows no command", name)
		}
	}
	for command := range unused {
		t.Errorf("%q is on no page", command)
	}
}

func testSources(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, file := range files {
		text += read(t, file)
	}
	return text
}

var (
	options = regexp.MustCompile("(?m)^\\| (`--[^|]*) \\|")
	option  = regexp.MustCompile("`--([a-z-]+)")
)

// TestPages: each command's section has its flags, all of them and no other, and its examples.
func TestPages(t *testing.T) {
	all := sections(t)
	root := (&app{App: &cli.App{}}).rootCommand()
	var verbs []*cobra.Command
	visit(root, func(c *cobra.Command) {
		if c != root && !slices.Contains([]string{"explain", "version", "help", "completion"}, strings.Fields(c.CommandPath())[1]) {
			verbs = append(verbs, c)
		}
	})
	for _, c := range verbs {
		page, ok := all[c.CommandPath()]
		if !ok {
			t.Errorf("%s has no section in docs/aicr.md", c.CommandPath())
			continue
		}
		var have, want []string
		for _, row := range options.FindAllStringSubmatch(page, -1) {
			for _, m := range option.FindAllStringSubmatch(row[1], -1) {
				if m[1] != "gpu" { // another name of --accelerator
					have = append(have, m[1])
				}
			}
		}
		c.Flags().VisitAll(func(f *pflag.Flag) { want = append(want, f.Name) })
		for _, name := range want {
			if !slices.Contains(have, name) && name != "help" {
				t.Errorf("docs/aicr.md, %s: lacks the flag --%s", c.CommandPath(), name)
			}
		}
		for _, name := range have {
			if !slices.Contains(want, name) {
				t.Errorf("docs/aicr.md, %s: has --%s, which the command has not", c.CommandPath(), name)
			}
		}
		for line := range strings.Lines(c.Example) {
			if line = strings.Join(strings.Fields(line), " "); line != "" && !slices.ContainsFunc(commandsOf(page), func(s shown) bool { return s.command == line }) {
				t.Errorf("docs/aicr.md, %s: lacks the example %s", c.CommandPath(), line)
			}
		}
	}
	names := []string{root.Name()}
	for _, c := range verbs {
		names = append(names, c.CommandPath())
	}
	for _, name := range append(names[1:], "explain", "version") {
		if !strings.Contains(all[""], "`"+name+"`") && !strings.Contains(all[""], "`aicr "+name+"`") {
			t.Errorf("docs/aicr.md lacks `%s`", name)
		}
	}
}

func visit(c *cobra.Command, do func(*cobra.Command)) {
	do(c)
	for _, sub := range c.Commands() {
		visit(sub, do)
	}
}
