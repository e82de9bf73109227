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
	ArgoCDConfigFailed     Reason = "ARGOCD_CONFIG_FAILED"
	ArgoCDNotReady         Reason = "ARGOCD_NOT_READY"
	ArgoCDSchemaTooOld     Reason = "ARGOCD_SCHEMA_TOO_OLD"
	RepositorySecretFailed Reason = "REPOSITORY_SECRET_FAILED"
	SyncTimeout            Reason = "SYNC_TIMEOUT"
	ReadBackFailed         Reason = "READ_BACK_FAILED"
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
			"The scheduler is not the cause: the API server rejects the pods (quota, LimitRange, pod security, a policy, a missing ServiceAccount or PriorityClass); a kubelet would not start them (missing ConfigMap, Secret, key or volume); a Job is suspended, fails or never completes; a Deployment is paused; or a container keeps exiting. The report quotes the component that says so, and names object, file and line. Fix that line, then rerun the cell.",
			[]Lead{{PodFiles, ""}, {"events.txt", "what controllers said at the time"}}},
		{2, Usage, ClassFailed, "Wrong arguments, or recipe files that do not parse",
			"A flag, an argument or a recipe file was rejected before anything started. The message names the file and line, or lists the valid names.", nil},
		{3, NothingSelected, ClassFailed, "Nothing is to be run for this change",
			"With --app and --changed-since, no app has changed. With --tier: the change affects no recipe of the tiers, or the shard is empty. Nothing was checked, so this is not a pass. Nothing is wrong either: the Action's step does not fail, and its output `conclusion` is neutral. `matrix discover` with the same tiers shows what was considered. Tier 1 always has cells.", nil},
		{4, ClusterAccess, ClassInfrastructure, "A cluster could not be reached, or refused the request",
			"The message names the cluster's address and quotes the API server's error. Check the kubeconfig (--kubeconfig, KUBECONFIG) and the permissions (`kubectl auth can-i`).", nil},
	}
}

// machineRows are about the settings, the machine, and the cluster that runs on it.
func machineRows() []Row {
	return []Row{
		{10, SettingsInvalid, ClassInfrastructure, ".settings.yaml lacks a field", "The message names the field. Copy it from the shipped .settings.yaml.", nil},
		{11, StackBuildFailed, ClassInfrastructure, "A binary of the stack could not be compiled or pulled",
			"`matrix stack build` shows the compiler's output, or what the registry said. A module that cannot be downloaded is the usual cause: check GOPROXY and the network. No partial files remain; run it again.", nil},
		{12, ToolchainMissing, ClassInfrastructure, "No Go toolchain",
			"What no image gives is compiled once, from Go modules. Install Go from https://go.dev/dl and put it on the PATH.", nil},
		{13, ClusterFailed, ClassInfrastructure, "The control plane did not become ready",
			"The message quotes the end of the component's log. Free memory and disk space, then run again.",
			[]Lead{{apiServerLog, "what the API server said"}, {"logs/etcd.log", "the API server is only as well as its etcd"}}},
		{14, ComponentDied, ClassInfrastructure, "A process of the stack exited during a cell",
			"The report names the process (e.g. argocd-application-controller) and quotes its log. The recipe is not at fault unless it makes that process crash: after a crash the cell runs once more, and the report says so. Rerun the cell with --artifacts and read the log.",
			[]Lead{{ComponentLog, ""}}},
		{15, NoSpace, ClassInfrastructure, "No space left",
			"Free disk space. The stack needs about 1.2 GiB in the cache directory, and about 3.5 GiB in Go's build cache.", nil},
		{16, PortTaken, ClassInfrastructure, "A port is in use",
			"The message names the port, which another program uses. Unset KWOK_REGISTRY_HOST_PORT, and a free port is chosen. A pod that runs has its ports on this machine: end the other program.", nil},
		{17, NodesFailed, ClassInfrastructure, "The simulated nodes did not become Ready",
			"Run again with --artifacts; KWOK's log shows the cause.",
			[]Lead{{"nodes.txt", "which nodes are not Ready"}, {"logs/kwok-controller.log", "KWOK plays the kubelets"}}},
		{18, NoProfile, ClassFailed, "No node profile for the recipe's service and accelerator",
			"Add a KWOKNodeProfile to your own directory (`--profiles DIR`) or to kwok/profiles/. `matrix` does not fall back to another cloud's nodes: a pass there would say nothing about yours.", nil},
		{19, Internal, ClassInfrastructure, "The harness itself failed", "This is a bug. Please report it, with the message.", nil},
	}
}

