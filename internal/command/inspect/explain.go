package inspect

import (
	"github.com/spf13/cobra"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// ExplainCommand is `matrix explain`.
func ExplainCommand(a *cli.App) *cobra.Command {
	return a.ExplainCommand(cli.Explained{Rows: reason.Table(), Markdown: true, Story: failureStory, Check: explainCheck, CheckNames: checkNames(), ChecksMarkdown: checksMarkdown})
}
