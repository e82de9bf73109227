package report

// checkrun.go writes a Check Run of GitHub: a line of its own among the checks of a commit, with
// a report and with annotations. It knows GitHub's API, and nothing of results.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// The limits of GitHub's API.
// https://docs.github.com/en/rest/checks/runs
const (
	mostAtOnce  = 50      // annotations in one request; later requests add theirs
	mostSummary = 65_535  // characters
	mostMessage = 60_000  // bytes of an annotation's message, of 64 KB
	mostTitle   = 255     // characters
	mostAnswer  = 1 << 20 // bytes that are read of an answer
)

// CheckRun is what a Check Run says.
type CheckRun struct {
	Name, Commit string
	// Conclusion is one of GitHub's, e.g. success, failure or neutral.
	Conclusion     string
	Title, Summary string // Summary is Markdown
	Details        string // the address that the check leads to; empty for GitHub's own page of it
	Annotations    []CheckRunAnnotation
}

// CheckRunAnnotation is a message on a line of a file of the repository.
type CheckRunAnnotation struct {
	File           string
	Line           int
	Title, Message string
	Warning        bool // and no failure
}

// CheckRunAPI is GitHub's, for one repository.
type CheckRunAPI struct {
	URL        string // without a slash at its end, e.g. https://api.github.com
	Repository string // OWNER/NAME
	Token      string
	Client     *http.Client // nil for one that follows no redirects
}

// DeniedError is an answer by which the token may not write Check Runs. That of a pull request from a
// fork never may.
type DeniedError struct{ Answer string }

func (e *DeniedError) Error() string {
	return fmt.Sprintf("GitHub's token may not write it (%s): the job needs `permissions: {checks: write}`, which a pull request from a fork never has", e.Answer)
}

var (
	repositoryForm = regexp.MustCompile(`^[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+$`)
	commitForm     = regexp.MustCompile(`^[0-9a-f]{40}([0-9a-f]{24})?$`)
)

// Write creates the Check Run, with its annotations in as many requests as they need. It returns the
// address of its page. A *DeniedError is about permissions.
func (a CheckRunAPI) Write(ctx context.Context, run CheckRun) (string, error) {
	if err := a.Check(run); err != nil {
		return "", err
	}
	batches := batched(run.Annotations)
	body := map[string]any{
		"name": run.Name, "head_sha": run.Commit, "status": "completed", "conclusion": run.Conclusion, "completed_at": time.Now().UTC().Format(time.RFC3339), "output": run.output(batches[0]),
	}
	if run.Details != "" {
		body["details_url"] = run.Details
	}
	var made struct {
		ID   int64  `json:"id"`
		Page string `json:"html_url"`
	}
	at := a.URL + "/repos/" + a.Repository + "/check-runs"
	if err := a.send(ctx, http.MethodPost, at, body, &made); err != nil {
		return "", err
	}
	for _, more := range batches[1:] {
		if err := a.send(ctx, http.MethodPatch, at+"/"+strconv.FormatInt(made.ID, 10), map[string]any{"output": run.output(more)}, nil); err != nil {
			return made.Page, fmt.Errorf("add annotations to the Check Run %s: %w", made.Page, err)
		}
	}
	return made.Page, nil
}

// Check is nil if a request can be made for the Check Run: it has an address, a token and a commit.
func (a CheckRunAPI) Check(run CheckRun) error {
	switch at, err := url.Parse(a.URL); {
	case err != nil || at.Host == "" || at.Scheme != "https" && at.Scheme != "http":
		return fmt.Errorf("the address of GitHub's API is %q: want GITHUB_API_URL, e.g. https://api.github.com", a.URL)
	case !repositoryForm.MatchString(a.Repository):
		return fmt.Errorf("the repository is %q: want GITHUB_REPOSITORY, OWNER/NAME", a.Repository)
	case a.Token == "":
		return errors.New("no token: want GITHUB_TOKEN")
	case !commitForm.MatchString(run.Commit):
		return fmt.Errorf("the commit is %q: want a full SHA", run.Commit)
	}
	return nil
}

// batched divides annotations among requests, of which there is one at least.
func batched(all []CheckRunAnnotation) [][]CheckRunAnnotation {
	var batches [][]CheckRunAnnotation
	for len(all) > mostAtOnce {
		batches, all = append(batches, all[:mostAtOnce]), all[mostAtOnce:]
	}
	return append(batches, all)
}

// output is what a request says, with these annotations.
func (r CheckRun) output(annotations []CheckRunAnnotation) map[string]any {
	list := []map[string]any{}
	for _, a := range annotations {
		level := "failure"
		if a.Warning {
			level = "warning"
		}
		line := max(a.Line, 1)
		list = append(list, map[string]any{
			"path": a.File, "start_line": line, "end_line": line, "annotation_level": level, "title": cut(a.Title, mostTitle), "message": cutBytes(a.Message, mostMessage),
		})
	}
	return map[string]any{"title": cut(r.Title, mostTitle), "summary": cut(r.Summary, mostSummary), "annotations": list}
}

// cut leaves the first characters of a text.
func cut(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

// cutBytes leaves the first bytes of a text, in whole characters.
func cutBytes(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// send makes one request, and reads its answer into value, which may be nil. The token goes to this
// address only.
func (a CheckRunAPI) send(ctx context.Context, method, at string, body map[string]any, value any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, at, bytes.NewReader(data))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+a.Token)
	req.Header.Set("Accept", "application/vnd.github+json")
	req.Header.Set("X-GitHub-Api-Version", "2022-11-28")
	req.Header.Set("Content-Type", "application/json")
	client := a.Client
	if client == nil {
		client = &http.Client{Timeout: 30 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("ask GitHub's API: %w", err)
	}
	defer func() { _ = resp.Body.Close() }() // what matters is in the reads
	answer, err := io.ReadAll(io.LimitReader(resp.Body, mostAnswer))
	if err != nil {
		return fmt.Errorf("read the answer of GitHub's API: %w", err)
	}
	var told struct {
		Message string `json:"message"`
	}
	_ = json.Unmarshal(answer, &told) // an answer of another form has no message
	said := strings.TrimSpace(fmt.Sprintf("%d %s", resp.StatusCode, cut(told.Message, 200)))
	switch {
	case resp.StatusCode == http.StatusUnauthorized, resp.StatusCode == http.StatusNotFound,
		resp.StatusCode == http.StatusForbidden && !strings.Contains(strings.ToLower(told.Message), "rate limit"):
		return &DeniedError{said}
	case resp.StatusCode/100 != 2:
		return fmt.Errorf("%s %s: GitHub answers %s", method, at, said)
	case value == nil:
		return nil
	}
	if err := json.Unmarshal(answer, value); err != nil {
		return fmt.Errorf("%s %s: the answer is no JSON: %w", method, at, err)
	}
	return nil
}
