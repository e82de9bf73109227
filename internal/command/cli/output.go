package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/nvidia/aicr-action/internal/util/lists"
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

// ToFlag adds --to, which says where a command writes, and --output (-o), the format of what it
// prints about that. A path given to --output is where to write, which is what it meant before
// there was --to.
func ToFlag(cmd *cobra.Command, to, format *string, usage string) {
	*format = AsTable
	cmd.Flags().StringVar(to, "to", "", usage)
	cmd.Flags().VarP(&formatOrPath{format, to}, "output", "o", "output format: table or json")
}

// formatOrPath is the value of --output of a command with --to.
type formatOrPath struct{ format, to *string }

var _ pflag.Value = (*formatOrPath)(nil)

func (v *formatOrPath) String() string {
	if v.format == nil { // pflag makes a zero value to compare the default with
		return ""
	}
	return *v.format
}

// Type is what --help shows.
func (v *formatOrPath) Type() string { return "string" }

func (v *formatOrPath) Set(text string) error {
	switch {
	case text == AsTable || text == AsJSON:
		*v.format = text
	case text == "":
		return errors.New("want table or json")
	default:
		*v.to = text
	}
	return nil
}

// OldName lets a flag be given by the name that it had before; help does not show that.
func OldName(cmd *cobra.Command, old, now string) {
	cmd.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == old {
			name = now
		}
		return pflag.NormalizedName(name)
	})
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

// flagHint names the flag that an unknown one is probably meant to be; empty for other errors.
func flagHint(err error, c *cobra.Command) string {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || len(unknown.GetSpecifiedName()) < 2 {
		return ""
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	if near := lists.Nearest(unknown.GetSpecifiedName(), names); near != "" {
		return fmt.Sprintf("; did you mean --%s?", near)
	}
	return ""
}

// hint is a hint in brackets, or nothing.
func hint(name string, candidates []string) string {
	if h := lists.Hint(name, candidates); h != "" {
		return " (" + h + ")"
	}
	return ""
}

// flagError says of a flag's wrong value which ones are valid, in place of the words of the package
// that parses it.
func flagError(err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err
	}
	want := ""
	switch f := invalid.GetFlag(); f.Value.Type() {
	case "int", "int64", "uint16":
		want = "a whole number"
	case "duration":
		want = "a duration, e.g. 20m"
	case "bool":
		want = "true or false"
	default:
		if _, ours := f.Value.(*tableOrJSON); !ours {
			return err
		}
		want = AsTable + " or " + AsJSON
	}
	return Usagef("--%s %q: want %s", invalid.GetFlag().Name, invalid.GetValue(), want)
}
