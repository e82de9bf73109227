package result

// RemarkKind is one kind of remarks on a cell: what the harness added to the recipe, relied on or
// noticed. It is the name of the field in JSON that lists them.
type RemarkKind string

// The kinds of remarks.
const (
	RemarkWarnings     RemarkKind = "warnings"
	remarkIgnored      RemarkKind = "ignored"
	RemarkNotes        RemarkKind = "notes"
	remarkNotVerified  RemarkKind = "notVerified"
	remarkLeftOut      RemarkKind = "leftOut"
	remarkLeftBehind   RemarkKind = "leftBehind"
	remarkOutOfOrder   RemarkKind = "outOfOrder"
	remarkNodeGroups   RemarkKind = "nodeGroups"
	remarkSandbox      RemarkKind = "sandbox"
	remarkControllers  RemarkKind = "controllers"
	remarkReusedFrom   RemarkKind = "reusedFrom"
	RemarkChartSources RemarkKind = "chartSources"
	remarkHealthPolicy RemarkKind = "healthPolicy"
	remarkStandIns     RemarkKind = "standIns"
	remarkOverrides    RemarkKind = "overrides"
)

// RemarkRow says what a kind of remarks is.
type RemarkRow struct {
	Kind RemarkKind
	// Title heads a list of them; Label stands before one of them.
	Title, Label string
	// Phrase names them in the middle of a sentence, e.g. "the health policy".
	Phrase string
	// Means explains them in one sentence.
	Means string
	// Simulated: the harness adds them because nodes and operators are simulated, and a pass relies
	// on them. Otherwise they are observed only, and the verdict would be the same without them.
	Simulated bool
	// Usual: much of it, and the same from run to run. The terminal counts it, and lists it only if
	// asked; Counted is the noun there, empty for what is not even counted.
	Usual   bool
	Counted string
}

// Effect says in one sentence whether these remarks affect a cell's verdict.
func (r RemarkRow) Effect() string {
	if r.Simulated {
		return "They belong to the simulation, in every run; no cell fails because of them."
	}
	return "They are for information; they do not affect the verdict."
}

// RemarkRows is the one list of what is not the recipe's own, in the order in which reports print
// it. Every report prints all of it.
func RemarkRows() []RemarkRow {
	return []RemarkRow{
		{RemarkWarnings, "Warnings", "warning", "warnings", "Problems found in the recipe, and in a failed cell what could not be cleaned up or written.", false, false, ""},
		{remarkIgnored, "Ignored", "ignored", "ignored findings", "Findings of checks that the user ignores, each with the reason; some would have failed the cell.", false, false, ""},
		{RemarkNotes, "Notes", "note", "notes", "Passes in a state other than the usual one, and other remarks.", false, false, ""},
		{remarkNodeGroups, "Groups of nodes", "group", "groups of nodes", "How many nodes of each group of the node profile the recipe needs, and the pods for which they were made.", false, false, ""},
		{remarkNotVerified, "Not verified", "not verified", "what was not verified", "What a run here cannot see: objects that operators and Jobs make at run time, and constraints that a cell cannot evaluate.", false, true, "not verified"},
		{remarkLeftOut, "Not run", "not run", "what was not run", "Apps whose chart could not be downloaded, and what depends on them. The rest was run; the cell has not passed.", false, false, ""},
		{remarkLeftBehind, "Left behind", "left behind", "what was left behind", "What stayed in the cluster when the recipe had been removed (--remove), and blocks nothing.", false, false, ""},
		{remarkOutOfOrder, "Out of order", "out of order", "items out of order", "Items that started before an earlier one had finished, by the deployer's own times.", false, true, "out of order"},
		{remarkSandbox, "Sandbox", "sandbox", "the sandbox", "What the kernel kept the processes of the control plane and of the deployer from.", false, true, ""},
		{remarkControllers, "Controllers", "controllers", "the controllers", "What delivered: the version of Helm, and how the deployer's controllers reached the API server, directly or through a proxy of the harness.", false, true, ""},
		{remarkReusedFrom, "Reused verdicts", "reused", "reused verdicts", "Cells that passed in an earlier run with exactly the same inputs, and were not run again.", false, false, ""},
		{RemarkChartSources, "Chart sources", "chart source", "chart sources", "Where the chart of each component was found, if one source does not have them all.", false, false, ""},
		{remarkHealthPolicy, "Health policy", "health policy", "the health policy", "Kinds whose objects count as healthy as soon as they exist, because no simulated operator writes their status.", true, true, ""},
		{remarkStandIns, "Stand-ins", "stand-in", "stand-ins", "What the harness did in place of operators and servers that are only simulated.", true, true, "stand-ins"},
		{remarkOverrides, "Overrides", "override", "overrides", "Values that the harness set in addition to the recipe's, so that pods fit the simulated nodes.", true, true, "overrides"},
	}
}
