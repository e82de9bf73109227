package matrix

import (
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/reason"
)

// lead is a file that is worth opening, and why.
type lead struct{ name, why string }

// Names of files as leads have them: those of the cluster without the cluster's name in front.
const (
	harnessLog   = "logs/harness.log"
	apiServerLog = "logs/kube-apiserver.log"
)

// nextFiles are the files to open after the summary, the most telling first, for the reason of the failure and the object that is its first cause.
// Files that are not there, or not complete, are left out.
func nextFiles(rec cellRecord, files []evidenceFile) []lead {
	var found []lead
	for _, l := range leads(rec) {
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

// leads are for every lane at once; a lane has only its own files.
func leads(rec cellRecord) []lead {
	if rec.Status == Timeout {
		return append(deployerLeads(rec), podLeads(rec)...)
	}
	switch rec.Reason {
	case reason.SchedulingFailed:
		return append(podLeads(rec), lead{"bundle", "the values that the pods were made with"})
	case reason.DeployFailed:
		return append(deployerLeads(rec), lead{"events.txt", "what controllers said at the time"}, lead{"resources.txt", "what did arrive"})
	case reason.ComponentDied:
		return []lead{{"logs/" + rec.Component + ".log", "the last thing that the process said"}}
	case reason.ClusterFailed:
		return []lead{{apiServerLog, "what the API server said"}, {"logs/etcd.log", "the API server is only as well as its etcd"}}
	case reason.NodesFailed:
		return []lead{{"nodes.txt", "which nodes are not Ready"}, {"logs/kwok-controller.log", "KWOK plays the kubelets"}}
	case reason.RegistryNotReady, reason.RegistryUnreachable, reason.PublishFailed:
		return []lead{{"registry.log", "which request failed, and how"}}
	case reason.ArgoCDInstallFailed, reason.ArgoCDCRDMissing, reason.RepositorySecretFailed, reason.FluxInstallFailed, reason.FluxCRDMissing:
		return []lead{{apiServerLog, "what the API server made of the controllers' CRDs and configuration"}}
	case reason.ArgoCDNotReady:
		return []lead{{"argo-appcontroller.log", "why it is not ready"}, {"argo-reposerver.log", "the application-controller needs it"}}
	case reason.FluxNotReady:
		return []lead{
			{"flux-source-controller.log", "is it the one that is not ready?"}, {"flux-kustomize-controller.log", "the same"}, {"flux-helm-controller.log", "the same"},
		}
	case reason.Interrupted:
		return []lead{{"cell.json", "how far the cell had come: observed against expectation"}}
	}
	return nil
}

func podLeads(rec cellRecord) []lead {
	refused := rec.Observed != nil && slices.ContainsFunc(rec.Observed.Workloads, func(w observedWorkload) bool {
		return slices.ContainsFunc(w.Pods, func(p observedPod) bool { return p.Refused != "" })
	})
	if refused {
		return []lead{{"pods.txt", "the Pending pods, and what runs on which node"}, {"events.txt", "FailedScheduling: the scheduler's message on each pod, and what came before"}}
	}
	return []lead{{"resources.txt", "which workloads have fewer pods than they want"}, {"pods.txt", "what state each pod is in, and on which node"}, {"events.txt", "what controllers said about them"}}
}

// deployerLeads: what cannot be pulled or rendered is told by the process that does it; everything else by the object and the process that applies.
func deployerLeads(rec cellRecord) []lead {
	it := firstCause(rec)
	why := "what the deployer reports about each object, in full"
	if it.ID != "" {
		why = "the whole message of " + it.ID + ": look at its status"
	}
	if rec.Deployer == bundle.Helm {
		return []lead{{harnessLog, "what Helm did and said: the lines with helm:"}}
	}
	objects := []lead{{"argo-apps.yaml", why}, {"flux-resources.yaml", why}}
	pull := []lead{
		{"argo-reposerver.log", "it pulls and renders: wrong schemes, media types and tags show here first"},
		{"flux-source-controller.log", "it pulls: wrong schemes, media types and tags show here first"},
		{"registry.log", "what was asked for, and what was answered"},
	}
	apply := []lead{{"argo-appcontroller.log", "what it compared and applied, and when"}}
	switch {
	case strings.HasPrefix(it.ID, "Kustomization "):
		apply = append(apply, lead{"flux-kustomize-controller.log", "it applies the bundle"}, lead{"flux-helm-controller.log", "it installs the releases"})
	default:
		apply = append(apply, lead{"flux-helm-controller.log", "it installs the releases"}, lead{"flux-kustomize-controller.log", "it applies the bundle"})
	}
	if rec.Stage == StagePull || rec.Stage == StageRender {
		return slices.Concat(pull, objects, apply)
	}
	return slices.Concat(objects, apply, pull[:2])
}

// firstCause is the first object that has an error, or else the first that is not done and waits for no other.
func firstCause(rec cellRecord) observedItem {
	if rec.Observed == nil {
		return observedItem{}
	}
	for _, states := range [][]string{{ItemFailed.String(), ItemSuspect.String()}, {ItemWaiting.String()}} {
		for _, it := range rec.Observed.Items {
			if slices.Contains(states, it.State) {
				return it
			}
		}
	}
	return observedItem{}
}
