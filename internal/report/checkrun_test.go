package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

const commit = "0123456789012345678901234567890123456789"

// request is what the fake was asked.
type request struct {
	Method, Path, Token string
	Body                map[string]any
}

// fakeGitHub is a fake of the part of GitHub's API that has Check Runs, in the test's own process. It
// holds requests against the documented limits.
type fakeGitHub struct {
	mu       sync.Mutex
	requests []request
	status   int // of answers; 0 for success
	message  string
}

func (f *fakeGitHub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	raw, err := io.ReadAll(r.Body)
	got := request{Method: r.Method, Path: r.URL.Path, Token: r.Header.Get("Authorization")}
	if err := errors.Join(err, json.Unmarshal(raw, &got.Body)); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	f.requests = append(f.requests, got)
	output, _ := got.Body["output"].(map[string]any)
	annotations, _ := output["annotations"].([]any)
	switch {
	case f.status != 0:
		w.WriteHeader(f.status)
		_, _ = fmt.Fprintf(w, `{"message":%q}`, f.message)
	case len(annotations) > 50 || output["title"] == nil || len([]rune(output["summary"].(string))) > 65535:
		http.Error(w, `{"message":"Invalid request."}`, http.StatusUnprocessableEntity)
	default:
		_, _ = io.WriteString(w, `{"id":12,"html_url":"https://github.com/o/r/runs/12"}`)
	}
}

func annotations(n int) []CheckRunAnnotation {
	var all []CheckRunAnnotation
	for i := range n {
		all = append(all, CheckRunAnnotation{File: "recipes/a.yaml", Line: i + 1, Title: "SCHEDULING_FAILED", Message: "no node"})
	}
	return all
}

// A Check Run has all annotations, of which one request takes 50.
func TestWrite(t *testing.T) {
	for n, want := range map[int][]int{0: {0}, 1: {1}, 50: {50}, 51: {50, 1}, 120: {50, 50, 20}} {
		fake := &fakeGitHub{}
		server := httptest.NewServer(fake)
		api := CheckRunAPI{URL: server.URL, Repository: "o/r", Token: "t"}
		page, err := api.Write(t.Context(), CheckRun{Name: "recipes", Commit: commit, Conclusion: "failure", Title: "1 of 4 cells failed", Summary: strings.Repeat("é", 70_000), Details: "https://example.com/run", Annotations: annotations(n)})
		server.Close()
		if err != nil || page != "https://github.com/o/r/runs/12" {
			t.Errorf("%d annotations: got %q, %v", n, page, err)
			continue
		}
		var got []int
		next := 1
		for i, r := range fake.requests {
			method, path := http.MethodPatch, "/repos/o/r/check-runs/12"
			if i == 0 {
				method, path = http.MethodPost, "/repos/o/r/check-runs"
			}
			list := r.Body["output"].(map[string]any)["annotations"].([]any)
			for _, a := range list {
				if line := a.(map[string]any)["start_line"]; line != float64(next) {
					t.Errorf("%d annotations: line %v, want %d", n, line, next)
				}
				next++
			}
			if got = append(got, len(list)); r.Method != method || r.Path != path || r.Token != "Bearer t" {
				t.Errorf("%d annotations: request %d is %s %s with %s", n, i, r.Method, r.Path, r.Token)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%d annotations: requests with %v, want %v", n, got, want)
		}
		first := fake.requests[0].Body
		for key, want := range map[string]string{"name": "recipes", "head_sha": commit, "status": "completed", "conclusion": "failure", "details_url": "https://example.com/run"} {
			if first[key] != want {
				t.Errorf("%s: got %v, want %s", key, first[key], want)
			}
		}
	}
}

// The token of a pull request from a fork may not write, which is no failure; anything else is.
func TestWrite_Refused(t *testing.T) {
	for name, test := range map[string]struct {
		status  int
		message string
		denied  bool
		want    string
	}{
		"a fork":         {403, "Resource not accessible by integration", true, "checks: write"},
		"hidden":         {404, "Not Found", true, "404 Not Found"},
		"a wrong token":  {401, "Bad credentials", true, "401 Bad credentials"},
		"too many":       {403, "You have exceeded a secondary rate limit.", false, "rate limit"},
		"out of order":   {503, "", false, "GitHub answers 503"},
		"another server": {302, "", false, "GitHub answers 302"},
	} {
		fake := &fakeGitHub{status: test.status, message: test.message}
		server := httptest.NewServer(fake)
		_, err := CheckRunAPI{URL: server.URL, Repository: "o/r", Token: "t"}.Write(t.Context(), CheckRun{Name: "a", Commit: commit, Conclusion: "success"})
		server.Close()
		var denied *DeniedError
		if err == nil || errors.As(err, &denied) != test.denied || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q (denied: %v)", name, err, test.want, test.denied)
		}
	}
}

// Nothing is sent to an address or about a commit that is none.
func TestWrite_Input(t *testing.T) {
	good := CheckRunAPI{URL: "https://api.github.com", Repository: "o/r", Token: "t"}
	for name, test := range map[string]struct {
		api    CheckRunAPI
		commit string
		want   string
	}{
		"no token":         {CheckRunAPI{URL: good.URL, Repository: "o/r"}, commit, "GITHUB_TOKEN"},
		"no address":       {CheckRunAPI{Repository: "o/r", Token: "t"}, commit, "GITHUB_API_URL"},
		"two repositories": {CheckRunAPI{URL: good.URL, Repository: "o/r/../x", Token: "t"}, commit, "GITHUB_REPOSITORY"},
		"a branch":         {good, "main", "full SHA"},
	} {
		if _, err := test.api.Write(t.Context(), CheckRun{Name: "a", Commit: test.commit}); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
	}
}
