package lane

import "time"

// Order says what a deployer waits for while it creates a bundle's objects.
type Order struct {
	// ArgoCD reads its own annotations for hooks and sync waves besides Helm's.
	ArgoCD bool
	// Flux applies definitions alone from a chart's crds/.
	Flux bool
	// Heals means that Argo CD writes back what a hard refresh finds different, without running hooks.
	Heals bool
	// Ready means that it waits until the objects of one moment are ready before those of the next
	// come. Otherwise it waits for hooks only.
	Ready bool
	// Releases means that it waits until a release is ready before those come that depend on it.
	Releases bool
	// InOrder means that the releases come one after the other.
	InOrder bool
	// Needs means that a release comes once those that it depends on are installed, with their hooks, and
	// ready if the deployer waits for their objects.
	Needs bool
	// AtOnce means that hooks are objects like all others.
	AtOnce bool
	// Uninstalls means that a bundle is removed by one helm uninstall of each release: what the API server
	// refuses then is refused for good. Controllers try again.
	Uninstalls bool
	// Within is how long it waits until the objects of a release are ready, before the release has
	// failed; 0 if it waits for as long as it takes.
	Within time.Duration
}
