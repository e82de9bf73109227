package main

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/nvidia/aicr-action/internal/reason"
)

// exitCode is a row of the one table of exit codes. `matrix explain`, --help and docs/exit-codes.md are made from it.
type exitCode struct {
	code   int
	reason reason.Reason
	title  string
	// help: what it means, and what to do.
	help string
}

// name is the reason's, and OK for success.
func (c exitCode) name() string {
	if c.reason == "" {
		return "OK"
	}
	return string(c.reason)
}

// exitCodes is the table. Codes that upstream has keep upstream's numbers (docs/migration.md); other causes
// have the next free ones of their group.
func exitCodes() []exitCode {
	return []exitCode{
		{0, "", "Every cell passed", "Nothing to do."},
		{1, reason.SchedulingFailed, "A pod is not where the recipe says it must be",
			"The deployer did its work, but a pod was refused by the scheduler, landed on the wrong kind of node, or did not reach its final state. The report quotes the scheduler and names the value path and file that set the selector or toleration. Fix that file, then rerun the cell with the command in the report."},
		{2, reason.Usage, "Wrong arguments, or recipe files that do not parse",
			"A flag, an argument or a recipe file was refused before anything was started. The message has the file and line, or the list of what exists."},
		{3, reason.NothingSelected, "The tiers have no cell for this change",
			"With --tier: the change reaches no recipe of the tiers, or the shard is empty. Nothing was checked, so it is no pass; nothing is wrong either, so the Action's step does not fail, and its output conclusion is neutral. `matrix discover` with the same tiers says what it looked at. Tier 1 always has cells."},
		{10, reason.SettingsInvalid, ".settings.yaml lacks a field", "The message names the field. Take the shipped .settings.yaml as the model."},
		{11, reason.StackBuildFailed, "A binary of the stack did not compile",
			"`matrix stack build` shows the compiler's output. A module that cannot be downloaded is the usual cause: check GOPROXY and the network. Nothing half-made is left behind; run it again."},
		{12, reason.ToolchainMissing, "No Go toolchain", "The stack is compiled from Go modules once. Install Go from https://go.dev/dl and put it on the PATH."},
		{13, reason.ClusterFailed, "The control plane did not become ready", "The message has the last lines of the component's log. Free memory and disk, then run again."},
		{14, reason.ComponentDied, "A process of the stack ended during a cell",
			"The report names the process (e.g. argocd-application-controller) and quotes its log. It is not the recipe's fault unless the recipe makes that process crash. Run the cell again with --artifacts and look at its log."},
		{15, reason.NoSpace, "No space left", "Free disk space. The stack takes about 1.2 GiB in the cache directory and the Go build cache about 3.5 GiB."},
		{16, reason.PortTaken, "A port is in use", "The message names the port. Another program has it; unset KWOK_REGISTRY_HOST_PORT to let a free one be chosen."},
		{17, reason.NodesFailed, "The simulated nodes did not become Ready", "KWOK's log says why; run again with --artifacts."},
		{18, reason.NoProfile, "No node profile for the recipe's service and accelerator", "Add a KWOKNodeProfile to kwok/profiles/. There is no fallback to another cloud's nodes: what passes there says nothing about yours."},
		{19, reason.Internal, "The harness itself failed", "This is a bug. Please report it with the message."},
		{20, reason.RegistryNotReady, "The registry did not start", "The message has the address that it could not listen on."},
		{21, reason.RegistryUnreachable, "The registry does not answer on its port", "A firewall on the loopback interface, or a proxy that catches 127.0.0.1, is the usual cause."},
		{22, reason.PublishFailed, "A chart or bundle could not be pushed to the registry", "The message names the artifact; the registry's log has one line per request."},
		{30, reason.ArgoCDInstallFailed, "Argo CD could not be installed", "The API server's sentence is in the message."},
		{31, reason.ArgoCDCRDMissing, "applications.argoproj.io was not Established within 120 s", "The API server is overloaded or the CRD was refused; see its log."},
		{33, reason.ArgoCDNotReady, "Argo CD's processes did not become ready", "The message quotes the process's log. (32 is upstream's code for patching argocd-cm.)"},
		{34, reason.ArgoCDSchemaTooOld, "Argo CD does not know a field of this Kubernetes version",
			"The API server keeps a field that Argo CD's schema does not have, so that Argo CD cannot compare what it has applied. Not the recipe's fault: the versions of Argo CD and Kubernetes in kwok/stack/go.mod do not fit each other."},
		{40, reason.RepositorySecretFailed, "Argo CD's repository Secret could not be applied", "The API server's sentence is in the message."},
		{50, reason.SyncTimeout, "A GitOps sync deadline passed",
			"KWOK_ARGOCD_SYNC_TIMEOUT or KWOK_FLUX_SYNC_TIMEOUT seconds passed and the report lists the state of every object that was expected. Only a deadline that really passed has this code; raise the variable if the machine is slow."},
		{51, reason.DeployFailed, "The deployer or the API server refused something",
			"An object was refused, a chart could not be pulled or rendered, a release failed. The report's first line quotes whoever refused. Waiting longer would not have helped, so the cell ended at once."},
		{52, reason.BundleFailed, "The bundle could not be made", "A chart is missing in the chart source, or does not render with the recipe's values. The message names component, chart and template."},
		{53, reason.LaneDivergence, "Two deployers made different objects of one recipe",
			"Each cell passed by itself, but an object in the cluster is not what it is through the deployer that the report compares with. The report has the object, the path in it, and the value in each lane. Look for a value that one of them drops or sends otherwise: a null, a key that a bundle lacks, a number that became text. Change the recipe so that both mean the same, or fix the bundle. A difference that is known and harmless belongs on the list in internal/matrix/benign.go, with its reason."},
		{54, reason.CheckFailed, "A component's health check does not hold",
			"With --checks: everything was deployed and every pod runs, but an assertion of recipes/checks/COMPONENT/health-check.yaml failed. The report has the component, file, line and step, and how the object differs. Change the recipe, or the check if it asks for the wrong thing."},
		{55, reason.JobDeadline, "The job's time was used up before a cell could be verified",
			"KWOK_SYNC_DEADLINE_EPOCH or --job-timeout leaves no time for it: sync work ends 240 s before the job does, and no cell is begun in the 120 s before that. Give the job more time, fewer cells (--shard), or more of them side by side (--parallel). It says nothing about the recipe. In a GitOps lane whose sync had begun, a deadline is 50."},
		{60, reason.FluxInstallFailed, "Flux could not be installed", "The API server's sentence is in the message."},
		{61, reason.FluxNotReady, "A Flux controller was not ready within 180 s", "The message quotes the controller's log."},
		{62, reason.FluxCRDMissing, "Flux's CRDs were not Established within 60 s", "The API server is overloaded or a CRD was refused; see its log."},
	}
}

