package stack

// relock.go writes the list of images anew: for the versions of the parts lists, by what the makers'
// registries say, after each program was looked for in each image.

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// Relock returns the lock of the origin for the versions that these stacks have, with the digests of
// today's images. Every image is pulled as far as its programs need, and every program is checked, for
// each platform. Reason: STACK_BUILD_FAILED, with all that is wrong.
func (o *Origin) Relock(ctx context.Context, progress infra.Progress, stacks ...*Stack) (*ImagesLock, error) {
	var renewed ImagesLock
	for _, s := range stacks {
		if s.kubernetes != nil {
			s = s.kubernetes
		}
		for _, g := range s.groups {
			for _, p := range g.Parts() {
				renewed.Programs = append(renewed.Programs, o.Lock.renew(p, s.versions[p.Module])...)
			}
		}
	}
	for _, p := range o.Lock.Programs {
		if p.In != "" {
			renewed.Programs = append(renewed.Programs, p)
		}
	}
	if err := renewed.check(); err != nil {
		return nil, reason.New(reason.StackBuildFailed, "write %s: %w", lockName, err)
	}
	var failed []error
	for i := range renewed.Programs {
		p := &renewed.Programs[i]
		if p.In != "" {
			continue
		}
		for _, platform := range lockedPlatforms() {
			digest, err := o.pin(ctx, progress, &renewed, p, platform)
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			if err != nil {
				failed = append(failed, fmt.Errorf("%s for %s: %w", p.Image, platform, err))
				continue
			}
			if p.Digests == nil {
				p.Digests = map[string]string{}
			}
			p.Digests[platform] = digest
		}
	}
	if err := errors.Join(failed...); err != nil {
		return nil, reason.New(reason.StackBuildFailed, "write %s: %w", lockName, err)
	}
	return &renewed, nil
}

// renew is the entry of a program for a version, made of one of any version; none if the lock has none.
func (l *ImagesLock) renew(p Part, version string) []LockedProgram {
	for _, old := range l.Programs {
		if old.Program != p.Name || old.In != "" {
			continue
		}
		at := strings.LastIndex(old.Image, ":")
		tag := strings.Replace(old.Image[at:], strings.TrimPrefix(old.Version, "v"), strings.TrimPrefix(version, "v"), 1)
		return []LockedProgram{{Program: p.Name, Version: version, Image: old.Image[:at] + tag, Path: old.Path}}
	}
	return nil
}

// pin is the digest that an image has for a platform today, if its programs are there and run by
// themselves.
func (o *Origin) pin(ctx context.Context, progress infra.Progress, l *ImagesLock, p *LockedProgram, platform string) (digest string, err error) {
	task := progress.Begin(fmt.Sprintf("Looking into %s for %s", p.Image, platform))
	defer func() { task.End("", err) }()
	tmp, err := os.MkdirTemp("", "images-lock-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(tmp) }() // programs were looked at
	image, err := o.open(ctx, p.Image, platform, tmp, task)
	if err != nil {
		return "", o.missing(ctx, p.Image, err)
	}
	defer image.close()
	for _, each := range l.Programs {
		shared := ""
		if each.In == p.Program {
			shared = p.Program
		} else if each.Program != p.Program || each.Image != p.Image {
			continue
		}
		of := &published{part: partNamed(each.Program), ref: p.Image, path: each.Path, shared: shared}
		if err := image.extract(ctx, of, filepath.Join(tmp, each.Program)); err != nil {
			return "", err
		}
	}
	_, digest, _ = strings.Cut(image.name, "@")
	return digest, nil
}

// missing adds to the error of an image that is not pinned and does not exist the nearest ones that do.
func (o *Origin) missing(ctx context.Context, image string, err error) error {
	var answer *transport.Error
	if !errors.As(err, &answer) || answer.StatusCode != http.StatusNotFound {
		return err
	}
	ref, parsing := o.reference(image)
	if parsing != nil {
		return err
	}
	tag, ok := ref.(name.Tag)
	if !ok {
		return err
	}
	tags, listing := remote.List(tag.Repository, remote.WithContext(ctx))
	if listing != nil {
		return err
	}
	if near := lists.Nearest(tag.TagStr(), tags); near != "" {
		return fmt.Errorf("there is no version %s; the nearest is %s: %w", tag.TagStr(), near, err)
	}
	slices.Sort(tags)
	return fmt.Errorf("there is no version %s; there are %s: %w", tag.TagStr(), strings.Join(lists.AtMost(tags, 10), ", "), err)
}
