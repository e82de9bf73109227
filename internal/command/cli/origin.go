package cli

import (
	"errors"
	"path/filepath"
	"strings"

	ociname "github.com/google/go-containerregistry/pkg/name"

	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/filesys"
	"github.com/nvidia/aicr-action/kwok"
)

// stackFlag is the flag that says where programs of the stack come from.
const stackFlag = "stack"

// VerifySignaturesFlag is the flag that has cosign verify images of makers that sign theirs.
const VerifySignaturesFlag = "verify-signatures"

// maxImagesLock is the largest list of images that is read, in bytes.
const maxImagesLock = 1 << 20

// openOrigin says where programs come from that are not in the cache.
func (a *App) openOrigin() error {
	source, err := stack.ParseSource(FirstOf(a.StackSource, a.Getenv("AICR_ACTION_STACK")))
	if err != nil {
		return Usagef("--%s %w", stackFlag, err)
	}
	raw, name := kwok.ImagesLock, "kwok/stack/images.lock"
	if file := a.Getenv("AICR_ACTION_STACK_LOCK"); file != "" {
		if raw, err = filesys.File(file, maxImagesLock); err != nil {
			return reason.New(reason.SettingsInvalid, "read the list of images (AICR_ACTION_STACK_LOCK): %w", err)
		}
		name = file
	}
	lock, err := stack.ParseImagesLock(raw, name)
	if err != nil {
		return err
	}
	mirror := strings.TrimSuffix(a.Getenv("AICR_ACTION_STACK_MIRROR"), "/")
	if mirror != "" {
		_, err := ociname.NewRepository(mirror + "/registry.k8s.io/etcd")
		if strings.Contains(mirror, "://") {
			err = errors.New("it has a scheme")
		}
		if err != nil {
			return Usagef("AICR_ACTION_STACK_MIRROR=%.200q: want a registry, HOST[:PORT][/PATH]: %w", mirror, err)
		}
	}
	if a.VerifySignatures {
		if err := stack.CheckCosign(); err != nil {
			return Usagef("--%s: %w", VerifySignaturesFlag, err)
		}
	}
	a.Origin = &stack.Origin{
		Source: source, Lock: lock, Mirror: mirror, AllowUnpinned: a.AllowUnpinned, VerifySignatures: a.VerifySignatures,
		Dir: filepath.Join(a.Paths.Stack(), "images"), Manifests: kwok.Files,
	}
	a.UseOrigin(a.Origin)
	return nil
}

// UseOrigin has all programs that are not in the cache come from there.
func (a *App) UseOrigin(o *stack.Origin) {
	for _, s := range append([]*stack.Stack{a.Stack, a.Helmfile, a.Karpenter}, a.Operators...) { // the schedulers are among the operators
		s.From(o)
	}
}
