package cli

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"

	"github.com/nvidia/aicr-action/internal/result/reason"
)

// another is a second program: one command that returns an error, and one with subcommands.
func another(a *App, ends error) *cobra.Command {
	var name string
	var recipes RecipeDirs
	fail := ExitCodesInHelp(&cobra.Command{Use: "fail RECIPE", Args: cobra.ExactArgs(1), RunE: func(*cobra.Command, []string) error { return ends }})
	NameFlag(fail, &name)
	RecipesFlags(fail, &recipes)
	group := &cobra.Command{Use: "group", Args: cobra.NoArgs, RunE: NeedSubcommand}
	group.AddCommand(&cobra.Command{Use: "one", Run: func(*cobra.Command, []string) {}}, &cobra.Command{Use: "two", Hidden: true, Run: func(*cobra.Command, []string) {}})
	values := func(_ *cobra.Command, flag string) []string { return map[string][]string{"name": {"mine"}}[flag] }
	return a.Root(&cobra.Command{Use: "another", Short: "Do something else"}, values, CommandGroup{ID: "all", Title: "All:", Commands: []*cobra.Command{fail, group}})
}

// Another program gets its usage errors, exit codes, help and completion with its own name.
func TestAnotherProgram(t *testing.T) {
	for name, test := range map[string]struct {
		args           []string
		ends           error
		code           int
		stdout, stderr string // parts; an empty stderr stands for nothing at all
	}{
		"no command":       {nil, nil, 0, "another [command]", ""},
		"unknown command":  {[]string{"nonsense"}, nil, 2, "", `another: unknown command "nonsense"; available commands: completion, fail, group`},
		"unknown flag":     {[]string{"fail", "--nonsense"}, nil, 2, "", "see `another fail --help`"},
		"arguments":        {[]string{"fail"}, nil, 2, "", "see `another fail --help`"},
		"no subcommand":    {[]string{"group"}, nil, 2, "", "another group needs a subcommand: one\n"},
		"no error":         {[]string{"fail", "x"}, nil, 0, "", ""},
		"an error":         {[]string{"fail", "x"}, reason.New(reason.NoSpace, "disk full"), 15, "", "another: disk full\nexit code 15 (NO_SPACE); `another explain 15` says more\n"},
		"a usage error":    {[]string{"fail", "x"}, Usagef("no x"), 2, "", "another: no x\n"},
		"a reported error": {[]string{"fail", "x"}, &Reported{reason.New(reason.DeployFailed, "refused")}, 51, "", ""},
		"an interrupt":     {[]string{"fail", "x"}, &Interrupt{syscall.SIGTERM}, 143, "", "another: interrupted by terminated\n"},
		"settings":         {[]string{"fail", "x", "--settings", "/nonexistent"}, nil, 10, "", "read the settings: open /nonexistent"},
		"help":             {[]string{"fail", "--help"}, nil, 0, "\nExit codes:\n" + reason.Codes(), ""},
		"values":           {[]string{"__completeNoDesc", "fail", "--name", ""}, nil, 0, "mine\n:4\n", "Completion ended"},
		"recipes":          {[]string{"__completeNoDesc", "fail", ""}, nil, 0, "\neks\neks-inference\neks-training\n", "Completion ended"},
	} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr strings.Builder
			cache := t.TempDir()
			a := New(func(name string) string { return map[string]string{"AICR_ACTION_CACHE": cache}[name] }, &stdout, &stderr)
			code := a.Execute(t.Context(), another(a, test.ends), test.args, func(err error) error { return err })
			if code != test.code || !strings.Contains(stdout.String(), test.stdout) || !strings.Contains(stderr.String(), test.stderr) || test.stderr == "" && stderr.Len() > 0 {
				t.Errorf("got code %d, want %d\nstdout: %s\nstderr: %s", code, test.code, &stdout, &stderr)
			}
		})
	}
	var stderr strings.Builder
	a := New(func(string) string { return t.TempDir() }, &stderr, &stderr)
	if code := a.Execute(t.Context(), another(a, nil), []string{"group", "one"}, func(error) error { return errors.New("last word") }); code != 19 {
		t.Errorf("finish has the last word on the error: got code %d", code)
	}
}
