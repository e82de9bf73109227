package daytwo

import (
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// Checks lists those of later deliveries and of the removal.
func Checks() []judge.Check {
	return []judge.Check{
		hookBeforeItsNeed, oldPodsStay, rollsOverDisk, movesToAnother, prunedThoughKept, tornDown, guardedByItsOwn, definitionRace, orphaned, jobRunsAgain, chartRepublished,
		holderDeleted, removalWaits, staysBehind, deliveryRefused, rolloutDeadlock, namespaceDeleted, installedOnly, emptiedByDelivery, waitsForOldPods, tokenDeleted, replicasLeft, configReachesNoPod,
		removalStuck, webhookStays, deleteHookStuck, guardedUninstall, removalRace, removalFailed,
		secondChanges, secondFails, otherOrder, fightsAutoscaler, tornApart, refreshChanges,
	}
}

// What a step observes of an upgrade or a rollback.
var (
	holderDeleted = judge.Check{
		ID: "MX708", Name: "holder-deleted", Needs: judge.Second, Observed: true, Gives: reason.UpgradeFailed,
		Title: "A delivery does not delete what holds other things",
		Why: "With a CustomResourceDefinition goes every object of its kind, with a namespace everything in it, with a claim its data. A definition that moves to another release, or into a chart's crds/, " +
			"is deleted by the release that had it, and the one that has it now does not notice.",
		Fix: "Annotate it helm.sh/resource-policy=keep (in Argo CD: argocd.argoproj.io/sync-options=Prune=false) in the cluster before the upgrade.",
	}
	removalWaits = judge.Check{
		ID: "MX709", Name: "removed-object-waits-for-a-finalizer", Needs: judge.Second, Observed: true, Gives: reason.UpgradeDiverged,
		Title: "What an upgrade removes is gone after it",
		Why:   "An object with a finalizer stays until a controller takes the finalizer off. If the upgrade removes that controller too, or none knows the finalizer, the object is being deleted for ever.",
		Fix:   "Take the finalizer off before the upgrade, or keep what removes it until the object is gone.",
	}
	staysBehind = judge.Check{
		ID: "MX713", Name: "release-left-behind", Needs: judge.Second, Observed: true,
		Title: "A release that the recipe has no more is removed",
		Why:   "Deployers without a controller do not notice that a component has left the recipe: its release runs on until somebody uninstalls it.",
		Fix:   "Uninstall it by hand after the upgrade, or say in the notes of the release that a user must.",
	}
	deliveryRefused = judge.Check{
		ID: "MX720", Name: "upgrade-refused", Needs: judge.Second, Observed: true, Final: true, Gives: reason.UpgradeFailed,
		Title: "The deployer and the API server take the upgrade",
		Why: "Some fields cannot be changed once an object is there, such as a selector or a Job's template (https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#label-selector-updates). " +
			"Helm takes over no object of another release, and leaves definitions in a chart's crds/ as they are. A first installation shows none of that.",
		Fix: "Do what the finding says: leave the field as it was, give the object another name, or change it by a step before the upgrade.",
	}
	rolloutDeadlock = judge.Check{
		ID: "MX721", Name: "rollout-waits-for-itself", Needs: judge.Second, Observed: true, Final: true, Gives: reason.UpgradeFailed,
		Title: "A rolling update has room for a new pod beside the old ones",
		Why: "A rolling update with maxUnavailable 0 removes no old pod before a new one is ready. If the nodes or a quota have no room for both, the two wait for each other for ever. " +
			"A first installation has no old pods.",
		Fix: "Set maxSurge: 0 and maxUnavailable: 1, or leave room.",
	}
	namespaceDeleted = judge.Check{
		ID: "MX722", Name: "namespace-deleted", Needs: judge.Second, Observed: true, Gives: reason.UpgradeFailed,
		Title: "An upgrade does not delete a namespace that something of it is in",
		Why:   "If a chart has a Namespace no more, its release deletes it, and everything that other releases have in it.",
		Fix:   "Leave it in the chart, or annotate it helm.sh/resource-policy=keep and argocd.argoproj.io/sync-options=Prune=false in the cluster before the upgrade.",
	}
	installedOnly = judge.Check{
		ID: "MX723", Name: "rendered-at-installation-only", Needs: judge.Second, Observed: true, Final: true, Gives: reason.UpgradeFailed,
		Title: "What a pod needs is rendered at each upgrade",
		Why:   "A template that asks for .Release.IsInstall, or whether an object exists (lookup), renders nothing at the upgrade. Helm then removes the object, and the pods that need it do not start.",
		Fix:   "Render it each time, and take what was generated from the cluster (lookup), or annotate it helm.sh/resource-policy: keep.",
	}
	emptiedByDelivery = judge.Check{
		ID: "MX725", Name: "operator-value-emptied", Needs: judge.Second, Observed: true, Gives: reason.UpgradeDiverged,
		Title: "A delivery leaves alone what operators write into Secrets",
		Why: "A key that a template renders without a value is delivered without one, each time, whatever an operator has written into it. A key that no template ever rendered stays, in Helm, Argo CD and Flux. " +
			"At a second delivery of the same bundle (--drift), the reason is NEVER_SETTLES.",
		Fix: "Leave data out of the template, or make the object no hook.",
	}
	waitsForOldPods = judge.Check{
		ID: "MX726", Name: "release-waits-for-old-pods", Needs: judge.Second, Observed: true, Final: true, Gives: reason.UpgradeFailed,
		Title: "No release of Flux waits for a DaemonSet that replaces no pod",
		Why:   "helm-controller takes a DaemonSet as ready once all of its pods are of the new template. With updateStrategy OnDelete, nobody deletes the old ones, so that it waits until its timeout.",
		Fix:   "Set updateStrategy: {type: RollingUpdate}.",
	}
	tokenDeleted = judge.Check{
		ID: "MX727", Name: "token-of-another-account", Needs: judge.Second, Observed: true, Final: true, Gives: reason.UpgradeFailed,
		Title: "A token Secret keeps its ServiceAccount",
		Why: "Kubernetes writes the UID of the ServiceAccount into a token Secret, and deletes a Secret whose account has another UID " +
			"(https://kubernetes.io/docs/concepts/configuration/secret/#serviceaccount-token-secrets).",
		Fix: "Give the Secret another name.",
	}
)

// What a step observes of the removal.
var (
	removalStuck = judge.Check{
		ID: "MX801", Name: "removal-stuck", Needs: judge.Removed, Observed: true, Gives: reason.LeftBehind,
		Title: "Nothing is being deleted for ever after the removal",
		Why: "An object with a finalizer that no controller takes off, and a namespace with such an object, are being deleted for ever, and cannot be created again " +
			"(https://kubernetes.io/docs/concepts/overview/working-with-objects/finalizers/).",
		Fix: "Remove the objects before their operator, e.g. by a pre-delete hook, or leave the finalizer out.",
	}
	webhookStays = judge.Check{
		ID: "MX802", Name: "webhook-without-server-stays", Needs: judge.Removed, Observed: true, Gives: reason.LeftBehind,
		Title: "No webhook that fails closed stays without its server",
		Why:   "If a webhook stays and its Service is gone, the API server refuses every request that the webhook is asked about, in the whole cluster.",
		Fix:   "Have the chart delete its webhook configuration, or let it fail open (failurePolicy: Ignore).",
	}
	deleteHookStuck = judge.Check{
		ID: "MX803", Name: "delete-hook-cannot-run", Needs: judge.Removed, Observed: true, Gives: reason.LeftBehind,
		Title: "The hooks of a removal can run",
		Why:   "A deployer waits for a pre-delete or post-delete hook. If no node takes its pod, or the API server rejects it, the release is not removed. An upgrade that removes a component runs them, too.",
		Fix:   "Let the hook's pod tolerate the nodes' taints, and have its ServiceAccount exist when it runs.",
	}
	guardedUninstall = judge.Check{
		ID: "MX804", Name: "webhook-guards-what-is-uninstalled", Needs: judge.Removed, Observed: true, Gives: reason.LeftBehind,
		Title: "A release can be uninstalled whose webhook guards its own objects",
		Why: "helm uninstall deletes the Service of a webhook before the objects that it guards, and its configuration last. A webhook that fails closed then refuses the deletion. " +
			"Helm ends with an error, and what comes after it stays, too.",
		Fix: "Delete the webhook by a pre-delete hook, or first by hand.",
	}
	removalRace = judge.Check{
		ID: "MX805", Name: "definition-uninstalled-in-no-order", Needs: judge.Removed, Observed: true, Gives: reason.LeftBehind,
		Title: "A definition is not uninstalled beside an object of its kind",
		Why: "Flux uninstalls releases in no order. If a definition goes before an object of its kind, helm-controller cannot uninstall the release of that object any more. " +
			"Where the object went first, it is a warning.",
		Fix: "Remove the component with the object first, and the one with the definition in a delivery after that.",
	}
	removalFailed = judge.Check{
		ID: "MX806", Name: "removal-failed", Needs: judge.Removed, Observed: true, Final: true, Gives: reason.LeftBehind,
		Title: "The deployer removes the bundle",
		Why:   "The deployer ended with an error, or not in time. The finding has its words, and what was still there.",
		Fix:   "Do what its error says.",
	}
)

// What a step observes of the same bundle, delivered or rendered once more.
var (
	secondChanges = judge.Check{
		ID: "MX901", Name: "second-delivery-changes", Needs: judge.Second, Observed: true, Gives: reason.NeverSettles,
		Title: "The same bundle, delivered again, changes nothing",
		Why: "A chart that renders a random value, the time, or a new certificate changes the cluster at each delivery, and rolls pods. Argo CD and Flux deliver again by themselves. " +
			"Another cause is a second owner of a field, or a default that the deployer does not know.",
		Fix: "Set the value in the recipe, or take it from a Secret that the chart does not make.",
	}
	secondFails = judge.Check{
		ID: "MX902", Name: "second-delivery-fails", Needs: judge.Second, Observed: true, Final: true, Gives: reason.NeverSettles,
		Title: "The same bundle can be delivered again",
		Why:   "What fails only the second time depends on what the first has left, such as an object that cannot be created twice.",
		Fix:   "Do what the finding says of the object.",
	}
	otherOrder = judge.Check{
		ID: "MX903", Name: "rendered-in-another-order", Needs: judge.Second, Observed: true, Gives: reason.NeverSettles,
		Title: "A template renders lists in one order",
		Why:   "The functions keys and values return the entries of a map in another order each time (https://helm.sh/docs/chart_template_guide/function_list/#keys). The second delivery was the same only by luck.",
		Fix:   "Sort the list: keys .Values.x | sortAlpha.",
	}
	fightsAutoscaler = judge.Check{
		ID: "MX904", Name: "self-heal-against-autoscaler", Needs: judge.Settled, Observed: true, Gives: reason.NeverSettles,
		Title: "Argo CD's self-heal and an autoscaler agree on the number of pods",
		Why: "If a workload is rendered with a number of replicas outside of what its autoscaler keeps it at, self-heal and the autoscaler each write their own again, for ever " +
			"(https://argo-cd.readthedocs.io/en/stable/user-guide/best_practices/#leaving-room-for-imperativeness).",
		Fix: "Leave replicas out of the template.",
	}
	tornApart = judge.Check{
		ID: "MX905", Name: "hook-and-object-torn-apart", Needs: judge.Settled, Observed: true, Gives: reason.NeverSettles,
		Title: "A hook and an ordinary object do not share a generated value",
		Why: "A hard refresh of Argo CD renders the chart again. Self-heal then replaces the ordinary object, and does not run the hook, so that a certificate and its authority, or a password and its copy, " +
			"no longer fit each other. In lanes without self-heal it is a warning.",
		Fix: "Make the hook an ordinary object, or set the value in the recipe.",
	}
	refreshChanges = judge.Check{
		ID: "MX906", Name: "hard-refresh-changes", Needs: judge.Settled, Observed: true,
		Title: "A hard refresh of Argo CD changes nothing",
		Why:   "Two renderings of the same charts differ at these paths, so that a hard refresh, or a restart of the repo-server, changes the cluster. --drift shows what follows from it.",
		Fix:   "Set the value in the recipe, or take it from a Secret that the chart does not make.",
	}
)
