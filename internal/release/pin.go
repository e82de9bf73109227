package release

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// The lines of action.yml between which the pins are. Both have to be there once.
const (
	pinsBegin = "# pins: begin"
	pinsEnd   = "# pins: end"
)

// Pin writes a release into action.yml: its version, and name and SHA-256 of each of its files in the directory. It writes nothing unless
// all of them are there: an action that lacks the digest for a platform would be red there for good.
func Pin(action, version, dir string) error {
	key, err := StackKey()
	if err != nil {
		return err
	}
	var pins []string
	var missing error
	for _, name := range Assets(version, key) {
		digest, err := digestOf(filepath.Join(dir, name))
		missing = errors.Join(missing, err)
		pins = append(pins, digest+"  "+name)
	}
	if missing != nil {
		return fmt.Errorf("pin %s in %s: %w", version, action, missing)
	}
	content, err := os.ReadFile(action)
	if err != nil {
		return fmt.Errorf("pin %s: %w", version, err)
	}
	pinned, err := WritePins(string(content), version, pins)
	if err != nil {
		return fmt.Errorf("pin %s in %s: %w", version, action, err)
	}
	return os.WriteFile(action, []byte(pinned), 0o644)
}

// WritePins gives the text of an action.yml with other pins. Without a version there are none, and the action builds from source.
func WritePins(content, version string, pins []string) (string, error) {
	if strings.Count(content, pinsBegin) != 1 || strings.Count(content, pinsEnd) != 1 {
		return "", fmt.Errorf("want one line %q and one %q", pinsBegin, pinsEnd)
	}
	before, rest, _ := strings.Cut(content, pinsBegin+"\n")
	_, after, found := strings.Cut(rest, pinsEnd)
	if !found {
		return "", fmt.Errorf("the line %q is not behind the line %q", pinsEnd, pinsBegin)
	}
	indent := before[strings.LastIndex(before, "\n")+1:]
	if strings.TrimSpace(indent) != "" {
		return "", fmt.Errorf("the line %q has something before it", pinsBegin)
	}
	var b strings.Builder
	b.WriteString(before + pinsBegin + "\n")
	if version == "" {
		b.WriteString(indent + "PINS: ''\n")
	} else {
		if err := CheckVersion(version); err != nil {
			return "", err
		}
		b.WriteString(indent + "PINS: |\n")
		for _, line := range append([]string{version}, pins...) {
			b.WriteString(indent + "  " + line + "\n")
		}
	}
	return b.String() + indent + pinsEnd + after, nil
}
