package workload

import (
	"github.com/distribution/reference"

	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var imageName = judge.Check{
	ID: "MX130", Name: "image-name-refused", Needs: judge.Rendered, Gives: reason.WorkloadFailed,
	Title: "The image of a container or a volume has a name that is one",
	Why: "A kubelet parses an image's name before it pulls it, with the library that is asked here (https://github.com/distribution/reference). The API server takes any text: " +
		"an empty tag, capitals, a space.",
	Fix:  "Correct the name; an empty tag mostly comes from a value that is not set.",
	Says: "container %s has the image %q, which is no name of an image (%v)", Then: "a kubelet never starts it (InvalidImageName)",
	Others: map[string]judge.Message{
		"volume": {Says: "has volume %s of image %q, which is no name of an image (%v)", Then: "a kubelet starts none of its containers (InvalidImageName)"},
	},
	Run: func(s *judge.Scope) {
		for _, p := range s.Pods() {
			parse := func(message, path, of, image string) {
				if image == "" {
					return // the API server rejects it
				}
				if _, err := reference.ParseNormalizedNamed(image); err != nil {
					s.ReportAs(message, p.Object, path, of, image, err).OneOfTemplate()
				}
			}
			for _, c := range p.Containers() {
				parse("", c.Path+".image", c.Name, c.Image)
			}
			for i, v := range facts.MountedVolumes(&p.Template.Spec) {
				if v.Image != nil {
					parse("volume", volumePath(p, i)+".image.reference", v.Name, v.Image.Reference)
				}
			}
		}
	},
}
