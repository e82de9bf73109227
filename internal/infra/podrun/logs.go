package podrun

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/infra/host"
)

// Kubelet answers as a kubelet does for /containerLogs/NAMESPACE/POD/CONTAINER, from which the API
// server reads the output of `kubectl logs`. It supports the options follow, tailLines and
// limitBytes. It rejects options that need the times of lines, since the lines have none.
func (r *Runner) Kubelet() http.Handler { return http.HandlerFunc(r.serveLog) }

// followInterval is how often a log that is followed is read.
const followInterval = 100 * time.Millisecond

func (r *Runner) serveLog(out http.ResponseWriter, request *http.Request) {
	// The API server passes the text of this code on, and of no other (k8s.io/apiserver,
	// generichttpchecker).
	refuse := func(format string, args ...any) { http.Error(out, fmt.Sprintf(format, args...), http.StatusBadRequest) }
	parts := strings.Split(strings.Trim(request.URL.Path, "/"), "/")
	if len(parts) != 4 {
		refuse("want /containerLogs/NAMESPACE/POD/CONTAINER")
		return
	}
	w := r.find(parts[1], parts[2])
	if w == nil {
		refuse("pod %s/%s is simulated: its containers do not run, and have no log", parts[1], parts[2])
		return
	}
	if !w.has(parts[3]) {
		refuse("pod %s has no container %.100q that runs", w.name(), parts[3])
		return
	}
	o, err := readLogOptions(request.URL.Query())
	if err != nil {
		refuse("%v", err)
		return
	}
	file, err := os.Open(w.logOf(parts[3]))
	if errors.Is(err, fs.ErrNotExist) && !o.follow {
		refuse("container %s of pod %s has not started", parts[3], w.name())
		return
	}
	for errors.Is(err, fs.ErrNotExist) { // it has not started yet, or never will
		select {
		case <-request.Context().Done():
			return
		case <-w.ended:
			return
		case <-time.After(followInterval):
			file, err = os.Open(w.logOf(parts[3]))
		}
	}
	if err != nil {
		refuse("%v", err)
		return
	}
	defer func() { _ = file.Close() }() // it is only read
	if err := w.copyLog(request, out, file, o); err != nil && request.Context().Err() == nil {
		r.Log.Warn("serve the log of a pod that runs", "pod", w.name(), "err", err)
	}
}

// has reports whether the pod has such a container; its name becomes part of a file's.
func (w *worker) has(container string) bool {
	return slices.ContainsFunc(slices.Concat(w.pod.Spec.InitContainers, w.pod.Spec.Containers), func(c corev1.Container) bool { return c.Name == container })
}

type logOptions struct {
	follow bool
	tail   int64 // lines; -1 for all
	limit  int64 // bytes; -1 for all
}

func readLogOptions(query url.Values) (logOptions, error) {
	o := logOptions{follow: query.Get("follow") == "true", tail: -1, limit: -1}
	for _, name := range []string{"sinceSeconds", "sinceTime"} {
		if query.Has(name) {
			return o, fmt.Errorf("%s cannot be had: the lines of a process's log have no times", name)
		}
	}
	for name, to := range map[string]*int64{"tailLines": &o.tail, "limitBytes": &o.limit} {
		text := query.Get(name)
		if text == "" {
			continue
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			return o, fmt.Errorf("%s=%.100q: want a number", name, text)
		}
		*to = n
	}
	for _, name := range []string{"timestamps", "previous"} {
		if query.Get(name) == "true" {
			return o, fmt.Errorf("%s cannot be had of a process's log", name)
		}
	}
	return o, nil
}

// copyLog writes a log from the option's start to its end now, or to the end of the process.
func (w *worker) copyLog(request *http.Request, out http.ResponseWriter, file *os.File, o logOptions) error {
	out.Header().Set("Content-Type", "text/plain")
	out.WriteHeader(http.StatusOK)
	if o.tail >= 0 {
		if err := seekTail(file, o.tail); err != nil {
			return err
		}
	}
	left := o.limit
	flush := http.NewResponseController(out)
	for last := false; ; {
		var from io.Reader = file
		if left >= 0 {
			from = io.LimitReader(file, left)
		}
		n, err := io.Copy(out, from)
		if err != nil {
			return err
		}
		if n > 0 {
			_ = flush.Flush() // a writer that cannot flush sends at the end
		}
		if left >= 0 {
			left -= n
		}
		if !o.follow || last || left == 0 {
			return nil
		}
		select {
		case <-request.Context().Done():
			return nil
		case <-w.ended:
			last = true // what it wrote before its end is read once more
		case <-time.After(followInterval):
		}
	}
}

