package document

// EnabledKey is the override by which a recipe leaves a component out of the bundle.
const EnabledKey = "enabled"

// Constraint is a requirement on the system that a recipe is for, e.g. K8s.server.version ">=
// 1.30".
type Constraint struct {
	Name        string `json:"name"`
	Value       string `json:"value"`
	Severity    string `json:"severity,omitempty"`
	Remediation string `json:"remediation,omitempty"`
	Unit        string `json:"unit,omitempty"`
	// Origin is where it was set last.
	Origin Origin `json:"-"`
}

// Holds reports whether a reading fulfils the constraint (condition.go).
func (c Constraint) Holds(have string) (bool, error) { return holds(c.Value, have) }
