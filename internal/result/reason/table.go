package reason

import "slices"

// The names, in the order of their exit codes. What each one means is its row in Table.
const (
	SchedulingFailed       Reason = "SCHEDULING_FAILED"
	Usage                  Reason = "USAGE"
	NothingSelected        Reason = "NOTHING_SELECTED"
	ClusterAccess          Reason = "CLUSTER_ACCESS_FAILED"
	SettingsInvalid        Reason = "SETTINGS_INVALID"
	StackBuildFailed       Reason = "STACK_BUILD_FAILED"
	ToolchainMissing       Reason = "TOOLCHAIN_MISSING"
	ClusterFailed          Reason = "CLUSTER_FAILED"
	ComponentDied          Reason = "COMPONENT_DIED"
	NoSpace                Reason = "NO_SPACE"
	PortTaken              Reason = "PORT_TAKEN"
	NodesFailed            Reason = "NODES_FAILED"
	NoProfile              Reason = "NO_NODE_PROFILE"
	Internal               Reason = "INTERNAL"
	RegistryNotReady       Reason = "REGISTRY_NOT_READY"
	RegistryUnreachable    Reason = "REGISTRY_UNREACHABLE"
	PublishFailed          Reason = "PUBLISH_FAILED"
	ChartDownloadFailed    Reason = "CHART_DOWNLOAD_FAILED"
	DownloadFailed         Reason = "DOWNLOAD_FAILED"
	EngineUnusable         Reason = "ENGINE_UNUSABLE"
	ImageMissing           Reason = "IMAGE_MISSING"
	ArgoCDInstallFailed    Reason = "ARGOCD_INSTALL_FAILED"
	ArgoCDCRDMissing       Reason = "ARGOCD_CRD_NOT_ESTABLISHED"
	ArgoCDNotReady         Reason = "ARGOCD_NOT_READY"
	ArgoCDSchemaTooOld     Reason = "ARGOCD_SCHEMA_TOO_OLD"
	RepositorySecretFailed Reason = "REPOSITORY_SECRET_FAILED"
	SyncTimeout            Reason = "SYNC_TIMEOUT"
	DeployFailed           Reason = "DEPLOY_FAILED"
	BundleFailed           Reason = "BUNDLE_FAILED"
	LaneDivergence         Reason = "LANE_DIVERGENCE"
	CheckFailed            Reason = "CHECK_FAILED"
	JobDeadline            Reason = "JOB_DEADLINE"
	ConstraintBroken       Reason = "CONSTRAINT_BROKEN"
	ChartChanged           Reason = "CHART_CHANGED"
	ValidationFailed       Reason = "VALIDATION_FAILED"
	PlatformDivergence     Reason = "PLATFORM_DIVERGENCE"
	FluxInstallFailed      Reason = "FLUX_INSTALL_FAILED"
	FluxNotReady           Reason = "FLUX_NOT_READY"
	FluxCRDMissing         Reason = "FLUX_CRD_NOT_ESTABLISHED"
	WorkflowFailed         Reason = "WORKFLOW_FAILED"
	SchedulerMissing       Reason = "SCHEDULER_MISSING"
	ProbeFailed            Reason = "PROBE_FAILED"
	SchedulerFailed        Reason = "SCHEDULER_FAILED"
	PodsTooSlow            Reason = "PODS_TOO_SLOW"
	MachineTooSlow         Reason = "MACHINE_TOO_SLOW"
	GitNotReady            Reason = "GIT_NOT_READY"
	GitUnreachable         Reason = "GIT_UNREACHABLE"
	GitNotWritable         Reason = "GIT_NOT_WRITABLE"
	UpgradeFailed          Reason = "UPGRADE_FAILED"
	UpgradeDiverged        Reason = "UPGRADE_DIVERGED"
	BaseFailed             Reason = "BASE_FAILED"
	LeftBehind             Reason = "LEFT_BEHIND"
	NeverSettles           Reason = "NEVER_SETTLES"
	WorkloadFailed         Reason = "WORKLOAD_FAILED"
	Interrupted            Reason = "INTERRUPTED"
)

// apiServerLog is the API server's log in the debug artifacts.
const apiServerLog = "logs/kube-apiserver.log"

