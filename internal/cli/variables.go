package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/util/lists"
)

// WarnMisspelt warns of variables of the environment whose names nearly are those that the program
// reads: nothing reads them, so that the default counts in silence.
func WarnMisspelt(stderr io.Writer, program string, environment, known []string) {
	for _, pair := range environment {
		name, _, _ := strings.Cut(pair, "=")
		if slices.Contains(known, name) {
			continue
		}
		if near := lists.Misspelt(name, known); near != "" {
			_, _ = fmt.Fprintf(stderr, "%s: warning: nothing reads the variable %s; did you mean %s?\n", program, name, near)
		}
	}
}
