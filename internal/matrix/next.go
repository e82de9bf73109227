package matrix

import (
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/matrix/gate"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// lead is a file that is worth opening, and why.
type lead struct{ name, why string }

// harnessLog is what the harness itself did.
const harnessLog = "logs/harness.log"

// nextFiles returns the files to open after the summary, the most useful first, by the reason of
// the failure and the object that is its first cause. Missing and incomplete files are left out.
func nextFiles(rec cellRecord, lane lane.Artifacts, files []artifact) []lead {
	var found []lead
	for _, l := range leads(rec, lane) {
		for _, f := range files {
			if f.state != "" || f.name != l.name && !strings.HasSuffix(f.name, "-"+l.name) && !strings.HasPrefix(l.name, f.name+"/") {
				continue
			}
			name := f.name
			if strings.HasPrefix(l.name, f.name+"/") {
				name = l.name
			}
			if !slices.ContainsFunc(found, func(have lead) bool { return have.name == name }) {
				found = append(found, lead{name, l.why})
			}
		}
	}
	if slices.ContainsFunc(found, func(have lead) bool { return have.name == harnessLog }) {
		return found
	}
	return append(found, lead{harnessLog, "what the harness did, step by step, and in the helm lane what Helm did"})
}

// leads returns the files that the reason's row points to.
func leads(rec cellRecord, lane lane.Artifacts) []lead {
	var all []lead
	for _, l := range rec.Reason.Row().Next {
		switch l.File {
		case reason.PodFiles:
			all = append(all, podLeads(rec)...)
		case reason.DeployerFiles:
			all = append(all, deployerLeads(rec, lane)...)
		case reason.ControllerLogs:
			for _, log := range lane.Logs {
				all = append(all, lead{log.Name, l.Why})
			}
		case reason.ComponentLog:
			all = append(all, lead{"logs/" + rec.Component + ".log", "the last thing that the process said"})
		default:
			all = append(all, lead{l.File, l.Why})
		}
	}
	return all
}

func podLeads(rec cellRecord) []lead {
	refused := rec.Observed != nil && slices.ContainsFunc(rec.Observed.Workloads, func(w gate.ObservedWorkload) bool {
		return slices.ContainsFunc(w.Pods, func(p gate.ObservedPod) bool { return p.Refused != "" })
	})
	if refused {
		return []lead{{"pods.txt", "the Pending pods, and what runs on which node"}, {"events.txt", "FailedScheduling: the scheduler's message on each pod, and what came before"}}
	}
	return []lead{{"resources.txt", "which workloads have fewer pods than they want"}, {"pods.txt", "what state each pod is in, and on which node"}, {"events.txt", "what controllers said about them"}}
}

// deployerLeads returns the files about a deployer's failure. The log of the process that fetches
// and renders shows what cannot be pulled or rendered; for the rest, the object and the process
// that applies it do.
func deployerLeads(rec cellRecord, lane lane.Artifacts) []lead {
	if lane.Own != "" {
		return []lead{{harnessLog, lane.Own}}
	}
	it := firstCause(rec)
	why := "what the deployer reports about each object, in full"
	if it.ID != "" {
		why = "the whole message of " + it.ID + ": look at its status"
	}
	var objects, pull, first, apply []lead
	for _, d := range lane.Dumps {
		objects = append(objects, lead{d.Name, why})
	}
	for _, l := range lane.Logs {
		switch {
		case l.Pulls:
			pull = append(pull, lead{l.Name, l.Lead})
		case l.Kind == it.Object.Kind && l.Kind != "":
			first = append(first, lead{l.Name, l.Lead})
		default:
			apply = append(apply, lead{l.Name, l.Lead})
		}
	}
	apply = append(first, apply...)
	if rec.Stage == result.StagePull || rec.Stage == result.StageRender {
		return slices.Concat(pull, []lead{{"registry.log", "what was asked for, and what was answered"}}, objects, apply)
	}
	return slices.Concat(objects, apply, pull)
}

// firstCause returns the first object that has an error, or else the first that is not done and
// waits for no other.
func firstCause(rec cellRecord) gate.ObservedItem {
	if rec.Observed == nil {
		return gate.ObservedItem{}
	}
	for _, states := range [][]string{{lane.ItemFailed.String(), lane.ItemSuspect.String()}, {lane.ItemWaiting.String()}} {
		for _, it := range rec.Observed.Items {
			if slices.Contains(states, it.State) {
				return it
			}
		}
	}
	return gate.ObservedItem{}
}
