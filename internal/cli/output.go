package cli

import (
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The values of --output that OutputFlag takes.
const (
	AsTable = "table"
	AsJSON  = "json"
)

// OutputFlag adds --output (-o) to a command that prints a table for people, its default, or JSON
// for programs. Another value is a usage error.
func OutputFlag(cmd *cobra.Command, value *string) {
	*value = AsTable
	cmd.Flags().VarP((*tableOrJSON)(value), "output", "o", "output format: table or json")
}

// tableOrJSON is the value of that flag.
type tableOrJSON string

var _ pflag.Value = (*tableOrJSON)(nil)

func (v *tableOrJSON) String() string { return string(*v) }

// Type is what --help shows.
func (v *tableOrJSON) Type() string { return "string" }

func (v *tableOrJSON) Set(text string) error {
	if text != AsTable && text != AsJSON {
		return errors.New("want table or json")
	}
	*v = tableOrJSON(text)
	return nil
}

// flagError removes pflag's prefix from the error about a flag if the flag's own type says which
// values are valid.
func flagError(err error) error {
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		if _, ours := invalid.GetFlag().Value.(*tableOrJSON); ours {
			return Usagef("--%s %q: %w", invalid.GetFlag().Name, invalid.GetValue(), errors.Unwrap(invalid))
		}
	}
	return err
}