// Table is the closed set of reasons, in the order of their exit codes; success is its first row.
// `matrix explain`, the statuses of cells, the files that a summary names and docs/exit-codes.md
// all come from it. The numbers of KWOK's deployer matrix in AICR keep their meaning; other causes
// have the next free number of their group. Each call returns a new table.
func Table() []Row {
	return slices.Concat(commandRows(), machineRows(), sourceRows(), argoCDRows(), verdictRows(), fluxRows(), workRows(), upgradeRows(), lastRows())
}

// commandRows are about success, and what is decided before anything starts.
func commandRows() []Row {
	return []Row{
		{0, "", ClassPassed, "Every cell passed", "Nothing to do.", nil},
		{1, SchedulingFailed, ClassFailed, "A pod is not where the recipe says it must be",
			"The scheduler found no node for a pod, or the pod is on the wrong kind of node. The report quotes the scheduler and names the value path and file that set the selector or toleration. Fix that file, then rerun the cell with the command in the report. WORKLOAD_FAILED has the same code.",
			[]Lead{{PodFiles, ""}, {"bundle", "the values that the pods were made with"}}},
		{1, WorkloadFailed, ClassFailed, "A workload's pods were not created, did not start, or did not finish",
			"Not the scheduler's: the API server rejects the pods (quota, LimitRange, pod security, a policy, a missing ServiceAccount or PriorityClass); a kubelet would not start them (a missing ConfigMap, Secret, key or volume); a Job is suspended, fails or never completes; a Deployment is paused; or a container exits again and again. The report quotes who says so, and names the object, the file and the line. Change it, then rerun the cell.",
			[]Lead{{PodFiles, ""}, {"events.txt", "what controllers said at the time"}}},
		{2, Usage, ClassFailed, "Wrong arguments, or recipe files that do not parse",
			"A flag, an argument or a recipe file was refused before anything was started. The message has the file and line, or the list of what exists.", nil},
		{3, NothingSelected, ClassFailed, "The tiers have no cell for this change",
			"With --tier: the change reaches no recipe of the tiers, or the shard is empty. Nothing was checked, so it is no pass; nothing is wrong either, so the Action's step does not fail, and its output conclusion is neutral. `matrix discover` with the same tiers says what it looked at. Tier 1 always has cells.", nil},
		{4, ClusterAccess, ClassInfrastructure, "A cluster could not be reached, or refused the request",
			"The message has the cluster's address and quotes the API server's error. Check the kubeconfig (--kubeconfig, KUBECONFIG) and the permissions (`kubectl auth can-i`).", nil},
	}
}

// machineRows are about the settings, the machine, and the cluster that runs on it.
func machineRows() []Row {
	return []Row{
		{10, SettingsInvalid, ClassInfrastructure, ".settings.yaml lacks a field", "The message names the field. Take the shipped .settings.yaml as the model.", nil},
		{11, StackBuildFailed, ClassInfrastructure, "A binary of the stack did not compile",
			"`matrix stack build` shows the compiler's output. A module that cannot be downloaded is the usual cause: check GOPROXY and the network. Nothing half-made is left behind; run it again.", nil},
		{12, ToolchainMissing, ClassInfrastructure, "No Go toolchain",
			"The stack is compiled from Go modules once. Install Go from https://go.dev/dl and put it on the PATH.", nil},
		{13, ClusterFailed, ClassInfrastructure, "The control plane did not become ready",
			"The message has the last lines of the component's log. Free memory and disk, then run again.",
			[]Lead{{apiServerLog, "what the API server said"}, {"logs/etcd.log", "the API server is only as well as its etcd"}}},
		{14, ComponentDied, ClassInfrastructure, "A process of the stack ended during a cell",
			"The report names the process (e.g. argocd-application-controller) and quotes its log. It is not the recipe's fault unless the recipe makes that process crash: a cell in which a process crashed is run again once, and the report says so. Run the cell again with --artifacts and look at its log.",
			[]Lead{{ComponentLog, ""}}},
		{15, NoSpace, ClassInfrastructure, "No space left",
			"Free disk space. The stack takes about 1.2 GiB in the cache directory and the Go build cache about 3.5 GiB.", nil},
		{16, PortTaken, ClassInfrastructure, "A port is in use",
			"The message names the port. Another program has it; unset KWOK_REGISTRY_HOST_PORT to let a free one be chosen.", nil},
		{17, NodesFailed, ClassInfrastructure, "The simulated nodes did not become Ready",
			"KWOK's log says why; run again with --artifacts.",
			[]Lead{{"nodes.txt", "which nodes are not Ready"}, {"logs/kwok-controller.log", "KWOK plays the kubelets"}}},
		{18, NoProfile, ClassFailed, "No node profile for the recipe's service and accelerator",
			"Add a KWOKNodeProfile to a directory of yours (`--profiles DIR`) or to kwok/profiles/. There is no fallback to another cloud's nodes: what passes there says nothing about yours.", nil},
		{19, Internal, ClassInfrastructure, "The harness itself failed", "This is a bug. Please report it with the message.", nil},
	}
}

