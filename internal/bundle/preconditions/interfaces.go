package preconditions

import "github.com/nvidia/aicr-action/internal/recipe"

// tcpxoInterfaces: the runtime torch-distributed-tcpxo has the networks of the GPU NICs in an annotation, from a value that
// must be what the recipe was generated for. GKE gives a pod with another annotation no such interface, and its job no
// bandwidth.
func tcpxoInterfaces(in bundled, c *recipe.Component) string {
	if err := in.recipe.Configuration.CheckInterfaces(c.ComponentRef, c.Values, in.find("gke-nccl-tcpxo") != nil); err != nil {
		return err.Error()
	}
	return ""
}
