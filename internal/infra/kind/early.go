package kind

import (
	"context"
	"slices"
	"time"

	"sigs.k8s.io/kind/pkg/cluster/nodes"

	"github.com/nvidia/aicr-action/internal/util/wait"
)

// early is a copy of images into the node, from before anything asked for them.
type early struct {
	images []string
	done   chan struct{}
	err    error // once done is closed
}

// copyEarly copies the images of this cell into the node, first those that every cell needs. It
// runs while kubeadm starts the control plane in the node, which mostly waits. loadImages waits for
// the images, and returns the error.
func (c *cluster) copyEarly(ctx context.Context) error {
	base, err := baseObjects(c.platform.RegistryImage, c.platform.Stages)
	if err != nil {
		return err
	}
	c.early = []*early{{images: append(imagesOf(base), c.platform.jobImages()...), done: make(chan struct{})}}
	for _, kind := range c.spec.Controllers {
		objs, err := controllerObjects(kind)
		if err != nil {
			return err
		}
		if images := c.notEarly(imagesOf(objs)); len(images) > 0 {
			c.early = append(c.early, &early{images: images, done: make(chan struct{})})
		}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	c.endCopies = func() { cancel(); <-ended }
	go func() {
		defer close(ended)
		node, err := c.startedNode(ctx)
		for _, e := range c.early {
			if err == nil {
				err = c.platform.Engine.intoNode(ctx, node, e.images)
			}
			e.err = err // the later ones have that of an earlier one
			close(e.done)
		}
	}()
	return nil
}

// startedNode waits for the node's containerd, as long as kind may still be about to start it.
func (c *cluster) startedNode(ctx context.Context) (nodes.Node, error) {
	var node nodes.Node
	err := wait.For(ctx, "containerd in the node of Kind cluster "+c.Name(), wait.Options{Budget: 10 * time.Minute, Interval: 250 * time.Millisecond}, func(ctx context.Context) wait.Result {
		over := false
		select {
		case <-c.created:
			over = true
		default:
		}
		var err error
		if node, err = c.findNode(); err == nil {
			_, err = c.platform.Engine.inNode(ctx, node.String(), "ctr", "version")
		}
		switch {
		case err == nil:
			return wait.Done()
		case over:
			return wait.Never(err)
		}
		return wait.NotYet("%v", err)
	})
	return node, err
}

// notEarly are the images that no early copy has.
func (c *cluster) notEarly(images []string) []string {
	return slices.DeleteFunc(slices.Clone(images), func(image string) bool {
		return slices.ContainsFunc(c.early, func(e *early) bool { return slices.Contains(e.images, image) })
	})
}

// loadImages has images in the node: it waits for those that are on their way, and copies the
// others. Reasons: IMAGE_MISSING, NO_SPACE.
func (c *cluster) loadImages(ctx context.Context, images []string) error {
	for _, e := range c.early {
		if !slices.ContainsFunc(images, func(image string) bool { return slices.Contains(e.images, image) }) {
			continue
		}
		select {
		case <-e.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if e.err != nil {
			return imageError(e.err, "%w", e.err)
		}
	}
	if err := c.platform.Engine.intoNode(ctx, c.node, c.notEarly(images)); err != nil {
		return imageError(err, "%w", err)
	}
	return nil
}

// stopCopies ends early copies that nothing waits for any more.
func (c *cluster) stopCopies() {
	if c.endCopies != nil {
		c.endCopies()
	}
}
