package apiproxy

import (
	"bufio"
	"encoding/json"
	"io"
)

// event is what is read of a watch event; it has no type if the line is none.
type event struct {
	Type   string `json:"type"`
	Object struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
		// Code and Message are of a Status, the object of an ERROR.
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"object"`
}

// newEvents reads a watch in JSON, which has an event a line.
func newEvents(body io.Reader) *bufio.Reader { return bufio.NewReaderSize(body, 64<<10) }

// eventReader is the body of a watch. It calls of for an event before the client gets any byte of
// the event, since a client acts as soon as it has the last brace.
type eventReader struct {
	events *bufio.Reader
	body   io.Closer
	of     func(event)
	ended  func() bool // the proxy has ended the watch, which is a regular end for the client

	left []byte
	err  error
}

func (r *eventReader) Read(p []byte) (int, error) {
	for len(r.left) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		if r.left, r.err = r.events.ReadBytes('\n'); r.err != nil && r.ended() {
			r.left, r.err = nil, io.EOF
		}
		if len(r.left) > 0 {
			var e event
			if json.Unmarshal(r.left, &e) != nil {
				e.Type = ""
			}
			r.of(e)
		}
	}
	n := copy(p, r.left)
	r.left = r.left[n:]
	return n, nil
}

func (r *eventReader) Close() error { return r.body.Close() }
