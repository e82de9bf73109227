package simulate

import (
	"fmt"
	"text/template"
)

// stageFunctions are the functions that the template of an operator's stage may call, besides Go's
// own. This process renders it, and KWOK's renderer has functions that read the process's variables
// and resolve host names (env, expandenv, getHostByName of sprig).
var stageFunctions = []string{"Now", "Quote", "YAML", "dict", "list", "default"}

// checkFunctions refuses a template that calls anything else.
func checkFunctions(text string) error {
	known := template.FuncMap{}
	for _, name := range stageFunctions {
		known[name] = func(...any) string { return "" } // the template is parsed, and not executed
	}
	if _, err := template.New("template").Funcs(known).Parse(text); err != nil {
		return fmt.Errorf("%w; besides Go's own functions a stage may call: %v", err, stageFunctions)
	}
	return nil
}
