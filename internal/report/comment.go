package report

import (
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/result"
)

// WriteComment writes the part of the Markdown report that fits into a comment on a pull request.
// The results are untrusted, e.g. from a fork, while people trust a bot's comment. So the comment
// has links and download commands only for the CI run with the address runURL, and none if that is
// empty. It leaves out a command that reruns a cell unless that is matrix run with flags that start
// no program and dial no address.
func (r *Report) WriteComment(w io.Writer, runURL string) error {
	_, err := io.WriteString(w, r.untrusted(runURL).markdown(maxComment))
	return err
}

// untrusted is the report without what may lead a reader astray: it has links and download commands
// only for the CI run with the address runURL, and no command that starts other programs.
func (r *Report) untrusted(runURL string) *Report {
	shown := *r
	shown.narrow = true
	shown.CI.URL = mdURL(runURL)
	shown.Results = slices.Clone(r.Results)
	for i := range shown.Results {
		c := &shown.Results[i]
		c.Upload = ofRun(c.Upload, shown.CI.URL)
		if !harmless(c.Rerun) {
			c.Rerun = ""
		}
	}
	return &shown
}

// CheckRun is the report as a Check Run of GitHub, about whose results the same holds as about those
// of a comment. It annotates every root cause that has a line in the repository; the summary has the
// others. A run whose own end, by GitHub's word, is not success is none here either; ended is empty
// where nobody says.
func (r *Report) CheckRun(at Checkout, runURL, ended string) CheckRun {
	shown := r.untrusted(runURL)
	run := CheckRun{Conclusion: "failure", Title: TotalsText(r.Results), Summary: shown.markdown(maxComment), Details: shown.CI.URL}
	switch {
	case ended != "" && ended != "success":
		run.Title = "the run ended as " + oneLine(ended) + "; " + run.Title
	case r.Green():
		run.Conclusion = "success"
	case len(r.Results) == 0 && len(r.Unread) == 0:
		run.Conclusion = "neutral"
	}
	for _, a := range shown.annotations(at) {
		if a.File != "" {
			run.Annotations = append(run.Annotations, CheckRunAnnotation(a))
		}
	}
	return run
}

// attempt is what GitHub's address of a run can end with.
var attempt = regexp.MustCompile(`/attempts/\d+$`)

// ofRun is the artifact, if it is one of the CI run with this address, and else nil.
func ofRun(u *result.Upload, runURL string) *result.Upload {
	if u == nil {
		return nil
	}
	server := u.Server
	if server == "" {
		server = "github.com"
	}
	runURL = attempt.ReplaceAllString(runURL, "")
	if _, address, _ := strings.Cut(runURL, "://"); address != server+"/"+u.Repository+"/actions/runs/"+u.Run {
		return nil
	}
	same := *u
	same.URL = runURL
	return &same
}

// inCommand are the words of a command that a shell takes as they are.
var inCommand = regexp.MustCompile(`^(?:[A-Za-z0-9_./:,=@-]+|'[A-Za-z0-9_][A-Za-z0-9_./:,=@^~-]*')$`)

// harmless reports whether a person may paste an untrusted command into a shell.
func harmless(command string) bool {
	words := strings.Split(command, " ")
	if len(words) < 3 || words[0] != "matrix" || words[1] != "run" {
		return false
	}
	for _, w := range words {
		flag, _, _ := strings.Cut(w, "=")
		if !inCommand.MatchString(w) || strings.HasPrefix(w, "-") && !slices.Contains([]string{
			"--deployer", "--charts", "--recipes-dir", "--data", "--profiles", "--checks", "--probes", "--controller", "--validate", "--plain-controllers", "--platform", "--cluster", "--keep", "--app", "--values", "--service", "--accelerator",
			"--namespace", "--environment", "--kubernetes", "--drift", "--remove", "--from", "--rollback", "--sequence", "--helm", "--split",
		}, flag) {
			return false
		}
	}
	return true
}
