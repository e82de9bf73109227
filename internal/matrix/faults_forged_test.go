package matrix

// forgedFaults are what a stranger tried after unseenFaults: files that another program or a pull
// request puts where one is read, texts that a terminal shows as another one, ordinary charts.
func forgedFaults() []fault {
	return []fault{
		{
			id: "F201", what: "texts with C1 control characters, or with characters that turn the direction of writing, so that a failure reads as something else", verdict: "spelled as text in every log, annotation and report",
			tests: []string{"internal/command/cli TestInert", "internal/util/mdtext TestText", "internal/report TestUntrustedResults"},
		},
		{
			id: "F202", what: "a pipe, a device or a link to one in the place of a file that is read: go.mod of a checkout, a recipe that AICR's CLI resolved, the record of a kept cell", verdict: "refused: nothing is waited for, and no memory is taken",
			tests: []string{"internal/util/filesys TestRegular", "internal/intake/aicrcli TestFind_NoFile", "internal/intake TestExec_RecipeBecomesPipe"},
		},
		{
			id: "F203", what: "a CLI that pushes without end to the registry that is to discard it, and a results file with numbers and types that no run writes", verdict: "refused at a limit; refused, or every report of it is written",
			tests: []string{"internal/intake/aicrcli TestRegistry_Bounded", "internal/report TestForgedResults"},
		},
		{
			id: "F251", what: "a registry that sends a manifest of gigabytes, lists of tags without end, an index of ten thousand entries, sizes below zero, an image of another platform than its index says, a layer that goes on behind its archive; or nothing but a byte at a time", verdict: "exit 23 for a chart, 26 for an image of `--program`, at a limit of bytes or of time; no layer is used whose digest was not compared",
			tests: []string{"internal/util/egress TestAnswers", "internal/infra/podrun TestUnpack_FilledUp", "internal/infra/podrun TestUnpack_Endless", "internal/infra/podrun TestGet_Lies"},
		},
		{
			id: "F252", what: "a hook Job whose program deletes the recipe's own namespace", verdict: "exit 51: the namespace is being deleted, although all that it has is still there",
			tests: []string{"internal/matrix/intact TestLeaving", "cmd/matrix TestNightlyHookProgram"},
		},
		{
			id: "F253", what: "a hook Job that fails: its program is not in its image, or ends with an error, or cannot run as a process", verdict: "exit 1 with the Job, the exit code and the end of its log, or why it cannot run, in lanes whose deployer says only that the Job failed, too",
			tests: []string{"internal/matrix/gate TestStalledBy", "internal/observe TestCheckWorkloads", "internal/infra/podrun TestQuote", "cmd/matrix TestNightlyHookProgram"},
		},
	}
}
