package kind

import (
	"archive/tar"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kind/pkg/cluster/nodes"
	"sigs.k8s.io/kind/pkg/cluster/nodeutils"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// Images are those that the clusters of cells with these controllers need, the node image first:
// the images of the objects as they are applied, each once.
func (p *Platform) Images(controllers ...infra.ControllerKind) ([]string, error) {
	inside, err := p.inside(controllers...)
	if err != nil {
		return nil, err
	}
	for i, image := range inside {
		if image == untilDigest(p.RegistryImage) {
			inside[i] = p.RegistryImage // pods name it without the digest, which an image that was copied into a node does not have
		}
	}
	return append([]string{p.NodeImage}, inside...), nil
}

// inside are the images of pods in the cluster.
func (p *Platform) inside(controllers ...infra.ControllerKind) ([]string, error) {
	objs, err := baseObjects(p.RegistryImage, p.Stages)
	if err != nil {
		return nil, err
	}
	for _, kind := range controllers {
		more, err := controllerObjects(kind)
		if err != nil {
			return nil, err
		}
		objs = append(objs, more...)
	}
	all := append(imagesOf(objs), p.jobImages()...)
	slices.Sort(all)
	return slices.Compact(all), nil
}

// jobImages are those of HostJobs, each once.
func (p *Platform) jobImages() []string {
	var all []string
	for _, j := range p.HostJobs {
		all = append(all, j.Image)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// imagesOf are the images of pod templates, sorted.
func imagesOf(objs []*unstructured.Unstructured) []string {
	var all []string
	for _, o := range objs {
		for _, c := range containers(o) {
			if image, _ := c["image"].(string); image != "" && !slices.Contains(all, image) {
				all = append(all, image)
			}
		}
	}
	slices.Sort(all)
	return all
}

// EnsureImages makes sure that the engine has the images: it loads the archive, if there is one, or
// else pulls what is missing. Reasons: IMAGE_MISSING, NO_SPACE.
func (e *Engine) EnsureImages(ctx context.Context, progress infra.Progress, archive string, images []string) error {
	missing := e.missing(ctx, images)
	if len(missing) == 0 {
		return nil
	}
	if archive != "" {
		return e.LoadImages(ctx, progress, archive, missing)
	}
	for _, image := range missing {
		task := begin(progress, "Pulling "+image)
		_, err := e.Run(ctx, "pull", "--quiet", image)
		if tag := untilDigest(image); err == nil && tag != image { // Docker gives an image that was pulled by its digest no tag
			_, err = e.Run(ctx, "tag", image, tag)
		}
		task.End("", err)
		if err != nil {
			return imageError(err, "pull image %s: %w\nwithout a network, load an archive: matrix images save FILE where there is one, and --kind-images FILE here", image, err)
		}
	}
	return nil
}

// missing are those that the engine does not have. One that it has by name and tag only was loaded
// from an archive, which keeps no digests; it is taken as it is.
func (e *Engine) missing(ctx context.Context, images []string) []string {
	var missing []string
	for _, image := range images {
		if !e.has(ctx, image) && !e.has(ctx, untilDigest(image)) {
			missing = append(missing, image)
		}
	}
	return missing
}

func (e *Engine) has(ctx context.Context, image string) bool {
	_, err := e.Run(ctx, "image", "inspect", "--format", "{{.Id}}", image)
	return err == nil
}

// LoadImages loads an archive into the engine. It must have all of these images, or nothing is
// loaded. Reasons: IMAGE_MISSING, NO_SPACE.
func (e *Engine) LoadImages(ctx context.Context, progress infra.Progress, archive string, images []string) error {
	have, err := archiveImages(archive)
	if err != nil {
		return reason.New(reason.ImageMissing, "read the images in %s: %w", archive, err)
	}
	var lacking []string
	for _, image := range images {
		if !slices.Contains(have, familiar(image)) {
			lacking = append(lacking, image)
		}
	}
	if len(lacking) > 0 {
		return reason.New(reason.ImageMissing, "%s does not have %s. It has: %s. Make it again with this version: matrix images save FILE", archive, strings.Join(lacking, ", "), cmp.Or(strings.Join(have, ", "), "none"))
	}
	task := begin(progress, "Loading images from "+archive)
	_, err = e.Run(ctx, "load", "--quiet", "--input", archive)
	task.End("", err)
	if err != nil {
		return imageError(err, "load %s into Docker: %w", archive, err)
	}
	if still := e.missing(ctx, images); len(still) > 0 {
		return reason.New(reason.ImageMissing, "%s was loaded, and Docker does not know %s: the archive may be of another architecture", archive, strings.Join(still, ", "))
	}
	return nil
}

// SaveImages writes an archive with the images, which must be in the engine. Reasons:
// IMAGE_MISSING, NO_SPACE.
func (e *Engine) SaveImages(ctx context.Context, progress infra.Progress, archive string, images []string) error {
	task := begin(progress, "Writing "+archive)
	_, err := e.Run(ctx, append([]string{"save", "--output", archive}, withTags(images)...)...)
	task.End("", err)
	if err != nil {
		return imageError(errors.Join(err, os.RemoveAll(archive)), "write %s: %w", archive, err)
	}
	return nil
}

// withTags leaves the digest out of names that have a tag too: `docker save` of NAME:TAG@DIGEST
// writes an archive without names.
func withTags(images []string) []string {
	var all []string
	for _, image := range images {
		all = append(all, untilDigest(image))
	}
	return all
}

func untilDigest(image string) string {
	name, _, digest := strings.Cut(image, "@")
	if last := name[strings.LastIndex(name, "/")+1:]; digest && strings.Contains(last, ":") {
		return name
	}
	return image
}

// familiar is an image's name as Docker writes it: without the digest, and without the registry and
// the namespace that are the default.
func familiar(image string) string {
	return strings.TrimPrefix(strings.TrimPrefix(untilDigest(image), "docker.io/"), "library/")
}

func imageError(err error, format string, args ...any) error {
	if strings.Contains(err.Error(), "no space left on device") {
		return reason.New(reason.NoSpace, format, args...)
	}
	return reason.Wrap(reason.ImageMissing, fmt.Errorf(format, args...))
}

// maxManifest is the largest manifest.json of an archive that is read, in bytes.
const maxManifest = 16 << 20

// archiveImages are the names of the images in a file that `docker save` wrote.
func archiveImages(file string) ([]string, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	for r := tar.NewReader(f); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil, errors.New("it has no manifest.json: want a file that `matrix images save` or `docker save` wrote")
		}
		if err != nil {
			return nil, fmt.Errorf("want a file that `matrix images save` or `docker save` wrote: %w", err)
		}
		if header.Name != "manifest.json" {
			continue
		}
		raw, err := io.ReadAll(io.LimitReader(r, maxManifest))
		if err != nil {
			return nil, err
		}
		var manifests []struct{ RepoTags []string }
		if err := json.Unmarshal(raw, &manifests); err != nil {
			return nil, fmt.Errorf("read its manifest.json: %w", err)
		}
		var names []string
		for _, m := range manifests {
			for _, tag := range m.RepoTags {
				names = append(names, familiar(tag))
			}
		}
		slices.Sort(names)
		return names, nil
	}
}

// intoNode copies images from the engine into a node, where the kubelet finds them.
func (e *Engine) intoNode(ctx context.Context, node nodes.Node, images []string) error {
	if len(images) == 0 {
		return nil
	}
	r, w := io.Pipe()
	saved := make(chan error, 1)
	go func() {
		err := e.Stream(ctx, w, append([]string{"save"}, withTags(images)...)...)
		w.CloseWithError(err)
		saved <- err
	}()
	loaded := nodeutils.LoadImageArchive(node, r)
	_ = r.CloseWithError(errors.New("the node has ended the transfer"))
	err := <-saved
	if loaded != nil { // what docker save says then is about the broken pipe
		err = kindError(loaded)
	}
	if err != nil {
		return fmt.Errorf("copy images into node %s: %w", node, err)
	}
	return nil
}

func begin(p infra.Progress, what string) infra.Task {
	if p == nil {
		return silentTask{}
	}
	return p.Begin(what)
}

type silentTask struct{}

func (silentTask) Update(string)     {}
func (silentTask) End(string, error) {}
