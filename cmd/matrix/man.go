package main

import (
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/nvidia/aicr-action/internal/command/cli"
)

// manCommand writes the manual pages, one for each command. Packagers run it, so that help does not
// list it.
func manCommand() *cobra.Command {
	var to string
	cmd := &cobra.Command{
		Use: "man --to DIR", Short: "Write the manual pages", Args: cobra.NoArgs, Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if to == "" {
				return cli.Usagef("--to: name a directory for the manual pages")
			}
			if err := os.MkdirAll(to, 0o755); err != nil {
				return cli.WrapUsage(err)
			}
			root := cmd.Root()
			root.DisableAutoGenTag = true // the day would be in every page
			return cli.WrapUsage(doc.GenManTree(root, &doc.GenManHeader{Title: "MATRIX", Section: "1", Source: "aicr-action"}, to))
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "`directory` to write to; files of the same name are replaced")
	return cmd
}