// sourceRows are about the registry, and what is fetched from elsewhere.
func sourceRows() []Row {
	return []Row{
		{20, RegistryNotReady, ClassInfrastructure, "The registry did not start",
			"The message has the address that it could not listen on.",
			[]Lead{{"registry.log", "which request failed, and how"}}},
		{21, RegistryUnreachable, ClassInfrastructure, "The registry does not answer on its port",
			"A firewall on the loopback interface, or a proxy that catches 127.0.0.1, is the usual cause.",
			[]Lead{{"registry.log", "which request failed, and how"}}},
		{22, PublishFailed, ClassInfrastructure, "A chart or bundle could not be pushed to the registry",
			"The message names the artifact; the registry's log has one line per request.",
			[]Lead{{"registry.log", "which request failed, and how"}}},
		{23, ChartDownloadFailed, ClassInfrastructure, "A chart could not be downloaded from its repository",
			"With --charts upstream or direct, and for `matrix charts`: the message names the chart and the address, and what the server answered. Check the network, the proxy (HTTPS_PROXY) and the login (`helm repo add`, `helm registry login`, `docker login`); if the server has no such chart, check source, chart and version in the recipe. Nothing was started, and what was downloaded already is kept.", nil},
		{24, DownloadFailed, ClassInfrastructure, "A recipe could not be downloaded from its address",
			"The message has what the server answered, or which limit was exceeded. Check the address in a browser, the network and the proxy (HTTPS_PROXY), or download the file and pass its name.", nil},
		{25, EngineUnusable, ClassInfrastructure, "There is no Docker engine that a Kind cluster can run in",
			"With --platform kind: no docker program, an engine that does not answer or that this user may not use, a rootless or remote one, Docker Desktop, or Podman. The message says which, and what to do. Nothing was started. --platform embedded needs no engine.", nil},
		{26, ImageMissing, ClassInfrastructure, "A container image is missing, or could not be pulled",
			"The message names the image, of --platform kind or of --program. Check the network and the login (`docker login`). For Kind, you can also take an archive along: `matrix images save FILE` where there is a network, and --kind-images FILE here. `matrix images list` names all that a run needs.", nil},
	}
}

// argoCDRows are about Argo CD.
func argoCDRows() []Row {
	return []Row{
		{30, ArgoCDInstallFailed, ClassInfrastructure, "Argo CD could not be installed",
			"The message quotes the API server's error.",
			[]Lead{{apiServerLog, "what the API server made of the controllers' CRDs and configuration"}}},
		{31, ArgoCDCRDMissing, ClassInfrastructure, "applications.argoproj.io was not Established within 120 s",
			"The API server is overloaded or the CRD was refused; see its log.",
			[]Lead{{apiServerLog, "what the API server made of the controllers' CRDs and configuration"}}},
		{33, ArgoCDNotReady, ClassInfrastructure, "Argo CD's processes did not become ready",
			"The message quotes the process's log. (32 is upstream's code for patching argocd-cm.)",
			[]Lead{{ControllerLogs, "is it the one that is not ready?"}}},
		{34, ArgoCDSchemaTooOld, ClassInfrastructure, "Argo CD does not know a field of this Kubernetes version",
			"The API server keeps a field that Argo CD's schema does not have, so that Argo CD cannot compare what it has applied. Not the recipe's fault: the versions of Argo CD and Kubernetes in kwok/stack/go.mod do not fit each other.", nil},
		{40, RepositorySecretFailed, ClassInfrastructure, "Argo CD's repository Secret could not be applied",
			"The message quotes the API server's error.",
			[]Lead{{apiServerLog, "what the API server made of the controllers' CRDs and configuration"}}},
	}
}

