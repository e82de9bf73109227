package result

import "strings"

// Stage is the step of its delivery at which an object failed.
type Stage string

// The stages, in order. An object of a later stage has passed the earlier ones.
const (
	StagePull     Stage = "pull"     // its source: the registry, the artifact, the chart in it
	StageRender   Stage = "render"   // templates with the recipe's values
	StageApply    Stage = "apply"    // the API server's answer
	stageHealth   Stage = "health"   // it is there, and is not well
	StageSchedule Stage = "schedule" // its pods
)

// stageTexts are parts of the messages of Helm, Argo CD, Flux and the API server at each stage. The
// first one that a message contains decides. A message quotes the layers below it ("install failed:
// template: …"), so specific texts come before general ones. Only the text distinguishes the
// stages: Argo CD has one condition for pulling and rendering, and helm-controller one for
// rendering, applying and waiting.
var stageTexts = []struct {
	stage Stage
	parts []string
}{
	{StageRender, []string{
		"template: ", "execution error at", "error calling ", "YAML parse error", "error converting YAML", "values don't meet the specifications",
		"parse error at", "unable to build kubernetes objects", "kustomize build failed", "helm template",
	}},
	{stageHealth, []string{
		"has reached the specified backoff limit", "BackoffLimitExceeded", "timed out waiting", "timeout waiting", "context deadline exceeded", "health check failed",
		"waiting for healthy state", "failed early due to stalled", "status: 'InProgress'", "status: 'Failed'", "Degraded",
	}},
	{StagePull, []string{
		"manifest unknown", "MANIFEST_UNKNOWN", "NAME_UNKNOWN", "unable to locate any tags", "failed to resolve revision", "unsupported scheme", "unsupported protocol scheme",
		"failed to pull", "failed to fetch", "failed to download", "chart pull error", "pull access denied", "app path does not exist", "no such file or directory",
		"repository not found", "failed to get index", "no artifact", "unsupported media type", "mediaType", "media type", "improper constraint", "no matching version",
		"failed to determine artifact digest", "error getting cached app", "connection refused", "no such host", "i/o timeout",
	}},
	{StageApply, []string{
		"is invalid", "Invalid value", "Unsupported value", "forbidden", "denied the request", "no matches for kind", "could not find the requested resource",
		"not valid for server", "synchronization tasks are not valid", "already exists", "invalid ownership metadata", "conflict", "unknown field", "exceeded quota",
		"error validating data", "dry-run failed",
	}},
}

// StageOf reads the stage from a controller's message; "" where it does not say.
func StageOf(message string) Stage {
	for _, row := range stageTexts {
		for _, part := range row.parts {
			if strings.Contains(message, part) {
				return row.stage
			}
		}
	}
	return ""
}
