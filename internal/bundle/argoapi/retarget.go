package argoapi

// retarget.go brings Applications of Argo CD to a cell that a bundle's user has made for an
// installation of his own: its projects and its clusters are not part of the bundle. It must not know
// how Applications are published.

import (
	"fmt"
	"slices"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// retargetProject is the project that every Argo CD has, and Server the cluster that it runs in.
const (
	retargetProject = "default"
	retargetServer  = LocalServer

	inCluster = "in-cluster" // the name that Argo CD gives that cluster
)

// Retarget changes the project of an Application to the one that every Argo CD has, and its cluster to that of
// Argo CD itself, and says what it has changed, for people.
func Retarget(application *yamlv3.Node) (changed []string) {
	spec := yamlx.Find(application, "spec")
	if project := yamlx.Text(spec, "project"); project != "" && project != retargetProject {
		changed = append(changed, fmt.Sprintf("bundle: Applications of the project %s are in the project %s here, and nothing verifies what %[1]s allows: no bundle has AppProjects", project, retargetProject))
		yamlx.Set(spec, "project", "!!str", retargetProject)
	}
	to := yamlx.Find(spec, "destination")
	server, name := yamlx.Text(to, "server"), yamlx.Text(to, "name")
	if at := server + name; at != "" && at != retargetServer && at != inCluster {
		changed = append(changed, fmt.Sprintf("bundle: Applications for the cluster %s are delivered to the cell's", at))
		yamlx.Drop(to, "name")
		yamlx.Set(to, "server", "!!str", retargetServer)
	}
	return changed
}

// BringTo is Bring, with what it has changed in a list, each once.
func BringTo(application *yamlv3.Node, overrides *[]string) bool {
	changed := Retarget(application)
	for _, text := range changed {
		if !slices.Contains(*overrides, text) {
			*overrides = append(*overrides, text)
		}
	}
	return len(changed) > 0
}
