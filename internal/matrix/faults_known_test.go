package matrix

// knownFaults are wrong verdicts that were met outside of cells: by users, versions and machines
// that were not those of the tests.
func knownFaults() []fault {
	return []fault{
		{
			id: "F128", what: "an ordinary user, who may not list or remove what a controller has made", verdict: "a cell of each family passes, and nothing of the run stays",
			tests: []string{"cmd/matrix TestRun_OtherUser"},
		},
		{
			id: "F129", what: "a program for pods that runs as root: what it reads of others, and which sockets it opens", verdict: "it has no capability, and no socket but those of its profile",
			tests: []string{"internal/util/sandbox TestRights", "internal/util/sandbox TestRights_LeftByProfile"},
		},
		{
			id: "F130", what: "a toleration with another value than the taint that a provider's GPU nodes have", verdict: "simulated nodes have the provider's taints besides the harness's own, so that no node admits the pod",
			tests: []string{"internal/infra/simulate TestTaintsOfProviders"},
		},
		{
			id: "F161", what: "a version of Kubernetes that a recipe was never run on", verdict: "each recipe runs on the lowest that it allows and on the newest, every night; charts see that version's APIs, and the result has it",
			tests: []string{"internal/infra/stack TestWithKubernetes", "internal/bundle/apis TestOf", "internal/command/run TestKubernetes_EachRecipe", "cmd/matrix TestNightlyKubernetes", "internal/infra/embedded TestNightlyAPIVersions"},
		},
		{
			id: "F162", what: "a cache that cannot be written to, has no name, or has too long a path for sockets", verdict: "exit 2 and what to set, and not a bug of the harness; `matrix doctor` says it before",
			tests: []string{"internal/infra/host TestRunDir_CacheUnusable", "cmd/matrix TestDoctor_LongCache"},
		},
		{
			id: "F163", what: "a deployer that says only that it waits, or that it is out of sync", verdict: "the object that is not ready, or that differs, is named with the path",
			tests: []string{"internal/matrix/gate TestNameUnready", "internal/matrix/lane/argocd TestOutOfSyncResources"},
		},
		{
			id: "F164", what: "a line of a report that is not about the failure: a selector beside a quota, a value that is said not to exist", verdict: "the values line and the edit of what decides, and no other",
			tests: []string{"internal/matrix TestTraceValues", "internal/recipe TestVersions_FieldsOfLaterOnes"},
		},
		{
			id: "F388", what: "another program's bundle without a component of its recipe, on the other kind of nodes, or with other values, and the expectation that is taken from it", verdict: "exit 52 in every lane, with the place in the recipe and that in the bundle; what is switched off on simulated nodes is tried in a dry run, and exit 51",
			tests: []string{"internal/intake TestAgainst_Spoilt", "internal/intake TestAgainst_Equal", "internal/intake TestDir_Judged", "internal/intake TestExec_Promise", "internal/intake TestExec_SwitchedOff", "internal/matrix/intact TestSwitchedOff"},
		},
		{
			id: "F165", what: "a workflow's pattern that no pod can have, and its pod that fails by a label while another stage would start it", verdict: "a warning where no task uses the pattern, and an error where one does; the label's stage decides",
			tests: []string{"internal/workflow TestNeverMatches_NotUsed", "internal/workflow TestStages_Label"},
		},
	}
}