// seekTail moves to the first byte of the last lines of a file.
func seekTail(file *os.File, lines int64) error {
	end, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if lines == 0 {
		return nil
	}
	const block = 64 << 10
	found, at := int64(0), end
	for at > 0 && found <= lines {
		from := max(0, at-block)
		buf := make([]byte, at-from)
		if _, err := file.ReadAt(buf, from); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		for len(buf) > 0 {
			i := bytes.LastIndexByte(buf, '\n')
			if i < 0 {
				break
			}
			if from+int64(i)+1 != end { // no line follows the end of the last one
				if found++; found >= lines {
					_, err := file.Seek(from+int64(i)+1, io.SeekStart)
					return err
				}
			}
			buf = buf[:i]
		}
		at = from
	}
	_, err = file.Seek(0, io.SeekStart)
	return err
}

// A message quotes a line of a log that tells of an error, or else the last linesQuoted lines, each
// up to lineQuoted bytes.
const (
	linesQuoted = 3
	lineQuoted  = 400
)

// lastWords are what a process that has ended said, in one line: its last line about an error, since
// programs print their usage after one, or else its last lines.
func lastWords(file string) string {
	if line := lastComplaint(file); line != "" {
		return line
	}
	var all []string
	for _, line := range host.Tail(file, linesQuoted) {
		all = append(all, cut(line))
	}
	return strings.Join(all, " | ")
}

// place are the fields of a line in logfmt that say when and where in the program it was written, and
// said are those after which there is none.
const (
	place = `(^| )(ts|time|caller)=[^ "]+`
	said  = ` (msg|err)=`
)

// cut is a line as it is quoted. The error is at the end of many lines, and what it is about before.
func cut(line string) string {
	var entry struct{ Msg, Error, Controller, Namespace, Name string }
	if json.Unmarshal([]byte(line), &entry) == nil && entry.Error != "" {
		line = entry.Msg + ": " + entry.Error
		if entry.Controller != "" {
			line += fmt.Sprintf(" (%s, %s/%s)", entry.Controller, entry.Namespace, entry.Name)
		}
	}
	if at := regexp.MustCompile(said).FindStringIndex(line); at != nil {
		line = strings.TrimSpace(regexp.MustCompile(place).ReplaceAllString(line[:at[0]], "") + line[at[0]:])
	}
	if len(line) > lineQuoted {
		const half = lineQuoted / 2
		return strings.ToValidUTF8(line[:half], "") + " … " + strings.ToValidUTF8(line[len(line)-half:], "")
	}
	return line
}

// complaint is the form of a line by which programs log an error: klog, logfmt, JSON, Go's own, those
// of its two libraries for flags, and what prometheus-operator finds wrong with a rule or with its
// rights.
const complaint = `^E[0-9]{4} |\blevel=error\b|"level":"error"|\b(panic|fatal):|\bforbidden\b|^flag provided but not defined|unknown (shorthand )?flag|\bmsg="[Ii]nvalid rule"|\bmissing permission`

// conflict is the API server's message to a program whose object somebody else has just changed. It
// reads the object again, and tries again.
const conflict = "the object has been modified; please apply your changes to the latest version and try again"

// lastComplaint is the last line of a log that tells of an error; empty without one among the last.
// Lines with noise do not count.
func lastComplaint(file string, noise ...string) string {
	line, _ := complaintAbout(file, nil, noise)
	return line
}

// complaintAbout is the last complaint about one of these objects (NAMESPACE/NAME), or else the last
// one: an operator that refuses an object may have tripped over another one since.
func complaintAbout(file string, objects, noise []string) (line string, about bool) {
	pattern := regexp.MustCompile(complaint)
	has := func(line string) func(string) bool {
		return func(part string) bool { return strings.Contains(line, part) }
	}
	last := ""
	for _, line := range slices.Backward(host.Tail(file, complaintLines)) {
		if !pattern.MatchString(line) || strings.Contains(line, conflict) || slices.ContainsFunc(noise, has(line)) {
			continue
		}
		if slices.ContainsFunc(objects, has(line)) {
			return cut(line), true
		}
		last = cmp.Or(last, cut(line))
	}
	return last, false
}

// objectNames matches what errors call an object: NAMESPACE/NAME.
const objectNames = `[a-z0-9][a-z0-9-]*/[a-z0-9][a-z0-9.-]*[a-z0-9]`

// Complaints are for each pod that runs the last line of its log that tells of an error, with the
// pod's name; none for a pod whose log has no such line. A line that names an object which the cause
// of a failure names goes before, and its pod before others.
func (r *Runner) Complaints(cause string) []string {
	objects := regexp.MustCompile(objectNames).FindAllString(cause, -1)
	r.mu.Lock()
	logs, noise := map[string]string{}, map[string][]string{}
	for _, w := range r.pods {
		program, _ := r.program(&w.pod.Spec.Containers[0]) // none: not a pod that could run
		logs[w.name()], noise[w.name()] = w.log, program.Noise
	}
	r.mu.Unlock()
	var first, all []string
	for _, name := range slices.Sorted(maps.Keys(logs)) {
		line, about := complaintAbout(logs[name], objects, noise[name])
		switch said := fmt.Sprintf("pod %s says: %s", name, line); {
		case about:
			first = append(first, said)
		case line != "":
			all = append(all, said)
		}
	}
	return append(first, all...)
}

// complaintLines is how many of the last lines of a log are searched.
const complaintLines = 200
