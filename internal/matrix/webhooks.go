package matrix

import (
	"fmt"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
)

// uncalledWebhooks names the admission webhooks of a bundle. Nobody serves the Service of a simulated pod, so the API server of a cell
// calls none of them; a result says which they were, since what they would have refused or changed was not seen (faults F20).
func uncalledWebhooks(e bundle.Expectation) []string {
	var lines []string
	for _, o := range e.Objects {
		switch kind := o.Object.GetKind(); kind {
		case "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration":
			lines = append(lines, fmt.Sprintf("%s %s (%s): not called", kind, infra.NamespacedName("", o.Object.GetName()), o.Component))
		}
	}
	return lines
}
