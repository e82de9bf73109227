package egress

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// What a registry says besides its content is limited, each manifest and all together, whether it says
// before how much it is or not; the content is not, also where another host has it.
func TestAnswers(t *testing.T) {
	piece := strings.Repeat(" ", 1<<20)
	var s *httptest.Server
	s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v2/x/blobs/moved" {
			http.Redirect(w, r, s.URL+"/elsewhere", http.StatusFound)
			return
		}
		if r.URL.Query().Has("length") {
			w.Header().Set("Content-Length", "5242880")
		}
		for range 5 {
			if _, err := io.WriteString(w, piece); err != nil {
				return
			}
		}
	}))
	defer s.Close()
	for _, c := range []struct {
		paths []string
		want  string // of the last one's error
	}{
		{[]string{"/v2/x/manifests/1"}, "sends more than 4 MiB for a manifest"},
		{[]string{"/v2/x/manifests/1?length"}, "sends more than 4 MiB for a manifest"},
		{[]string{"/v2/x/tags/list"}, ""},
		{[]string{"/v2/x/tags/list", "/token", "/v2/x/tags/list", "/v2/x/tags/list", "/v2/x/tags/list", "/v2/x/tags/list", "/v2/x/tags/list"}, "sends more than 32 MiB in answers besides the content"},
		{[]string{"/v2/x/blobs/a", "/v2/x/blobs/a", "/v2/x/blobs/moved", "/v2/x/blobs/moved", "/v2/x/blobs/a", "/v2/x/blobs/a", "/v2/x/blobs/a", "/v2/x/blobs/moved"}, ""},
		{[]string{"/elsewhere", "/elsewhere", "/elsewhere", "/elsewhere", "/elsewhere", "/elsewhere", "/elsewhere"}, "sends more than 32 MiB"},
	} {
		client := &http.Client{Transport: &Answers{Base: NewTransport(func(string) string { return "" }, nil)}}
		for i, path := range c.paths {
			resp, err := client.Get(s.URL + path)
			if err == nil {
				_, err = io.Copy(io.Discard, resp.Body)
				if err := resp.Body.Close(); err != nil {
					t.Error(err)
				}
			}
			want := ""
			if i == len(c.paths)-1 {
				want = c.want
			}
			if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("%d of %q: got %v, want %q", i, c.paths, err, want)
			}
		}
	}
}
