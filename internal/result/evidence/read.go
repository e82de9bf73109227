package evidence

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"strings"

	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/util/filesys"
)

// most is the largest document that is read, in bytes.
const most = 64 << 20

// ReadFile reads a document. What is not whole, or not what this program writes, is an error.
func ReadFile(file string) (*Document, error) {
	data, err := filesys.File(file, most)
	if err != nil {
		return nil, fmt.Errorf("read the evidence: %w", err)
	}
	d, err := read(data)
	if err != nil {
		return nil, fmt.Errorf("%s is no evidence: %w", file, err)
	}
	return d, nil
}

// read reads a document's text.
func read(data []byte) (*Document, error) {
	var head struct{ APIVersion, Kind string }
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, fmt.Errorf("it is cut off, or not JSON (%w); take the file that the run left (matrix run --evidence)", err)
	}
	if head.APIVersion != apiVersion || head.Kind != kind {
		return nil, fmt.Errorf("it has apiVersion %.60q and kind %.60q, and this program reads %s, %s: run the upgrade again with this version", head.APIVersion, head.Kind, apiVersion, kind)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	d := &Document{}
	if err := dec.Decode(d); err != nil {
		return nil, fmt.Errorf("it was written by another version of this program, or edited: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("it has more than one document")
	}
	seal, err := d.sealed()
	if err != nil {
		return nil, err
	}
	if seal != d.Seal {
		return nil, errors.New("its seal is not that of its content: it was edited after the run wrote it; take the file that the run left")
	}
	return d, d.check()
}

var digest = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// check refuses what no run writes.
func (d *Document) check() error {
	if d.Run.ID == "" || d.Run.Written.IsZero() {
		return errors.New("it does not say which run it is of")
	}
	for i := range d.Upgrades {
		u := &d.Upgrades[i]
		if u.Recipe == "" || u.Deployer == "" || u.Verdict.Mark() == "?" || u.FirstInstallation.Mark() == "?" {
			return fmt.Errorf("upgrade %d has no recipe, deployer or verdict", i+1)
		}
		if u.Verdict.Good() && (u.Reason != "" || u.Cause != "" || u.Difference == nil || u.Difference.Rendered) {
			return fmt.Errorf("upgrade %d (%s/%s) is said to have passed, and has a failure or no difference from its cluster", i+1, u.Recipe, u.Deployer)
		}
		for _, c := range append(append([]result.Chart(nil), u.Before...), u.After...) {
			if c.Digest != "" && !digest.MatchString(c.Digest) {
				return fmt.Errorf("upgrade %d (%s/%s): the digest %.80q of %s is none", i+1, u.Recipe, u.Deployer, c.Digest, c.Component)
			}
		}
	}
	return nil
}

// Address is the page of the run, if anyone can open it: https, with a host and a path.
func (d *Document) Address() string {
	u, err := url.Parse(d.Run.URL)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") == "" {
		return ""
	}
	return d.Run.URL
}
