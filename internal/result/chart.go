package result

// Chart is a chart whose templates a cell's bundle was rendered from.
type Chart struct {
	Component string `json:"component"`
	// Release is the component's name, or that of a release that it has besides.
	Release string `json:"release"`
	Name    string `json:"name"`
	Version string `json:"version"`
	// Digest is the SHA-256 of the chart's files, as sha256:HEX. It does not depend on how they were
	// packed.
	Digest string `json:"digest"`
	// From is where the chart source found it; empty for a chart that is part of the bundle.
	From string `json:"from,omitempty"`
}