// sourceRows are about the registry, and what is fetched from elsewhere.
func sourceRows() []Row {
	return []Row{
		{20, RegistryNotReady, ClassInfrastructure, "The registry did not start",
			"The message names the address that it could not listen on.",
			[]Lead{{"registry.log", "which request failed, and how"}}},
		{21, RegistryUnreachable, ClassInfrastructure, "The registry does not answer on its port",
			"Usual causes are a firewall on the loopback interface, or a proxy that intercepts 127.0.0.1.",
			[]Lead{{"registry.log", "which request failed, and how"}}},
		{22, PublishFailed, ClassInfrastructure, "A chart or bundle could not be pushed to the registry",
			"The message names the artifact. The registry's log has one line per request.",
			[]Lead{{"registry.log", "which request failed, and how"}}},
		{23, ChartDownloadFailed, ClassInfrastructure, "A chart could not be downloaded from its repository",
			"With --charts upstream or direct, with --app, and for `matrix charts`: the message names the chart and its address, and quotes the server's answer. Check the network, the proxy (HTTPS_PROXY) and the login (`helm repo add`, `helm registry login`, `docker login`); if the server has no such chart, check source, chart and version. Without a network, run with --charts DIR. What needs no such chart is run and judged: the other apps of --app, the other recipes. Downloaded charts are kept.", nil},
		{24, DownloadFailed, ClassInfrastructure, "A recipe could not be downloaded from its address",
			"The message quotes the server's answer, or names the limit that was exceeded. Check the address in a browser, the network and the proxy (HTTPS_PROXY), or download the file and pass its name.", nil},
		{25, EngineUnusable, ClassInfrastructure, "No Docker engine can run a Kind cluster",
			"With --platform kind: there is no docker program; the engine does not answer, or this user may not use it; or it is rootless, remote, Docker Desktop or Podman. The message says which, and what to do. Nothing was started. --platform embedded needs no engine.", nil},
		{26, ImageMissing, ClassInfrastructure, "A container image is missing, or could not be pulled",
			"The message names the image, of --platform kind or of --program. Check the network and the login (`docker login`). For Kind you can also bring an archive: run `matrix images save FILE` where there is a network, and pass --kind-images FILE here. `matrix images list` lists all images that a run needs.", nil},
	}
}

// argoCDRows are about Argo CD.
func argoCDRows() []Row {
	return []Row{
		{30, ArgoCDInstallFailed, ClassInfrastructure, "Argo CD could not be installed",
			"The message quotes the API server's error.",
			[]Lead{{apiServerLog, "what the API server made of the controllers' CRDs and configuration"}}},
		{31, ArgoCDCRDMissing, ClassInfrastructure, "applications.argoproj.io was not Established within 120 s",
			"The API server is overloaded or rejected the CRD; see its log.",
			[]Lead{{apiServerLog, "what the API server made of the controllers' CRDs and configuration"}}},
		{32, ArgoCDConfigFailed, ClassInfrastructure, "Argo CD's ConfigMap argocd-cm could not be applied",
			"The message quotes the API server's error.",
			[]Lead{{apiServerLog, "what the API server made of the controllers' CRDs and configuration"}}},
		{33, ArgoCDNotReady, ClassInfrastructure, "Argo CD's processes did not become ready",
			"The message quotes the process's log.",
			[]Lead{{ControllerLogs, "is it the one that is not ready?"}}},
		{34, ArgoCDSchemaTooOld, ClassInfrastructure, "Argo CD does not know a field of this Kubernetes version",
			"The API server stores a field that Argo CD's schema lacks, so Argo CD cannot compare what it applied. The recipe is not at fault: the versions of Argo CD and Kubernetes in kwok/stack/go.mod do not match.", nil},
		{40, RepositorySecretFailed, ClassInfrastructure, "Argo CD's repository Secret could not be applied",
			"The message quotes the API server's error.",
			[]Lead{{apiServerLog, "what the API server made of the controllers' CRDs and configuration"}}},
	}
}

