package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/nvidia/aicr-action/internal/result/reason"
)

// Explained is what a program's command explain knows.
type Explained struct {
	// Rows are the program's exit codes.
	Rows []reason.Row
	// Markdown: the command has the flag --markdown, which prints the table of all programs.
	Markdown bool
	// Check explains a check by its ID or name, and CheckNames are these; nil without checks.
	Check      func(id string) (text string, ok bool)
	CheckNames []string
	// ChecksMarkdown is the page of all checks; nil without checks.
	ChecksMarkdown func() string
	// Story gives an example of a reason, or ""; nil if there are none.
	Story func(reason.Reason) string
}

// complete completes the name of a row, as the only argument.
func (e Explained) complete(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var names []string
	if len(args) == 0 {
		for _, row := range e.Rows {
			names = append(names, row.Name())
		}
		names = append(names, e.CheckNames...)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// text is what a row means, with an example.
func (e Explained) text(row reason.Row) string {
	text := fmt.Sprintf("exit code %s  %s\n%s\n\n%s\n", row.CodeText(), row.Name(), row.Title, row.Help)
	if e.Story != nil {
		if story := e.Story(row.Reason); story != "" {
			text += "\n" + story
		}
	}
	return text
}

// ExplainCommand is the command explain: what an exit code or a reason means, and what to do.
func (a *App) ExplainCommand(e Explained) *cobra.Command {
	var markdown, checksMarkdown bool
	cmd := &cobra.Command{
		Use: "explain [" + e.what() + "]", Short: "Explain an exit code or a reason, and what to do", Args: cobra.MaximumNArgs(1),
		ValidArgsFunction: e.complete,
		RunE: func(_ *cobra.Command, args []string) error {
			if markdown {
				_, err := io.WriteString(a.Stdout, reason.Markdown())
				return err
			}
			if checksMarkdown {
				_, err := io.WriteString(a.Stdout, e.ChecksMarkdown())
				return err
			}
			if len(args) == 1 && e.Check != nil {
				if text, ok := e.Check(args[0]); ok {
					_, err := io.WriteString(a.Stdout, text)
					return err
				}
			}
			if len(args) == 0 {
				_, err := io.WriteString(a.Stdout, reason.CodesOf(e.Rows))
				return err
			}
			row, err := reason.FindIn(e.Rows, args[0])
			if err != nil {
				switch named := reason.Named(e.Rows, args[0]); len(named) {
				case 0:
					return err
				case 1:
					row = named[0]
				default:
					_, err := io.WriteString(a.Stdout, reason.CodesOf(named))
					return err
				}
			}
			text := e.text(row)
			if args[0] == row.CodeText() {
				for _, also := range row.Also(e.Rows) {
					text += "\n" + e.text(also)
				}
			}
			_, err = io.WriteString(a.Stdout, text)
			return err
		},
	}
	if e.Markdown {
		cmd.Flags().BoolVar(&markdown, "markdown", false, "print the whole table as docs/exit-codes.md has it")
	}
	if e.ChecksMarkdown != nil {
		cmd.Short = "Explain an exit code, a reason or a check, and what to do"
		cmd.Flags().BoolVar(&checksMarkdown, "checks-markdown", false, "print all checks as docs/checks.md has them")
	}
	return cmd
}

// what the command takes.
func (e Explained) what() string {
	if e.Check != nil {
		return "CODE|NAME|CHECK"
	}
	return "CODE|NAME"
}