// interruptError is the cause of a run that a signal ended.
type interruptError struct{ signal syscall.Signal }

func (e *interruptError) Error() string { return "interrupted by " + e.signal.String() }

// As lets reason.Of see the name of an interrupt.
func (e *interruptError) As(target any) bool {
	named, ok := target.(**reason.Error)
	if ok {
		*named = &reason.Error{Reason: reason.Interrupted, Err: e}
	}
	return ok
}

// codeOf is the exit code of an error.
func codeOf(err error) int {
	if err == nil {
		return 0
	}
	var interrupted *interruptError
	if errors.As(err, &interrupted) {
		return 128 + int(interrupted.signal)
	}
	return codeOfReason(reason.Of(err))
}

func codeOfReason(r reason.Reason) int {
	for _, row := range exitCodes() {
		if row.reason == r {
			return row.code
		}
	}
	return 19
}

// explain finds a row by code or name.
func explain(what string) (exitCode, error) {
	var names []string
	for _, row := range exitCodes() {
		if what == fmt.Sprint(row.code) || row.reason != "" && strings.EqualFold(what, string(row.reason)) {
			return row, nil
		}
		names = append(names, fmt.Sprint(row.code))
	}
	return exitCode{}, usagef("no exit code or reason %q; codes: %s; 128+n is signal n", what, strings.Join(names, ", "))
}

func usagef(format string, args ...any) error { return reason.New(reason.Usage, format, args...) }

// codesTable is the table for --help.
func codesTable() string {
	var b strings.Builder
	for _, row := range exitCodes() {
		fmt.Fprintf(&b, "  %3d  %-26s %s\n", row.code, row.name(), row.title)
	}
	b.WriteString("  128+n  the run was ended by signal n (130: interrupt, 143: SIGTERM)\n")
	return b.String()
}

// codesMarkdown is docs/exit-codes.md.
func codesMarkdown() string {
	var b strings.Builder
	b.WriteString("# Exit codes\n\nMade from the table in `cmd/matrix/codes.go`; `matrix explain CODE` prints one row.\n\n| code | name | meaning | what to do |\n|---|---|---|---|\n")
	for _, row := range exitCodes() {
		fmt.Fprintf(&b, "| %d | `%s` | %s | %s |\n", row.code, row.name(), row.title, row.help)
	}
	b.WriteString("| 128+n | `INTERRUPTED` | The run was ended by signal n | Results of finished cells are kept; the rest is listed as not run. |\n")
	return b.String()
}
