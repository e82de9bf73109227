package inspect

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/nvidia/aicr-action/internal/command/cli"
)

// SchemaCommand is `matrix schema`.
func SchemaCommand(shared *cli.App) *cobra.Command {
	a := &app{App: shared}
	var to, output string
	cmd := &cobra.Command{
		Use: "schema [NAME]", Short: "Print the JSON schema of a kind of file, for your editor", Args: cobra.MaximumNArgs(1),
		Long: `Print the JSON schema of a kind of file; without NAME, list the kinds. --to writes NAME` + schemaSuffix + ` of all kinds, or of the one. An editor
with the YAML language server checks and completes a file whose first line names its schema:

  # yaml-language-server: $schema=../../schemas/overlay` + schemaSuffix,
		Example: `  matrix schema overlay
  matrix schema --to schemas`,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			var names []string
			for _, s := range allSchema() {
				names = append(names, s.Name)
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error { return a.schema(args, to, output) },
	}
	cmd.Flags().StringVar(&to, "to", "", "`directory` to write to; files of the same name are replaced")
	cli.OutputFlag(cmd, &output)
	return cmd
}

func (a *app) schema(args []string, to, output string) error {
	which := allSchema()
	if len(args) == 1 {
		one, err := schemaNamed(args[0])
		if err != nil {
			return cli.WrapUsage(err)
		}
		which = []schema{one}
	}
	switch {
	case to != "":
		return a.writeSchemas(which, to)
	case len(args) == 1:
		raw, err := which[0].JSON()
		if err == nil {
			_, err = a.Stdout.Write(raw)
		}
		return err
	case output == cli.AsJSON:
		list := []map[string]string{}
		for _, s := range which {
			list = append(list, map[string]string{"name": s.Name, "describes": s.Describes})
		}
		return cli.PrintJSON(a.Stdout, list)
	}
	rows := [][]string{{"SCHEMA", "DESCRIBES"}}
	for _, s := range which {
		rows = append(rows, []string{s.Name, s.Describes})
	}
	_, err := io.WriteString(a.Stdout, cli.Table(rows))
	return err
}

func (a *app) writeSchemas(which []schema, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return cli.WrapUsage(err)
	}
	for _, s := range which {
		raw, err := s.JSON()
		if err != nil {
			return err
		}
		file := filepath.Join(dir, s.Name+schemaSuffix)
		if err := os.WriteFile(file, raw, 0o644); err != nil {
			return cli.WrapUsage(err)
		}
		if _, err := fmt.Fprintln(a.Stdout, file); err != nil {
			return err
		}
	}
	return nil
}
