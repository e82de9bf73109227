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

// Serve is the hidden command that a Worker starts: it answers questions until there are no more.
// args are those that the Worker gives.
func Serve[Question, Answer any](args []string, answer func(Question) Answer) error {
	var limits Limits
	if err := ReadSettings(args, &limits); err != nil {
		return err
	}
	os.Clearenv()
	w, err := Confine(sandbox.Profile{}, limits, subject)
	if err != nil {
		return err
	}
	return Exchange(w, os.Stdin, os.Stdout, answer)
}

// ReadSettings decodes the one argument of a hidden command: its settings, as JSON.
func ReadSettings(args []string, settings any) error {
	if len(args) != 1 {
		return fmt.Errorf("read the settings: want one argument, got %d", len(args))
	}
	if err := json.Unmarshal([]byte(args[0]), settings); err != nil {
		return fmt.Errorf("read the settings: %w", err)
	}
	return nil
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
