package matrix

// gitOpsFaults are of users' repositories, which --app runs.
func gitOpsFaults() []fault {
	return []fault{
		{
			id: "F290", what: "with `--app`, a Kustomization whose `healthChecks` name what nothing makes, what comes only once it is ready, a kind that does not exist, or a HelmRelease of another namespace", verdict: "exit 51 before anything is deployed, with the check's line; what an operator of the bundle may make passes",
			tests: []string{"cmd/matrix TestNightlyGitOps", "internal/matrix/checks TestCases", "internal/intake/app TestWaits"},
		},
		{
			id: "F291", what: "with `--app`, `healthCheckExprs` whose `current` never holds, or that are no CEL; those for the status of a custom resource, whose operator may be simulated", verdict: "exit 51, decided by kustomize-controller, with the line; exit 2 with the line; passes, not verified",
			tests: []string{"cmd/matrix TestNightlyGitOps", "internal/bundle/fluxapi TestParse", "internal/bundle/fluxapi TestSimulated", "internal/matrix/lane/flux TestChecked", "internal/intake/app TestWaits_Expressions", "internal/intake/app TestFlux_Refused"},
		},
		{
			id: "F292", what: "with `--app`, a HelmRelease whose chart is from an OCIRepository, so that Flux adds the digest to the version: in an annotation; in a label; in a selector", verdict: "passes, as rendered; exit 51 before anything is deployed, with the template and the edit; a warning",
			tests: []string{"cmd/matrix TestNightlyGitOps", "internal/matrix/checks TestCases"},
		},
		{
			id: "F293", what: "a release that Flux does not wait for (`disableWait: true`), beside others that can never be ready", verdict: "exit 1 before anything is deployed, for the others",
			tests: []string{"cmd/matrix TestNightlyGitOps", "internal/matrix/checks TestCases", "internal/matrix TestLanes_Order"},
		},
		{
			id: "F294", what: "in Argo CD, a custom resource in a sync wave before its operator's; Applications in waves, where Argo CD looks at the health of Applications", verdict: "exit 51, or 1, before anything is deployed; without that health check waves only order their creation",
			tests: []string{"cmd/matrix TestNightlyGitOps", "internal/matrix/checks TestCases", "internal/intake/app TestWaves"},
		},
		{
			id: "F295", what: "with `--app`, an Application whose AppProject, in the same repository, refuses its source, its destination or one of its objects", verdict: "exit 51 before anything is deployed, with the line",
			tests: []string{"cmd/matrix TestNightlyGitOps", "internal/bundle/argoapi TestProject", "internal/intake/app TestProjects"},
		},
		{
			id: "F296", what: "with `--app`, objects of Flux that are suspended; a Kustomization that depends on one that is, or that no file has", verdict: "left out, which an override says; exit 2 with the line",
			tests: []string{"internal/intake/app TestFlux_Suspended", "internal/intake/app TestFlux_Refused", "internal/intake/app TestFlux_DependsElsewhere", "internal/intake/app TestOpen_LayoutsRefused"},
		},
		{
			id: "F297", what: "a kustomization that does not build", verdict: "exit 2 or 52 with the file that is wrong, and its line: no YAML, an unknown field, a patch for nothing, an object twice",
			tests: []string{"internal/charts/render TestLocate"},
		},
		{
			id: "F298", what: "with `--app`, what Flux and Argo CD lay over a kustomization: `components`, `images`, `namePrefix`, `targetNamespace`, `commonMetadata`, `replicas`; objects beside Applications of Applications", verdict: "delivered as Flux and Argo CD deliver them",
			tests: []string{"cmd/matrix TestNightlyGitOps", "internal/intake/app TestOverlays", "internal/bundle/argoapi TestImageOf", "internal/intake/app TestWaves"},
		},
		{
			id: "F299", what: "with `--app`, a source or a HelmRelease that another object of Flux looks for in the wrong namespace; an object that needs a namespace and gets none, of a Kustomization or an Application", verdict: "exit 2, or 51 in Argo CD, before anything is deployed, with the line",
			tests: []string{"cmd/matrix TestNightlyGitOps", "internal/intake/app TestFlux_Refused", "internal/intake/app TestUnplaced"},
		},
		{
			id: "F330", what: "with `--app`, a namespace that nothing creates: of an Application, of a HelmRelease or of its release, of manifests", verdict: "exit 51 before anything is deployed, with the line and the edit; a Namespace of another path of the repository is created, which the result says",
			tests: []string{"internal/intake/app TestMake_MissingNamespaces", "cmd/matrix TestNightlyGitOps"},
		},
		{
			id: "F331", what: "with `--app`, a template of a helmfile that reads a variable, the machine or a secret store, or runs a program; an environment that the file does not have; releases of two documents, of which helmfile installs the later ones only", verdict: "the variable is empty, which an override says; exit 2 with the template's line; an override",
			tests: []string{"internal/bundle/statefile TestRead_Refused", "internal/bundle/statefile TestRead_AsHelmfile"},
		},
		{
			id: "F332", what: "with `--app`, what Flux does to the objects of a HelmRelease (`postRenderers`, `commonMetadata`), and a patch of it that does not fit", verdict: "delivered as Flux delivers them; exit 51 before anything is deployed, with the line of postRenderers",
			tests: []string{"internal/intake TestPost", "internal/charts/render TestRelease_Post"},
		},
		{
			id: "F370", what: "with `--app`, HelmReleases of two namespaces whose values are in ConfigMaps of the same name; Kustomizations of the same name in two namespaces", verdict: "each has the values, and waits for the dependencies, of its own namespace",
			tests: []string{"internal/intake/app TestFlux_Namesakes", "internal/intake/app TestFlux_SameNames", "internal/intake/app TestFlux_OwnNamespace"},
		},
		{
			id: "F371", what: "with `--app`, a Kustomization that depends on one of another namespace without saying so, or whose GitRepository no file has, where another one is this repository", verdict: "exit 2 with the line: Flux would wait for ever",
			tests: []string{"internal/intake/app TestFlux_Refused"},
		},
		{
			id: "F372", what: "with `--app`, an OCIRepository with a signature, or with a digest beside its tag; variables that SOPS encrypts and no object has", verdict: "passes, and the signature and the digest are not verified; one that an object has is exit 2 with the object's line",
			tests: []string{"internal/intake/app TestFlux_Signed", "internal/intake/app TestFlux_SealedUnused", "internal/intake/app TestOpen_Refused"},
		},
	}
}
