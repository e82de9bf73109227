package preconditions

import (
	"fmt"
	"strings"

	"github.com/nvidia/aicr-action/internal/recipe"
)

// The components that the accounting of a recipe for Slurm concerns.
const (
	slurm    = "slinky-slurm"
	database = "slurm-accounting-mariadb"
)

// accounting: what the recipe says of Slurm's accounting and what the values say must agree, and both sides of its
// database must be about the same one. It is "" for a recipe that says nothing of it.
func accounting(in bundled, result *recipe.Result, c *recipe.Component) string {
	mode := result.Configuration.Choice().Accounting
	if c.Name != slurm || mode == "" {
		return ""
	}
	if on := at(c.Values, "accounting", "enabled") == true; on != (mode != recipe.AccountingDisabled) {
		return fmt.Sprintf("accounting.enabled is %v, and the recipe has the accounting %s; generate the recipe again with --slurm-accounting-mode, and set nothing here", at(c.Values, "accounting", "enabled"), mode)
	}
	if mode == recipe.AccountingDisabled {
		return ""
	}
	const config = "accounting.storageConfig."
	of := func(keys ...string) any {
		return at(c.Values, append([]string{"accounting", "storageConfig"}, keys...)...)
	}
	for _, path := range [][]string{{"host"}, {"database"}, {"username"}, {"passwordKeyRef", "name"}, {"passwordKeyRef", "key"}} {
		if text, _ := of(path...).(string); text == "" {
			return fmt.Sprintf("%s%s is %v; write which database the accounting uses", config, join(path), of(path...))
		}
	}
	if port := of("port"); port != nil && !isPort(port) {
		return fmt.Sprintf("%sport is %#v; write a number of a port, without quotes, e.g. 3306", config, port)
	}
	if mode != recipe.ConfigurationProvided {
		return ""
	}
	for _, name := range []string{"mariadb-operator-crds", "mariadb-operator", database} {
		if in.find(name) == nil {
			return fmt.Sprintf("the recipe provides the database of the accounting, and component %s is left out; bring it back, or generate the recipe with --slurm-accounting-mode customer-managed", name)
		}
	}
	db := in.find(database)
	if users, _ := at(db.Values, "users").([]any); len(users) > 0 {
		return fmt.Sprintf("%s has values at users, and the user of the accounting is made with the database (mariadb.username); remove them", database)
	}
	for _, both := range []struct{ ours, theirs []string }{
		{[]string{"host"}, []string{"fullnameOverride"}},
		{[]string{"database"}, []string{"mariadb", "database"}},
		{[]string{"username"}, []string{"mariadb", "username"}},
		{[]string{"passwordKeyRef", "name"}, []string{"mariadb", "passwordSecretKeyRef", "name"}},
		{[]string{"passwordKeyRef", "key"}, []string{"mariadb", "passwordSecretKeyRef", "key"}},
	} {
		if ours, theirs := of(both.ours...), at(db.Values, both.theirs...); ours != theirs {
			return fmt.Sprintf("%s%s is %v, and %s of %s is %v: the accounting would not find its database; set both to the same", config, join(both.ours), ours, join(both.theirs), database, theirs)
		}
	}
	if v := at(db.Values, "mariadb", "passwordSecretKeyRef", "generate"); v != true {
		return fmt.Sprintf("mariadb.passwordSecretKeyRef.generate of %s is %#v, so that nothing makes the password; set it to true", database, v)
	}
	return ""
}

func join(path []string) string { return strings.Join(path, ".") }

// isPort reports whether a value is the number of a port, whatever whole number YAML or JSON made of it.
func isPort(v any) bool {
	var n float64
	switch v := v.(type) {
	case int:
		n = float64(v)
	case int64:
		n = float64(v)
	case float64:
		n = v
	default:
		return false
	}
	return n == float64(int(n)) && n > 0 && n < 65536
}