// verdictRows are about what is found out about a recipe by deploying it.
func verdictRows() []Row {
	return []Row{
		{50, SyncTimeout, ClassTimeout, "A GitOps sync deadline passed",
			"KWOK_ARGOCD_SYNC_TIMEOUT or KWOK_FLUX_SYNC_TIMEOUT seconds passed and the report lists the state of every object that was expected. Only a deadline that really passed has this code; raise the variable if the machine is slow.",
			[]Lead{{DeployerFiles, ""}, {PodFiles, ""}}},
		{51, DeployFailed, ClassFailed, "The deployer or the API server refused something",
			"An object was refused, a chart could not be pulled or rendered, a release failed. The report's first line quotes the error of the component that rejected it. Waiting longer would not have helped, so the cell ended at once.",
			[]Lead{{DeployerFiles, ""}, {"events.txt", "what controllers said at the time"}, {"resources.txt", "what did arrive"}}},
		{52, BundleFailed, ClassFailed, "The bundle could not be made",
			"A chart is missing in the chart source, or does not render with the recipe's values. The message names component, chart and template.", nil},
		{53, LaneDivergence, ClassFailed, "Two deployers produced different objects from one recipe",
			"Each cell passed on its own, but this object differs from the reference lane's. The report has the object, the path in it, and the value in each lane. Look for a value that one of them drops or sends otherwise: a null, a key that a bundle lacks, a number that became text. Change the recipe so that both mean the same, or fix the bundle. If two components own the object with different content, let only one own it. A difference that is known and harmless belongs in internal/matrix/compare/benign.go, with its reason.", nil},
		{54, CheckFailed, ClassFailed, "A component's health check does not hold",
			"With --checks: everything was deployed and every pod runs, but an assertion of recipes/checks/COMPONENT/health-check.yaml failed. The report has the component, file, line and step, and how the object differs. Change the recipe, or the check if it asks for the wrong thing.", nil},
		{55, JobDeadline, ClassTimeout, "The job's time was used up before a cell could be verified",
			"KWOK_SYNC_DEADLINE_EPOCH or --job-timeout leaves no time for it: sync work ends 240 s before the job does, and no cell starts in the 120 s before that. Give the job more time, fewer cells (--shard), or more of them side by side (--parallel). It says nothing about the recipe. In a GitOps lane whose sync had started, a deadline is 50.",
			[]Lead{{DeployerFiles, ""}, {PodFiles, ""}}},
		{56, ConstraintBroken, ClassFailed, "The recipe is not for the Kubernetes version of the cell",
			"The recipe's constraint K8s.server.version does not hold for the API server of this stack (`matrix version` prints it), so that nothing was started: a pass would have verified a cluster that the recipe does not want. Change the constraint, or the Kubernetes version in kwok/stack/go.mod. With --all and in tiers such a recipe is skipped, never passed.", nil},
		{57, ChartChanged, ClassFailed, "A chart's bytes are not those of the lock file",
			"The repository now has other bytes under a version that was locked. The message has both digests; nothing was started. Find out who has replaced the release. If the change is meant, remove the chart's entry from charts.lock and run `matrix charts lock`.", nil},
		{58, ValidationFailed, ClassFailed, "A check or a constraint of the recipe's validation does not hold",
			"`matrix run --validate`: the cluster was read, and is not what the recipe's validation block or its constraints want. The message has the phase, the check, the component and the line that wants it. Change what the message names in the cluster or the recipe. What could not be checked is skipped, and never has this code.", nil},
		{59, PlatformDivergence, ClassFailed, "A cell is not the same on the two platforms",
			"`matrix parity` ran the cell on embedded and in a Kind cluster, or with simulated operators and with ones that run: it ended differently, or an object differs. The report has the object, the path in it, and the value on each platform. Either a platform lacks something, or the harness has a bug. A difference that is known and harmless belongs on the list in kwok/parity.yaml or kwok/parity-operators.yaml, with its reason and its place in docs/kind.md.", nil},
	}
}