// verdictRows are about what is found out about a recipe by deploying it.
func verdictRows() []Row {
	return []Row{
		{50, SyncTimeout, ClassTimeout, "A GitOps sync deadline passed",
			"KWOK_ARGOCD_SYNC_TIMEOUT or KWOK_FLUX_SYNC_TIMEOUT seconds passed. The report lists the state of every expected object. If the machine is slow, raise the variable.",
			[]Lead{{DeployerFiles, ""}, {PodFiles, ""}}},
		{51, DeployFailed, ClassFailed, "The deployer or the API server rejected something",
			"An object was rejected, a chart could not be pulled or rendered, or a release failed. The report's first line quotes the error of the component that rejected it. Waiting would not have helped, so the cell ended at once.",
			[]Lead{{DeployerFiles, ""}, {"events.txt", "what controllers said at the time"}, {"resources.txt", "what did arrive"}}},
		{52, BundleFailed, ClassFailed, "The bundle could not be generated",
			"The chart source lacks a chart, or a chart does not render with the recipe's values. The message names component, chart and template.", nil},
		{53, LaneDivergence, ClassFailed, "Two deployers produced different objects from one recipe",
			"Each cell passed on its own, but this object differs from the reference lane's. The report shows the object, the path in it, and the value in each lane. Look for a value that one deployer drops or sends differently: a null, a key that a bundle lacks, a number that became text. Change the recipe so that both agree, or fix the bundle. If two components define the object differently, let only one define it. Add a known and harmless difference to internal/matrix/compare/benign.go, with its reason.", nil},
		{54, CheckFailed, ClassFailed, "A component's health check failed",
			"With --checks: everything was deployed and every pod runs, but an assertion of recipes/checks/COMPONENT/health-check.yaml failed. The report names component, file, line and step, and shows how the object differs. Fix the recipe, or the check if it expects the wrong thing.", nil},
		{55, JobDeadline, ClassTimeout, "The job ran out of time before a cell could be verified",
			"KWOK_SYNC_DEADLINE_EPOCH or --job-timeout left no time: sync work stops 240 s before the job ends, and no cell starts in the 120 s before that. Give the job more time, fewer cells (--shard), or more cells at a time (--parallel). The result says nothing about the recipe. In a GitOps lane whose sync had started, the code is 50.",
			[]Lead{{DeployerFiles, ""}, {PodFiles, ""}}},
		{56, ConstraintBroken, ClassFailed, "The recipe is not for the Kubernetes version of the cell",
			"The recipe's constraint K8s.server.version excludes this stack's API server (`matrix version` prints its version), so nothing was started. Change the constraint, or choose another version with --kubernetes. With --all and in tiers such a recipe is skipped, never passed.", nil},
		{57, ChartChanged, ClassFailed, "A chart's bytes are not those of the lock file",
			"The repository now serves other bytes for a locked version. The message shows both digests. Nothing was started. Find out who replaced the release. If the change is intended, remove the chart's entry from charts.lock and run `matrix charts lock`.", nil},
		{58, ValidationFailed, ClassFailed, "A check or constraint of the recipe's validation failed",
			"With --validate: the cluster does not meet the recipe's validation block or constraints. The message names the phase, the check, the component and the line that requires it. Change the cluster or the recipe accordingly. A check that cannot run is skipped and never causes this code.", nil},
		{59, PlatformDivergence, ClassFailed, "A cell differs between two platforms",
			"`matrix parity` ran the cell on embedded and in a Kind cluster, or with simulated and with real operators. The verdicts or an object differ. The report shows the object, the path in it, and the value on each side. Either one side lacks something, or the harness has a bug. Add a known and harmless difference to kwok/parity.yaml or kwok/parity-operators.yaml, with its reason, and to docs/kind.md.", nil},
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
			"The API server is overloaded or rejected a CRD; see its log.",
			[]Lead{{apiServerLog, "what the API server made of the controllers' CRDs and configuration"}}},
	}
}

