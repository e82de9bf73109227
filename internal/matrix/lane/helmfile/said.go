package helmfile

import (
	"regexp"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/matrix/lane"
)

// failures finds in what helmfile printed why it ended with err: a text per release that failed, and
// one under "" for an error of helmfile's own. Fields that the API server dropped are failures also
// where helmfile ends without an error (see package helm, where Helm does the same).
func failures(said string, err error) map[string]string {
	wrong := map[string]string{}
	lines := strings.Split(said, "\n")
	for release, text := range droppedFields(lines) {
		wrong[release] = text
	}
	if err == nil {
		return wrong
	}
	for i, line := range lines {
		if m := failedRelease.FindStringSubmatch(line); m != nil {
			wrong[m[1]] = sentence(lines[i:], strings.TrimSpace(m[2]))
		}
	}
	if len(wrong) == 0 {
		wrong[""] = err.Error() + own(lines)
	}
	return wrong
}

// failedRelease matches the error of a release; helm's own output follows it in blocks.
var failedRelease = regexp.MustCompile(`failed processing release (\S+): (.*)$`)

// block matches the head of a block of helm's output, and ends the one before.
var block = regexp.MustCompile(`^(PATH|ARGS|ERROR|STDERR|COMBINED OUTPUT):$|^EXIT STATUS$`)

// logLine matches a line of helm's log, which is not its error.
var logLine = regexp.MustCompile(`^[IWE][0-9]{4} [0-9:.]+ +[0-9]+ [a-z_]+\.go:[0-9]+\]`)

// errorList matches the head that Helm puts before the errors of several objects, or of one.
var errorList = regexp.MustCompile(`\d+ errors? occurred:\s*\n\s*\* `)

// sentence is what helm itself said, from its first line with Error; short if it printed none.
func sentence(lines []string, short string) string {
	at := slices.Index(lines, "STDERR:")
	if at < 0 {
		return short
	}
	var text []string
	for _, line := range lines[at+1:] {
		if block.MatchString(line) || line == "" && len(text) > 0 {
			break
		}
		if line = strings.TrimSpace(line); line != "" && !logLine.MatchString(line) {
			text = append(text, line)
		}
	}
	if from := slices.IndexFunc(text, func(l string) bool { return strings.HasPrefix(l, "Error: ") }); from >= 0 {
		text = text[from:]
	}
	if len(text) == 0 {
		return short
	}
	clean := errorList.ReplaceAllString(strings.TrimPrefix(strings.Join(text, "\n"), "Error: "), "")
	said := strings.Split(strings.ReplaceAll(strings.TrimSpace(clean), "\n* ", "\n"), "\n")
	for i := range said {
		said[i] = lane.WithoutObject(said[i])
	}
	return strings.Join(said, "\n")
}

// mostOwn is how many lines of helmfile's own error are shown.
const mostOwn = 12

// own is the end of what helmfile printed itself: from its last line that begins with a file's name,
// else the last lines.
func own(lines []string) string {
	var kept []string
	for _, l := range lines {
		if strings.TrimSpace(l) != "" && !logLine.MatchString(strings.TrimSpace(l)) {
			kept = append(kept, l)
		}
	}
	at := max(0, len(kept)-mostOwn)
	for i, l := range kept {
		if strings.HasPrefix(l, "in ./") {
			at = i
		}
	}
	if at >= len(kept) {
		return "; it printed nothing"
	}
	text := []string{kept[at]}
	if said := sentence(kept[at:], ""); said != "" {
		text = append(text, said)
	} else {
		text = kept[at:min(len(kept), at+mostOwn)]
	}
	return ": " + strings.Join(text, "\n")
}

// What the lines of a helm begin with in helmfile's log at the level debug, and what they are about.
var (
	ofHelm    = regexp.MustCompile(`\bhelm:(\w+)> (.*)$`)
	ofRelease = regexp.MustCompile(`^Release "([^"]+)" (?:does not exist|has been upgraded)`)
	unknown   = regexp.MustCompile(`unknown field "[^"]*"`)
)

// droppedFields finds the API server's warnings about fields that it does not know, by release.
func droppedFields(lines []string) map[string]string {
	release, found := map[string]string{}, map[string][]string{}
	for _, line := range lines {
		m := ofHelm.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		if name := ofRelease.FindStringSubmatch(m[2]); name != nil {
			release[m[1]] = name[1]
		}
		if field := unknown.FindString(strings.ReplaceAll(m[2], `\"`, `"`)); field != "" && strings.Contains(m[2], "warnings.go") {
			found[m[1]] = append(found[m[1]], field+" (the API server dropped it)")
		}
	}
	texts := map[string]string{}
	for id, fields := range found {
		texts[release[id]] = strings.Join(slices.Compact(fields), "\n")
	}
	return texts
}
