package result

import "testing"

// Messages as the controllers word them, and the stage that each is about.
func TestStageOf(t *testing.T) {
	for message, want := range map[string]Stage{
		// Argo CD has one condition, ComparisonError, for the first two.
		`Failed to load target state: failed to generate manifest for source 1 of 1: rpc error: code = Unknown desc = failed to resolve revision "1.2.3": GET http://r/v2/aicr/x/manifests/1.2.3: MANIFEST_UNKNOWN`: StagePull,
		`Failed to load target state: failed to generate manifest for source 1 of 1: rpc error: code = Unknown desc = web: app path does not exist`:                                                                 StagePull,
		`Failed to load target state: ... rpc error: code = Unknown desc = Manifest generation error (cached): failed to execute helm template command: Error: template: web/templates/x.yaml:3:4: nil pointer`:     StageRender,
		`one or more synchronization tasks are not valid (retried 5 times).`:                                                        StageApply,
		`DaemonSet gpu/driver: DaemonSet.apps "driver" is invalid: spec.template.spec.containers[0].securityContext: Invalid value`: StageApply,
		`Job gpu/crds: Job has reached the specified backoff limit`:                                                                 stageHealth,
		// Flux.
		`HelmChart flux-system/web: chart pull error: failed to download chart for remote reference: not found`:                        StagePull,
		`Helm install failed for release web/web with chart web@1.0.0: template: web/templates/d.yaml:7:20: executing "d"`:             StageRender,
		`Helm install failed for release web/web with chart web@1.0.0: Deployment.apps "web" is invalid: spec.replicas: Invalid value`: StageApply,
		`Helm install failed for release m/m with chart m@1.0.0: failed early due to stalled resources: [Job/m/hook status: 'Failed']`: stageHealth,
		`unable to get 'web' chart version: no chart version found, unable to locate any tags in provided repository`:                  StagePull,
		`kustomize build failed: accumulating resources`:                                                                               StageRender,
		`HelmRelease/web dry-run failed (Forbidden): helmreleases.helm.toolkit.fluxcd.io "web" is forbidden`:                           StageApply,
		// Helm.
		`install chart web 1.0.0: execution error at (web/templates/x.yaml:3:4): repoURL is required`:                                                                StageRender,
		`install chart web 1.0.0: failed post-install: 1 error occurred: * timed out waiting for the condition`:                                                      stageHealth,
		`install chart web 1.0.0: Unable to continue with install: ConfigMap "x" exists and cannot be imported into the current release: invalid ownership metadata`: StageApply,
		`no words that mean anything`: "",
	} {
		if got := StageOf(message); got != want {
			t.Errorf("%s:\ngot %q, want %q", message, got, want)
		}
	}
}