// workRows are about workflows, probes, and the time that work takes.
func workRows() []Row {
	return []Row{
		{63, WorkflowFailed, ClassFailed, "A task of a workflow failed",
			"For `matrix workflow run`: the message names the file, the line and the task's id, and says what it waited for or what the API server answered. Later tasks did not run. Change the workflow, or its timeout if the machine is slow; --keep leaves the cluster for inspection.", nil},
		{64, SchedulerMissing, ClassFailed, "A pod requests a scheduler that does not run",
			"For `matrix workflow run`: the message names the scheduler, the file and the task. The run's own cluster has the default scheduler, and those of --scheduler and --scheduler-program. Use one of these flags, a cluster that has the scheduler (--kubeconfig), or --play-scheduler NAME: the default scheduler then places these pods, by its own rules.", nil},
		{65, ProbeFailed, ClassFailed, "A job that a user of the recipe would run was not placed",
			"With --probes: everything was deployed and every pod of the recipe runs, but a job of recipes/probes did not get its nodes. The report names the probe's file and line and a pod, quotes the scheduler, and says whether the scheduler was the real one. Change the recipe, e.g. a taint, a queue's quota or the nodes' GPUs, or the probe if no user would run such a job.",
			[]Lead{{PodFiles, ""}, {"cell.json", "the probes that ran before, under validation"}}},
		{67, SchedulerFailed, ClassInfrastructure, "A second scheduler or a controller did not start, or exited",
			"For --scheduler, --scheduler-program, --controller, or a workflow that names schedulers or controllers: the program exited, was not ready (/readyz) within 90 s, or its webhooks did not answer. The message quotes the end of its log. The usual cause is a configuration that the program rejects. With --controller it may also be a CRD of the recipe that does not suit this version of the program; the message names it. Neither workflows nor jobs are at fault.", nil},
		{68, PodsTooSlow, ClassTimeout, "Pods were still becoming ready when time ran out",
			"Only time was short: no pod was rejected or failed, no later pod overtook an earlier one, and every 5 s more pods were ready. The report shows the rate, and how long the rest would have taken. The result says nothing about the recipe. On a slow machine raise KWOK_SCHEDULING_TIMEOUT (helm, helm-template), KWOK_ARGOCD_SYNC_TIMEOUT or KWOK_FLUX_SYNC_TIMEOUT, run fewer cells at a time (--parallel), or use fewer nodes.",
			[]Lead{{PodFiles, ""}, {"logs/kwok-controller.log", "KWOK writes the status of each pod"}}},
		{69, MachineTooSlow, ClassInfrastructure, "The machine was too slow for a cell's deadline",
			"A deadline passed while a repeated operation took at least 10 times as long as on an idle machine, and no pod was rejected or misplaced. The result says nothing about the recipe, and is no strike. Run the cell again on an idle machine, with fewer cells at a time (--parallel), or raise KWOK_SCHEDULING_TIMEOUT (helm, helm-template), KWOK_ARGOCD_SYNC_TIMEOUT or KWOK_FLUX_SYNC_TIMEOUT. The report lists everything that was not ready.", nil},
		{70, GitNotReady, ClassInfrastructure, "The Git server of a Git lane did not start",
			"argocd-git and flux-git push the bundle to a Git server, git's own git-http-backend. The message says which part of git this machine lacks, or why the server did not start. Install git, or omit these lanes (--deployer). The result says nothing about the recipe.", nil},
		{71, GitUnreachable, ClassInfrastructure, "The Git server cannot be reached",
			"With --platform kind a cell's Git server is part of this program, on a port of this machine (KWOK_GITEA_HOST_PORT, 3300). The node did not reach it within 60 s. The usual cause is this machine's firewall: allow connections from Docker's network. In AICR's own clusters the code means that Gitea does not answer on its host port.", nil},
		{72, GitNotWritable, ClassInfrastructure, "The Git server rejected the push",
			"With --platform kind: the Git server answers, but did not create the bundle's repository. The message quotes it. Usual causes are a full disk, or a directory that git may not write to. In AICR's own clusters, Gitea lacks its administrator, without whom nothing can be pushed.", nil},
	}
}

