package infra

import "slices"

// JobController is a controller of the jobs of a recipe's users: it creates pods for its own kinds.
// In a cell the pods of the controller are simulated, so that no pods are created for its kinds
// unless the real program runs too.
type JobController struct {
	// Name is that on the command line, e.g. trainer; Title what its project calls it, e.g.
	// Kubeflow Trainer. Version is that of the program.
	Name, Title, Version string
	// Groups are the API groups of its kinds; Needs are the names of the controllers that it does
	// not work without.
	Groups, Needs []string
}

// String is its title with its version.
func (j JobController) String() string { return j.Title + " " + j.Version }

// JobControllers are controllers of jobs that run.
type JobControllers struct {
	// Clients are those to submit jobs with: only what they write passes the controllers' webhooks.
	Clients *Clients
	// Installed are the definitions that the cluster lacked.
	Installed []string
}

// MadeBy says, for each API group of controllers that run, which of them create the pods of its
// objects: the recipe's own, and those that run beside it.
func MadeBy(own, beside []JobController) map[string]string {
	made := map[string]string{}
	all := slices.Concat(own, beside)
	for i, j := range all {
		text := j.String()
		for _, other := range all {
			if slices.Contains(j.Needs, other.Name) {
				text += " and " + other.String()
			}
		}
		switch {
		case i < len(own):
			text += " (of the recipe's own pods)"
		case len(j.Needs) > 0:
			text += " (the real ones)"
		default:
			text += " (the real one)"
		}
		for _, g := range j.Groups {
			made[g] = text
		}
	}
	return made
}
