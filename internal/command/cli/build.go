package cli

import (
	"runtime"
	"runtime/debug"
)

// Build is how a program was built.
type Build struct {
	// Version is the release's, the module's, or "devel".
	Version string `json:"version"`
	// Revision is the commit; empty if the build does not know it.
	Revision string `json:"revision,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"` // OS/ARCH
}

// BuildOf describes this program. Released is the version that a release's build gives to the
// linker, or empty.
func BuildOf(released string) Build {
	b := Build{Version: released, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				b.Revision = s.Value
			}
		}
	}
	switch {
	case released != "":
	case ok && info.Main.Version != "" && info.Main.Version != "(devel)":
		b.Version = info.Main.Version
	default:
		b.Version = "devel"
	}
	return b
}
