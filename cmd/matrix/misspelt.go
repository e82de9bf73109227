package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/util/lists"
)

// warnMisspelt warns of variables of the environment whose names nearly are those that the program
// reads: nothing reads them, so that the default counts in silence.
func warnMisspelt(stderr io.Writer, program string, environment, known []string) {
	for _, pair := range environment {
		name, _, _ := strings.Cut(pair, "=")
		if slices.Contains(known, name) {
			continue
		}
		if near := lists.Misspelt(name, known); near != "" {
			_, _ = fmt.Fprintf(stderr, "%s: warning: nothing reads the variable %s; did you mean %s?\n", program, name, near)
		}
	}
}

// variables are those of the environment that this program reads; docs/cli.md explains them.
func variables() []string {
	return []string{
		"KWOK_ARGOCD_SYNC_TIMEOUT", "KWOK_ARGOCD_ROOT_GRACE", "KWOK_FLUX_SYNC_TIMEOUT", "KWOK_FLUX_ROOT_GRACE", "KWOK_SCHEDULING_TIMEOUT", "KWOK_SYNC_DEADLINE_EPOCH",
		"KWOK_GITEA_HOST_PORT", "KWOK_REGISTRY_HOST_PORT", "KWOK_CLUSTER", "AICR_ACTION_RECIPES_DIR", "AICR_ACTION_DATA", "AICR_ACTION_SETTINGS",
		"AICR_ACTION_PLAIN_CONTROLLERS", "AICR_ACTION_KIND_NODE_IMAGE", "AICR_ACTION_KIND_IMAGES", "AICR_ACTION_ALLOW_PRIVATE", "AICR_ACTION_STACK", "AICR_ACTION_STACK_LOCK", "AICR_ACTION_STACK_MIRROR", "AICR_ACTION_CACHE",
	}
}
