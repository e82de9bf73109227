package stack

// probe.go finds out which registries answer at all, before anything waits for one.

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/nvidia/aicr-action/internal/util/egress"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// probeTime is how long a registry may take to say that it is there.
const probeTime = 3 * time.Second

// host is the registry that an image is asked of.
func (o *Origin) host(p *published) string {
	ref, err := o.reference(p.ref)
	if err != nil {
		return ""
	}
	return ref.Context().RegistryStr()
}

// reference is where an image is pulled from.
func (o *Origin) reference(image string) (name.Reference, error) {
	if o.Mirror == "" {
		return name.ParseReference(image)
	}
	ref, err := name.ParseReference(image)
	if err != nil {
		return nil, err
	}
	at := o.Mirror + "/" + ref.Context().Name()
	if _, digest, ok := strings.Cut(image, "@"); ok {
		return name.NewDigest(at + "@" + digest)
	}
	return name.NewTag(at + ":" + ref.Identifier())
}

// ask finds out which registries of these images answer, each once.
func (o *Origin) ask(ctx context.Context, images []*published) {
	var asking sync.WaitGroup
	for _, host := range lists.Unique(hosts(o, images)) {
		o.mu.Lock()
		_, known := o.answers[host]
		o.mu.Unlock()
		if known {
			continue
		}
		asking.Go(func() {
			silent := silence(ctx, host)
			o.mu.Lock()
			defer o.mu.Unlock()
			if o.answers == nil {
				o.answers = map[string]string{}
			}
			o.answers[host] = silent
		})
	}
	asking.Wait()
}

func hosts(o *Origin, images []*published) []string {
	var all []string
	for _, p := range images {
		all = append(all, o.host(p))
	}
	return all
}

func (o *Origin) answer(p *published) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.answers[o.host(p)]
}

// silence says why a registry does not answer; empty if it does, whatever it says.
func silence(ctx context.Context, host string) string {
	registry, err := name.NewRegistry(host)
	if err != nil {
		return err.Error()
	}
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, registry.Scheme()+"://"+registry.RegistryStr()+"/v2/", nil)
	if err != nil {
		return err.Error()
	}
	transport := egress.NewTransport(os.Getenv, nil) // the lock or the user names it
	defer transport.CloseIdleConnections()
	answer, err := transport.RoundTrip(request)
	switch {
	case ctx.Err() != nil:
		return fmt.Sprintf("%s did not answer within %s", host, probeTime)
	case err != nil:
		return fmt.Sprintf("%s cannot be reached (%v)", host, err)
	}
	_ = answer.Body.Close()
	return ""
}
