package stack

// signature.go has cosign say who signed an image. It knows who signs which maker's images, and nothing of signatures.

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/nvidia/aicr-action/internal/infra/host"
)

// cosignProgram is looked for in PATH: whoever asks for signatures to be verified has the program that verifies them.
const cosignProgram = "cosign"

// signatureBudget is how long cosign may take for an image: it asks the registry, and Sigstore for its trusted keys.
const signatureBudget = time.Minute

// signer is who signs a maker's images, without a key of his own: the identity in the certificate, and who vouches for it.
type signer struct {
	images   string // how their names begin
	identity string
	pattern  bool // identity is a regular expression
	issuer   string
}

// signers are the makers that sign keylessly, by what they say of it themselves.
func signers() []signer {
	const github = "https://token.actions.githubusercontent.com"
	return []signer{
		// https://kubernetes.io/docs/tasks/administer-cluster/verify-signed-artifacts; etcd, KWOK, Kueue and JobSet are promoted in the same way.
		{"registry.k8s.io/", "krel-trust@k8s-releng-prod.iam.gserviceaccount.com", false, "https://accounts.google.com"},
		// https://argo-cd.readthedocs.io/en/stable/operator-manual/signed-release-assets
		{"quay.io/argoproj/argocd:", `^https://github\.com/argoproj/argo-cd/\.github/workflows/image-reuse\.yaml@refs/tags/v`, true, github},
		// https://fluxcd.io/flux/security/#signed-container-images
		{"ghcr.io/fluxcd/", `^https://github\.com/fluxcd/.*$`, true, github},
	}
}

// signerOf is who signs an image; nil if its maker signs none, or none keylessly.
func signerOf(image string) *signer {
	all := signers()
	if i := slices.IndexFunc(all, func(s signer) bool { return strings.HasPrefix(image, s.images) }); i >= 0 {
		return &all[i]
	}
	return nil
}

// unsignedError is an image whose signature could not be verified: nothing else may come in its place.
type unsignedError struct{ error }

func (e unsignedError) Unwrap() error { return e.error }

// CheckCosign says what to do if signatures are to be verified, and nothing here can.
func CheckCosign() error {
	if _, err := exec.LookPath(cosignProgram); err != nil {
		return fmt.Errorf("%w: install cosign 2 or newer (https://docs.sigstore.dev/cosign/system_config/installation; in a workflow: uses: sigstore/cosign-installer), or leave --verify-signatures out", err)
	}
	return nil
}

// verify has cosign look for the maker's signature of an image. It returns the identity, which is empty if the maker
// signs none. Makers sign an index as a whole, so that this is asked of what the tag names.
func (o *Origin) verify(ctx context.Context, ref string, image *remoteImage, options []remote.Option) (identity string, err error) {
	tag, pinned, _ := strings.Cut(ref, "@")
	by := signerOf(tag)
	if !o.VerifySignatures || by == nil {
		return "", nil
	}
	digest := image.whole
	if pinned != "" {
		if digest, err = o.indexWith(tag, pinned, options); err != nil {
			return "", unsignedError{err}
		}
	}
	at, err := o.reference(tag)
	if err != nil {
		return "", err
	}
	identityFlag := "--certificate-identity"
	if by.pattern {
		identityFlag += "-regexp"
	}
	ctx, cancel := context.WithTimeoutCause(ctx, signatureBudget, fmt.Errorf("cosign did not end within %s", signatureBudget))
	defer cancel()
	signed := at.Context().Name() + "@" + digest
	if _, err := host.RunCommand(ctx, "", nil, cosignProgram, "verify", identityFlag, by.identity, "--certificate-oidc-issuer", by.issuer, signed); err != nil {
		return "", unsignedError{fmt.Errorf("%w\nnothing of it was unpacked. Ask its maker, or use --stack %s, which compiles it", err, sourceModules)}
	}
	return by.identity, nil
}

// indexWith is the digest of what a tag names, which has to have the image of a digest.
func (o *Origin) indexWith(tag, digest string, options []remote.Option) (string, error) {
	at, err := o.reference(tag)
	if err != nil {
		return "", err
	}
	found, err := remote.Get(at, options...)
	if err != nil {
		return "", err
	}
	whole := found.Digest.String()
	if whole == digest || !found.MediaType.IsIndex() {
		return digest, nil
	}
	index, err := found.ImageIndex()
	if err != nil {
		return "", err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return "", err
	}
	for _, m := range manifest.Manifests {
		if m.Digest.String() == digest {
			return whole, nil
		}
	}
	return "", fmt.Errorf("the tag %s has no image %s any more, which images.lock pins, so that its signature cannot be found; run `matrix stack lock`", tag, digest)
}
