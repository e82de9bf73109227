// Package here brings Applications of Argo CD to a cell that a bundle's user has made for an
// installation of his own: its projects and its clusters are not part of the bundle. It must not know
// how Applications are published.
package here

import (
	"fmt"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/bundle/projects"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

const (
	ownProject = "default"
	inCluster  = "in-cluster" // the name that Argo CD gives the cluster that it runs in
)

// Bring changes the project of an Application to the one that every Argo CD has, and its cluster to that of
// Argo CD itself, and says what it has changed, for people.
func Bring(application *yamlv3.Node) (changed []string) {
	spec := yamlx.Find(application, "spec")
	if project := yamlx.Text(spec, "project"); project != "" && project != ownProject {
		changed = append(changed, fmt.Sprintf("bundle: Applications of the project %s are in the project %s here, and nothing verifies what %[1]s allows: no bundle has AppProjects", project, ownProject))
		yamlx.Set(spec, "project", "!!str", ownProject)
	}
	to := yamlx.Find(spec, "destination")
	server, name := yamlx.Text(to, "server"), yamlx.Text(to, "name")
	if at := server + name; at != "" && at != projects.LocalServer && at != inCluster {
		changed = append(changed, fmt.Sprintf("bundle: Applications for the cluster %s are delivered to the cell's", at))
		yamlx.Drop(to, "name")
		yamlx.Set(to, "server", "!!str", projects.LocalServer)
	}
	return changed
}
