package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nvidia/aicr-action/internal/result/reason"
)

// SettingsFlag is the name of the flag that names another file of settings.
const SettingsFlag = "settings"

// CommandGroup is a group of commands in --help.
type CommandGroup struct {
	ID, Title string
	Commands  []*cobra.Command
}

// Root completes the root command of a program: its commands, with help and completion in the last
// group, --settings and --verbose, and shell completion. It turns cobra's own errors, which have no
// exit code, into usage errors. Values are what flags complete to; see FlagValues.
func (a *App) Root(root *cobra.Command, values FlagValues, groups ...CommandGroup) *cobra.Command {
	root.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return Usagef("unknown command %q%s; available commands: %s", args[0], hint(args[0], commandsOf(cmd)), strings.Join(commandsOf(cmd), ", "))
		}
		return nil
	}
	root.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	root.SilenceUsage, root.SilenceErrors = true, true
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	root.PersistentPreRunE = func(*cobra.Command, []string) error { return a.Open() }
	if a.Bare {
		root.PersistentPreRunE = func(*cobra.Command, []string) error { a.openLog(); return nil }
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return Usagef("%w%s; see `%s --help`", flagError(err), flagHint(err, c), c.CommandPath())
	})
	if !a.Bare {
		root.PersistentFlags().StringVar(&a.SettingsFile, SettingsFlag, "", "`file` with the pinned settings (default: the ones in the binary)")
	}
	if !a.Bare {
		root.PersistentFlags().StringArrayVar(&a.AllowPrivate, "allow-private", nil, "let charts be downloaded from this `HOST[:PORT]` or network, though it is this machine or private; repeatable")
	}
	if !a.Bare {
		root.PersistentFlags().StringVar(&a.StackSource, stackFlag, "", "`source` of upstream programs that are not in the cache: auto (an image if it is pinned and its registry answers, else compiled), images, modules (compiled) or archive (of matrix stack install)")
		root.PersistentFlags().BoolVar(&a.AllowUnpinned, "allow-unpinned", false, "let programs come from images that images.lock has no digest of; every result names them")
		root.PersistentFlags().BoolVar(&a.VerifySignatures, VerifySignaturesFlag, false, "have cosign, of PATH, verify the images that programs come from, of makers that sign theirs (Kubernetes, Argo CD, Flux)")
	}
	root.PersistentFlags().BoolVarP(&a.Verbose, "verbose", "v", false, "log what "+root.Name()+" does to stderr")
	if a.Bare { // as AICR's own CLI has them
		root.PersistentFlags().BoolVar(&a.Verbose, "debug", false, "the same as --verbose")
		root.PersistentFlags().BoolVar(&a.logJSON, "log-json", false, "log as --verbose does, each entry a line of JSON")
	}
	for _, group := range groups {
		root.AddGroup(&cobra.Group{ID: group.ID, Title: group.Title})
		for _, c := range group.Commands {
			c.GroupID = group.ID
			root.AddCommand(c)
		}
		root.SetHelpCommandGroupID(group.ID)
		root.SetCompletionCommandGroupID(group.ID)
	}
	root.SetOut(a.Stdout) // cobra's completion commands keep the writer that they find now
	root.InitDefaultCompletionCmd()
	if err := a.addCompletions(root, values); err != nil {
		panic(err) // a flag that does not exist: a mistake in this program, found by any test
	}
	for _, c := range root.Commands() {
		usageErrors(c)
	}
	return root
}

// Execute runs a command line and returns its exit code. An error that is not Reported is printed
// to stderr. The caller's last word on the error is finish, which is called when the command has
// ended.
func (a *App) Execute(ctx context.Context, root *cobra.Command, args []string, finish func(error) error) int {
	root.SetArgs(args)
	root.SetErr(a.Stderr)
	err := root.ExecuteContext(ctx)
	a.Progress.Close()
	err = finish(err)
	code, name := CodeOf(err), string(reason.Of(err))
	if a.ExitRow != nil && err != nil {
		row := a.ExitRow(err)
		code, name = row.Code, row.Name()
	}
	var quiet *Reported
	if err != nil && !errors.As(err, &quiet) {
		_, _ = fmt.Fprintf(a.Stderr, "%s: %s\n", root.Name(), err)
		var no *No
		if !errors.As(err, &no) && code != reason.Usage.Code() && code < reason.SignalBase {
			_, _ = fmt.Fprintf(a.Stderr, "exit code %d (%s); `%s explain %d` says more\n", code, name, root.Name(), code)
		}
	}
	return code
}

// NeedSubcommand is the RunE of a command that only has subcommands.
func NeedSubcommand(cmd *cobra.Command, _ []string) error {
	return Usagef("%s needs a subcommand: %s", cmd.CommandPath(), strings.Join(commandsOf(cmd), ", "))
}

func commandsOf(cmd *cobra.Command) []string {
	var names []string
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	return names
}

// ExitCodesInHelp puts the list of exit codes at the end of a command's help.
func ExitCodesInHelp(cmd *cobra.Command) *cobra.Command {
	help := cmd.HelpFunc()
	cmd.SetHelpFunc(func(c *cobra.Command, args []string) {
		help(c, args)
		_, _ = fmt.Fprintf(c.OutOrStdout(), "\nExit codes:\n%s", reason.Codes())
	})
	return cmd
}

// usageErrors makes a wrong number of arguments a usage error, in every command.
func usageErrors(c *cobra.Command) {
	if check := c.Args; check != nil {
		c.Args = func(c *cobra.Command, args []string) error {
			if err := check(c, args); err != nil {
				return Usagef("%w; see `%s --help`", flagError(err), c.CommandPath())
			}
			return nil
		}
	}
	for _, sub := range c.Commands() {
		usageErrors(sub)
	}
}
