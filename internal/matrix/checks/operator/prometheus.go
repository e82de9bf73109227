package operator

import (
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

const monitoring = "monitoring.coreos.com"

// mistake is what is wrong with a rule or a field, and the text of it that the recipe sets. It may be right for a later
// version of the program if that is unsure.
type mistake struct {
	name, text string
	unsure     bool
}

// operated makes a finding a warning where the bundle has no prometheus-operator: other programs read the same kinds in
// ways of their own. Otherwise it has the reason.
func operated(s *judge.Scope, found *judge.Found, why reason.Reason) {
	if runs(s, "prometheus-operator/prometheus-operator") {
		found.As(why)
		return
	}
	found.Warning()
}