// fluxRows are about Flux.
func fluxRows() []Row {
	return []Row{
		{60, FluxInstallFailed, ClassInfrastructure, "Flux could not be installed",
			"The message quotes the API server's error.",
			[]Lead{{apiServerLog, "what the API server made of the controllers' CRDs and configuration"}}},
		{61, FluxNotReady, ClassInfrastructure, "A Flux controller was not ready within 180 s",
			"The message quotes the controller's log.",
			[]Lead{{ControllerLogs, "is it the one that is not ready?"}}},
		{62, FluxCRDMissing, ClassInfrastructure, "Flux's CRDs were not Established within 60 s",
			"The API server is overloaded or a CRD was refused; see its log.",
			[]Lead{{apiServerLog, "what the API server made of the controllers' CRDs and configuration"}}},
	}
}

// workRows are about workflows, probes, and the time that work takes.
func workRows() []Row {
	return []Row{
		{63, WorkflowFailed, ClassFailed, "A task of a workflow failed",
			"For `matrix workflow run`: the message has the file, the line and the id of the task, and says what it waited for or what the API server answered. The tasks after it were not run. Change the workflow, or its timeout if the machine is slow; --keep leaves the cluster for a look.", nil},
		{64, SchedulerMissing, ClassFailed, "A pod asks for a scheduler that does not run",
			"For `matrix workflow run`: the message has the scheduler, the file and the task. A cluster of this program's own runs the default scheduler, and those of --scheduler and --scheduler-program. Use one of these flags, a cluster that has the other scheduler (--kubeconfig), or --play-scheduler NAME, which lets the default scheduler place its pods by its own rules.", nil},
		{65, ProbeFailed, ClassFailed, "A job that a user of the recipe would run was not placed",
			"With --probes: everything was deployed and every pod of the recipe runs, but a job of recipes/probes did not get its nodes. The report has the probe's file and line, a pod, and the scheduler's words, and says whether the scheduler was the real one. Change the recipe, e.g. a taint, a queue's quota or the nodes' GPUs, or the probe if no user would run such a job.",
			[]Lead{{PodFiles, ""}, {"cell.json", "the probes that ran before, under validation"}}},
		{67, SchedulerFailed, ClassInfrastructure, "A second scheduler or a controller did not start, or ended",
			"For --scheduler, --scheduler-program, --controller, or a workflow that names schedulers or controllers: the program ended, was not ready (/readyz) within 90 s, or its webhooks did not answer. The message has the last lines of its log; a configuration that it does not accept is the usual cause. With --controller it may also be a definition of the recipe that does not serve this version of the program; the message names it. Neither workflows nor jobs are at fault.", nil},
		{68, PodsTooSlow, ClassTimeout, "Pods were still becoming ready when the time was used up",
			"Only time was missing: no pod was refused or failed, none was overtaken by later ones, and more were ready in each of the last steps of 5 s. The report has the rate, and how long the rest would have taken. It says nothing about the recipe. On a slow machine raise KWOK_SCHEDULING_TIMEOUT (helm, helm-template), KWOK_ARGOCD_SYNC_TIMEOUT or KWOK_FLUX_SYNC_TIMEOUT, run fewer cells side by side (--parallel), or use fewer nodes.",
			[]Lead{{PodFiles, ""}, {"logs/kwok-controller.log", "KWOK writes the status of each pod"}}},
		{69, MachineTooSlow, ClassInfrastructure, "The machine became too slow for the time that a cell has",
			"A deadline passed while a repeated piece of work took at least 10 times what it takes on a free machine, and no pod was refused or misplaced. It says nothing about the recipe, and is no strike: run it again on a free machine, with fewer cells side by side (--parallel), or raise KWOK_SCHEDULING_TIMEOUT (helm, helm-template), KWOK_ARGOCD_SYNC_TIMEOUT or KWOK_FLUX_SYNC_TIMEOUT. The report has the state of everything that was not ready.", nil},
		{70, GitNotReady, ClassInfrastructure, "There is no Git server for a Git lane",
			"argocd-git and flux-git push the bundle to a Git server, which is git's own git-http-backend. The message says what of git is missing on this machine, or why the server did not start; install git, or leave these lanes out (--deployer). It says nothing about the recipe.", nil},
		{71, GitUnreachable, ClassInfrastructure, "The Git server is not reached",
			"With --platform kind the Git server of a cell is a part of this program, on a port of this machine that the node and its pods use (KWOK_GITEA_HOST_PORT, 3300). The node did not reach it for 60 s. A firewall of this machine is the usual cause: let the containers of Docker's network in. In AICR's own clusters the code means a Gitea that does not answer on its host port.", nil},
		{72, GitNotWritable, ClassInfrastructure, "The Git server allows no push",
			"With --platform kind: the Git server answers, and did not make the repository that the bundle is to be pushed to. The message quotes it; a full disk or a directory that git may not write is the usual cause. AICR's own Gitea lacks its administrator then, without whom nothing can be pushed.", nil},
	}
}

