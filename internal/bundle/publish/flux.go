package publish

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/fluxcd/pkg/oci"
	"github.com/google/go-containerregistry/pkg/crane"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// bundleMediaType makes the library that Flux's command line pushes with give the layer the type
// that flux-root.yaml selects, and that `oras push`, which the bundle's README names, gives it too.
// The library has the type in a variable, for programs like this one.
var bundleMediaType = sync.OnceFunc(func() { oci.CanonicalContentMediaType = bundle.LayerMediaType })

// publishFlux pushes a bundle as `flux push artifact` does.
func publishFlux(ctx context.Context, b *bundle.Bundle, repo, tag string, to Target) (Published, error) {
	bundleMediaType()
	ref := repo + ":" + tag
	tmp, err := os.MkdirTemp("", "bundle-")
	if err != nil {
		return Published{}, fmt.Errorf("packing the %s bundle: %w", b.Deployer, err)
	}
	defer func() { _ = os.RemoveAll(tmp) }() // the artifact is what matters
	dir := filepath.Join(tmp, "bundle")
	if err := b.WriteTo(dir, true); err != nil {
		return Published{}, err
	}
	for _, d := range append(directories("", b.Files), ".") { // the modes are in the archive, and must not depend on the umask
		if err := os.Chmod(filepath.Join(dir, filepath.FromSlash(d)), 0o755); err != nil {
			return Published{}, fmt.Errorf("packing the %s bundle: %w", b.Deployer, err)
		}
	}
	options := append(oci.DefaultOptions(), crane.WithAuthFromKeychain(to.keychain()))
	if to.PlainHTTP {
		options = append(options, crane.Insecure)
	}
	pushed, err := oci.NewClient(options).Push(ctx, ref, dir, oci.WithPushMetadata(oci.Metadata{
		Created: published().Format(time.RFC3339), Source: "oci://" + repo, Revision: tag,
		Annotations: map[string]string{"org.opencontainers.image.title": path.Base(repo)},
	}))
	if err != nil {
		return Published{}, fmt.Errorf("publishing %s: %w", ref, err)
	}
	_, digest, ok := strings.Cut(pushed, "@")
	if !ok {
		return Published{}, fmt.Errorf("publishing %s: what was pushed has no digest: %s", ref, pushed)
	}
	return Published{URL: "oci://" + repo, Tag: tag, Digest: digest}, nil
}
