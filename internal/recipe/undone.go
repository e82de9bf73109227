package recipe

import (
	"fmt"
	"slices"
)

// undone says what the registry has AICR's own bundler do for a recipe with these criteria, and nothing here does. A bundle without it may
// pass where AICR's would be refused, or lacks an object that AICR's has; whoever reads the verdict has to know.
func (r registered) undone(query Criteria) []string {
	var all []string
	if r.GKECriticalPriority && query.Service == "gke" {
		all = append(all, fmt.Sprintf("%s sets gkeCriticalPriority (%s): on GKE, AICR's bundler adds a ResourceQuota, without which GKE admits none of its pods that have a system priority. This bundle has none", r.Name, r.priority))
	}
	for i, v := range r.Validations {
		// What only warns or informs does not decide whether there is a bundle.
		if v.Severity == "error" && v.applies(query) {
			all = append(all, fmt.Sprintf("%s has the check %s (%s), by which AICR's bundler may refuse the recipe. It was not made here", r.Name, v.Function, r.checks[i]))
		}
	}
	return all
}

// applies reports whether the conditions, each a list of values of a criterion, hold for the query. One that is not of this form holds:
// a note too many is better than one too few.
func (v validation) applies(query Criteria) bool {
	asked := map[string]string{
		"service": query.Service, "accelerator": query.Accelerator, "intent": query.Intent, "os": query.OS, "platform": query.Platform,
	}
	for name, values := range v.Conditions {
		list, isList := values.([]any)
		value, known := asked[name]
		if isList && known && !slices.Contains(list, any(value)) {
			return false
		}
	}
	return true
}
