package stack

// pull.go gets missing programs out of their makers' images and keeps them, each with a file that says
// where it is from.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/filesys"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// atATime is how many images are pulled side by side.
const atATime = 4

// pull gets what can be had of missing parts from images, and returns what is left to compile. With
// sourceAuto an image that cannot be had is no error, but a full disk is: it would be full for a
// compiler, too.
func (s *Stack) pull(ctx context.Context, progress infra.Progress, missing []Part) ([]Part, error) {
	o := s.origin
	if o == nil || o.Source == sourceModules || len(missing) == 0 {
		return missing, nil
	}
	if o.Source == sourceArchive {
		return nil, reason.New(reason.StackBuildFailed, "--stack %s: %s lacks %s; run `matrix stack install FILE`, or use --stack %s", sourceArchive, s.Dir, missing[0].Name, sourceAuto)
	}
	images, err := s.choose(ctx, progress, missing)
	if err != nil || len(images) == 0 {
		return missing, err
	}
	var refs []string
	of := map[string][]*published{}
	for _, p := range images {
		refs = append(refs, p.ref)
		of[p.ref] = append(of[p.ref], p)
	}
	refs = lists.Unique(refs)
	failed := make([]error, len(refs))
	var pulling sync.WaitGroup
	free := make(chan struct{}, atATime)
	for i, ref := range refs {
		pulling.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			failed[i] = o.keep(ctx, progress, ref, of[ref], o.Source == sourceImages || s.chosen(of[ref][0]))
		})
	}
	pulling.Wait()
	if err := errors.Join(failed...); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(missing), func(p Part) bool {
		_, err := os.Stat(s.program(p.Name))
		return err == nil
	}), nil
}

// keep pulls the programs of an image; only is whether nothing else will do. Reasons: STACK_BUILD_FAILED, NO_SPACE.
func (o *Origin) keep(ctx context.Context, progress infra.Progress, ref string, programs []*published, only bool) error {
	var names []string
	for _, p := range programs {
		names = append(names, p.part.Name)
	}
	short, _, _ := strings.Cut(ref, "@")
	task := progress.Begin(fmt.Sprintf("Pulling %s from %s", strings.Join(names, ", "), short))
	size, signedBy, err := o.get(ctx, ref, programs, task)
	if err != nil {
		err = o.missing(ctx, ref, err)
	}
	if err == nil {
		said := fmt.Sprintf("%d MiB", size>>20)
		switch {
		case signedBy != "":
			said += ", signed by " + signedBy
		case o.VerifySignatures:
			said += ", which its maker does not sign"
		}
		task.End(said, nil)
		return nil
	}
	full := infra.DiskReason(err, reason.StackBuildFailed)
	err = fmt.Errorf("pull %s from %s: %w", strings.Join(names, ", "), short, err)
	switch {
	case ctx.Err() != nil:
		err = fmt.Errorf("pull %s: %w", short, context.Cause(ctx))
	case full == reason.NoSpace, only, errors.As(err, new(unsignedError)):
		err = reason.Wrap(full, err)
	default:
		for _, p := range programs {
			o.fail(p, err.Error())
		}
		task.End("compiled instead: "+err.Error(), err)
		return nil
	}
	task.End("", err)
	return err
}

// get pulls programs into their places, all or none. It returns how much was downloaded, in bytes, and whose signature
// was verified.
func (o *Origin) get(ctx context.Context, ref string, programs []*published, task infra.Task) (size int64, signedBy string, err error) {
	started := time.Now()
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return 0, "", err
	}
	o.removeLeft()
	tmp, err := os.MkdirTemp(o.Dir, unfinished)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = os.RemoveAll(tmp) }() // programs are in their places, or of no use
	image, err := o.open(ctx, ref, platform(), tmp, task)
	if err != nil {
		return 0, "", err
	}
	defer image.close()
	for _, p := range programs {
		if err := image.extract(ctx, p, filepath.Join(tmp, p.part.Name)); err != nil {
			return 0, "", err
		}
	}
	for _, p := range programs {
		place := o.pulled(p)
		r := Pulled{Image: image.name, Path: p.path, Pinned: p.pinned(), Seconds: time.Since(started).Seconds(), Shared: p.shared, SignedBy: image.signedBy}
		raw, err := json.MarshalIndent(r, "", "  ")
		if err == nil {
			err = os.MkdirAll(filepath.Dir(place), 0o755)
		}
		if err == nil {
			err = filesys.WriteFile(place+recordSuffix, raw, 0o644)
		}
		if err == nil { // last: what has its name is whole
			err = os.Rename(filepath.Join(tmp, p.part.Name), place)
		}
		if err != nil {
			return 0, "", err
		}
	}
	return image.size, image.signedBy, nil
}

// unfinished begins the names of directories of images that are being pulled.
const unfinished = ".pulling-"

// removeLeft removes what processes have left that were killed. What is in the way then is no reason
// not to go on.
func (o *Origin) removeLeft() {
	all, err := filepath.Glob(filepath.Join(o.Dir, unfinished+"*"))
	if err != nil {
		return
	}
	for _, dir := range all {
		if info, err := os.Lstat(dir); err == nil && time.Since(info.ModTime()) > 2*imageBudget {
			_ = filesys.RemoveTree(dir)
		}
	}
}
