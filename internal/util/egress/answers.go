package egress

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// Limits of what a registry may say besides the content that it keeps. A manifest that is read takes
// about 60 times its bytes of memory, and a list of tags may have pages without end.
const (
	mostManifest = 4 << 20 // what registries take, too
	mostSaid     = 32 << 20
)

// Answers limits what a registry says: each manifest to mostManifest, and all that is no content
// (manifests, lists of tags, tokens, errors) to a sum. What asks for content must know its size. One
// is for one image or chart. It is safe for concurrent use.
type Answers struct {
	Base http.RoundTripper

	mu   sync.Mutex
	said int64
}

// RoundTrip asks, and limits the answer.
func (a *Answers) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := a.Base.RoundTrip(r)
	if err != nil || r.Method == http.MethodHead {
		return resp, err
	}
	asked := r.URL // before all redirects
	for from := r.Response; from != nil && from.Request != nil; from = from.Request.Response {
		asked = from.Request.URL
	}
	if strings.Contains(asked.Path, "/blobs/") && resp.StatusCode < http.StatusBadRequest {
		return resp, nil
	}
	body := &limitedBody{ReadCloser: resp.Body, of: a, host: asked.Host, most: mostSaid, what: "in answers besides the content"}
	if strings.Contains(asked.Path, "/manifests/") {
		body.most, body.what = mostManifest, "for a manifest"
	}
	if resp.ContentLength > body.most {
		_ = resp.Body.Close()
		return nil, body.tooMuch()
	}
	resp.Body = body
	return resp, nil
}

// limitedBody is an answer that ends with an error where there is too much of it.
type limitedBody struct {
	io.ReadCloser
	of         *Answers
	host, what string
	read, most int64
}

func (b *limitedBody) tooMuch() error {
	return fmt.Errorf("%s sends more than %d MiB %s, and no registry needs as much", b.host, b.most>>20, b.what)
}

func (b *limitedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.read += int64(n)
	b.of.mu.Lock()
	b.of.said += int64(n)
	said := b.of.said
	b.of.mu.Unlock()
	if said > mostSaid {
		b.most, b.what = mostSaid, "in answers besides the content"
		return 0, b.tooMuch()
	}
	if b.read > b.most {
		return 0, b.tooMuch()
	}
	return n, err
}