// upgradeRows are about a delivery into a cluster that runs something already, old or the same.
func upgradeRows() []Row {
	return []Row{
		{73, UpgradeFailed, ClassFailed, "The upgrade failed",
			"With --from: the old recipe was installed and passed its gate, but the deployer or the API server rejected the new bundle on that cluster. The first line quotes the error. For an immutable field, the report names the object, the field and the template: delete that object before the upgrade, or rename it. The code also means that the upgrade deletes a CRD, namespace or claim because another release owns it now, or that a rolling update's new pod needs the old one's resources. If the recipe's first installation fails too, the recipe is at fault.",
			[]Lead{{DeployerFiles, ""}, {"events.txt", "what controllers said at the time"}, {"resources.txt", "what did arrive"}}},
		{74, UpgradeDiverged, ClassFailed, "The upgraded cluster differs from a first installation",
			"With --from: the new bundle was delivered and passed its gate, but an object is not as after a first installation of the same recipe by the same deployer. The report shows the object, the path in it, both values, and the cause if known: a CRD in crds/, which Helm never updates; an old value that the delivery did not replace; an object that was not deleted; a Secret that its operator had filled and the delivery emptied. Change the chart or the recipe so that both agree, or tell users the manual step.",
			[]Lead{{DeployerFiles, ""}, {"resources.txt", "what the cluster has"}}},
		{75, BaseFailed, ClassUnjudged, "The recipe to upgrade from did not become ready",
			"With --from: the old recipe's installation failed, so nothing is known about the upgrade, and the cell counts as not run. The message names the cause. Run the old recipe by itself, or name another source.",
			[]Lead{{DeployerFiles, ""}, {PodFiles, ""}}},
		{76, LeftBehind, ClassFailed, "Removing the recipe leaves something stuck",
			"With --remove, the deployer removed a passing recipe in its own way: undeploy.sh, the cascade of Argo CD's root, the pruning of Flux's Kustomization. Now an object or namespace stays Terminating because no controller removes its finalizer, a webhook that fails closed has lost its server, or the deployer itself failed. The report names each. Remove the finalizer from the chart, or delete the object before its controller; let the chart delete its webhooks with their Service. Objects that merely remain (namespaces, CRDs of crds/, claims, hooks) are listed and are no failure.",
			[]Lead{{"resources.txt", "what is left"}, {DeployerFiles, ""}, {"events.txt", "what controllers did at the time"}}},
		{77, NeverSettles, ClassFailed, "The cluster never settles",
			"With --drift, the deployer delivered the same bundle again after a pass, and that changed something. The report names each object that differs, the path in it, and the workloads that roll. Without --drift, in Argo CD's lanes with self-heal: two renderings show that a hook and an ordinary object share a generated value, and a hard refresh replaces only the second. Usual causes are randAlphaNum, genCA, lookup or .Release.Revision in a chart; the report names the template's line. Argo CD renders without a cluster, so lookup finds nothing there. Set the value in the recipe, or keep it in a Secret that the chart does not render. With --operators: two operators keep overwriting each other's fields of one object; the report names both and the fields.",
			[]Lead{{DeployerFiles, ""}, {"events.txt", "what controllers did at the time"}}},
		{78, ReadBackFailed, ClassFailed, "upgrade-check reads another thing from the cluster than was delivered",
			"Everything was delivered and is ready, but `aicr upgrade-check --from cluster` does not find in the cluster what the bundle has, so that nobody can be told what an upgrade would do. The report names the component, and what is said of the cluster and of the bundle. Usual causes are a release or Application that does not have its component's name, a release that another one shadows, and a chart made by the bundler without the annotation aicr.run/component-version. With AICR's CLI as bundler the CLI itself is asked, from 0.22.0 on, else this project's own.",
			[]Lead{{DeployerFiles, ""}, {"resources.txt", "what is installed"}}},
	}
}

// lastRows are about the end of a run.
func lastRows() []Row {
	return []Row{
		{SignalBase, Interrupted, ClassInterrupted, "Signal n ended the run",
			"Results of finished cells are kept; the rest is listed as not run.",
			[]Lead{{"cell.json", "how far the cell had come: observed against expectation"}}},
	}
}
