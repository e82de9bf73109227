package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// FlagGroup is a group of flags in a short help.
type FlagGroup struct {
	Title string
	Flags []FlagLine
}

// FlagLine is a flag in a short help: its name, the word for its value (empty for a switch), and
// what it does, in so few words that the line fits on a screen.
type FlagLine struct{ Name, Value, Does string }

// helpAll is the flag that prints the whole help of a command with a short one.
const helpAll = "help-all"

// ShortHelp gives a command with many flags a help that fits on a screen: usage, examples, and the
// flags that most people need, in groups. The flag --help-all prints what was its help before: all
// flags, the environment, exit codes.
func ShortHelp(cmd *cobra.Command, groups ...FlagGroup) {
	whole, run, all := cmd.HelpFunc(), cmd.RunE, false
	cmd.Flags().BoolVar(&all, helpAll, false, "print all flags, the environment and the exit codes")
	cmd.RunE = func(c *cobra.Command, args []string) error {
		if all {
			whole(c, args)
			return nil
		}
		return run(c, args)
	}
	cmd.SetHelpFunc(func(c *cobra.Command, _ []string) { shortHelp(c.OutOrStdout(), c, groups) })
}

func shortHelp(w io.Writer, c *cobra.Command, groups []FlagGroup) {
	_, _ = fmt.Fprintf(w, "%s.\n\nUsage:\n  %s\n\nExamples:\n%s\n", c.Short, c.UseLine(), c.Example)
	for _, g := range groups {
		_, _ = fmt.Fprintf(w, "\n%s:\n", g.Title)
		for _, line := range g.Flags {
			_, _ = fmt.Fprintf(w, "  %-27s  %s\n", flagAndValue(c.Flags(), line), line.Does)
		}
	}
	_, _ = fmt.Fprintf(w, "\n`%s --%s` has all flags, the environment and the exit codes.\n", c.CommandPath(), helpAll)
}

// flagAndValue is a flag as a person writes it. A flag that the command does not have is a mistake
// in this program, which any test finds.
func flagAndValue(flags *pflag.FlagSet, line FlagLine) string {
	f := flags.Lookup(line.Name)
	if f == nil {
		panic("short help of a flag that does not exist: " + line.Name)
	}
	text := "    --" + f.Name
	if f.Shorthand != "" {
		text = "-" + f.Shorthand + ", --" + f.Name
	}
	if line.Value != "" {
		text += " " + line.Value
	}
	return text
}