// upgradeRows are about a delivery into a cluster that runs something already, old or the same.
func upgradeRows() []Row {
	return []Row{
		{73, UpgradeFailed, ClassFailed, "The second delivery did not arrive",
			"With --from: what ran before was installed and passed its gate, and then the deployer or the API server refused the new bundle, where a cluster that runs the old one is. The first line quotes the error; for a field that cannot be changed, the report names the object, the field and the template. Such an object must be deleted before the upgrade, or have a new name. The code also stands for an upgrade that deletes a definition, a namespace or a claim, since another release has it now; and for a rolling update whose new pod waits for the room of the old one. If the first installation of the same recipe fails too, the recipe is at fault.",
			[]Lead{{DeployerFiles, ""}, {"events.txt", "what controllers said at the time"}, {"resources.txt", "what did arrive"}}},
		{74, UpgradeDiverged, ClassFailed, "The upgraded cluster is not what a first installation makes",
			"With --from: the new bundle was delivered and passed its gate, but an object is not as after a first installation of the same recipe by the same deployer. The report has the object, the path in it, both values, and the cause where it is known: a definition in crds/, which Helm never updates; a value that was kept from before, since the delivery did not take it over; an object that stayed behind; a Secret that its operator had filled and that the delivery emptied. Change the chart or the recipe so that both end alike, or tell users the step that they must do by hand.",
			[]Lead{{DeployerFiles, ""}, {"resources.txt", "what the cluster has"}}},
		{75, BaseFailed, ClassUnjudged, "What should run before the upgrade did not become ready",
			"With --from: the old recipe's own installation failed, so that nothing is known of the upgrade, and the cell counts as not run. The message has the cause. Run the old recipe by itself, or name another source.",
			[]Lead{{DeployerFiles, ""}, {PodFiles, ""}}},
		{76, LeftBehind, ClassFailed, "Removing the recipe leaves something that blocks",
			"With --remove, the deployer removed a green recipe in its own way: undeploy.sh, the cascade of Argo CD's root, the pruning of Flux's Kustomization. An object or a namespace is being deleted for ever, since no controller removes its finalizer, a webhook that fails closed stays without its server, or the deployer itself failed. The report names each. Remove the finalizer from the chart, or delete the object before its controller; let the chart delete its webhooks with their Service. What only stays (namespaces, definitions of crds/, claims, hooks) is listed and is no failure.",
			[]Lead{{"resources.txt", "what is left"}, {DeployerFiles, ""}, {"events.txt", "what controllers did at the time"}}},
		{77, NeverSettles, ClassFailed, "The cluster does not stay as it is",
			"With --drift, the deployer delivered the same bundle again after green, and that changed something. The report names each object that differs, the path in it, and the workloads that roll. Without --drift, in Argo CD's lanes with self-heal: two renderings show that a hook and an ordinary object have one generated value, of which a hard refresh replaces only the second. Usual causes are randAlphaNum, genCA, lookup or .Release.Revision in a chart; the report names the template's line. Argo CD renders without a cluster, so lookup finds nothing there. Set the value in the recipe, or let a Secret that the chart does not render have it. With --operators: two of them write one object in turns; the report names both and the fields.",
			[]Lead{{DeployerFiles, ""}, {"events.txt", "what controllers did at the time"}}},
	}
}

// lastRows are about the end of a run.
func lastRows() []Row {
	return []Row{
		{SignalBase, Interrupted, ClassInterrupted, "The run was ended by signal n",
			"Results of finished cells are kept; the rest is listed as not run.",
			[]Lead{{"cell.json", "how far the cell had come: observed against expectation"}}},
	}
}
