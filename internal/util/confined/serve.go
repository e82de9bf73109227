package confined

import (
	"bufio"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/nvidia/aicr-action/internal/util/sandbox"
)

// Serve answers questions, and does not return, if this process was started by a Worker of that
// name; otherwise it does nothing. Call it in an init of the package that has the Worker: every
// program with that package, test binaries too, can then be the process that works.
func Serve[Question, Answer any](name string, answer func(Question) Answer) {
	var o order
	Instead(variable, func(text string) bool {
		return json.Unmarshal([]byte(text), &o) == nil && o.Name == name
	}, func(string) error {
		os.Clearenv()
		w, err := Confine(sandbox.Profile{}, o.Limits, subject)
		if err != nil {
			return err
		}
		return Exchange(w, os.Stdin, os.Stdout, answer)
	})
}

// Instead does the work in place of whatever this program is for, if the environment has the
// variable with a text that fits, and does not return then. Call it in an init.
func Instead(variable string, fits func(text string) bool, work func(text string) error) {
	text := os.Getenv(variable)
	if text == "" || !fits(text) {
		return
	}
	said := os.Stderr
	if err := work(text); err != nil {
		_, _ = fmt.Fprintln(said, err) // the exit code says it too
		os.Exit(1)
	}
	os.Exit(0)
}

// Exchange reads questions and answers them, each under the watch, until there is nothing more to read.
func Exchange[Question, Answer any](w *Watch, in io.Reader, out io.Writer, answer func(Question) Answer) error {
	decoder := gob.NewDecoder(bufio.NewReader(in))
	to := bufio.NewWriter(out)
	encoder := gob.NewEncoder(to)
	for {
		var q Question
		if err := decoder.Decode(&q); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read a question: %w", err)
		}
		w.Begin()
		reply := answer(q)
		w.End()
		if err := encoder.Encode(reply); err != nil {
			return fmt.Errorf("write an answer: %w", err)
		}
		if err := to.Flush(); err != nil {
			return fmt.Errorf("write an answer: %w", err)
		}
	}
}
