package result

import (
	"regexp"
	"strings"
	"time"
)

// Known says how a cell stands to the runs before it.
type Known string

// What is known of a cell from earlier runs; it is empty for a cell that passed, and for one of
// which no run before has a verdict.
const (
	New        Known = "new"         // failed now, and passed in the run before
	AlreadyRed Known = "already red" // failed now, and in the run before
	Flaky      Known = "flaky"       // passed and failed with exactly the same inputs
)

// Past is how a cell ended in an earlier run.
type Past struct {
	Run    string    `json:"run,omitempty"`
	URL    string    `json:"url,omitempty"`
	Commit string    `json:"commit,omitempty"`
	Ended  time.Time `json:"ended,omitzero"`
	Status Status    `json:"status"`
	Reason string    `json:"reason,omitempty"`
	// Key is the digest of the cell's inputs, empty if they could not be known.
	Key string `json:"key,omitempty"`
}

// Upload is where a CI system keeps the debug artifacts of a cell.
type Upload struct {
	// Artifact is its name, Directory the cell's in it. Snapshot: matrix replay has something to
	// boot there.
	Artifact  string `json:"artifact"`
	Directory string `json:"directory"`
	Snapshot  bool   `json:"snapshot,omitempty"`
	// Server is empty for github.com. Repository is OWNER/NAME, Run the ID of the workflow run, URL
	// where it is shown.
	Server     string `json:"server,omitempty"`
	Repository string `json:"repository"`
	Run        string `json:"run"`
	URL        string `json:"url,omitempty"`
}

// plain matches text that a person may paste into a shell, since results files are untrusted.
var plain = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._/:-]*$`)

// Command downloads the artifact and, if there is a snapshot, boots the cluster in it. It is empty
// if a part of it is no plain word.
func (u *Upload) Command() string {
	if u == nil {
		return ""
	}
	repository := u.Repository
	if u.Server != "" {
		repository = u.Server + "/" + repository
	}
	for _, word := range []string{repository, u.Run, u.Artifact, u.Directory} {
		if !plain.MatchString(word) || strings.Contains(word, "..") {
			return ""
		}
	}
	text := "gh run download " + u.Run + " --repo " + repository + " --name " + u.Artifact + " --dir " + u.Artifact
	if u.Snapshot {
		text += " && matrix replay " + u.Artifact + "/" + u.Directory
	}
	return text
}
