package release

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/nvidia/aicr-action/internal/util/filesys"
)

// PinsFile is where an action finds which release it is, from the root of the module.
const PinsFile = "setup/pins"

// Pin writes a release into setup/pins: its version, and name and SHA-256 of each of its files in
// the directory. If a file is missing it writes nothing, because an action without the digest for a
// platform would always fail there.
func Pin(file, version, dir string) error {
	key, err := StackKey()
	if err != nil {
		return err
	}
	var pins []string
	var missing error
	for _, name := range Assets(version, key) {
		digest, err := filesys.SHA256(filepath.Join(dir, name))
		missing = errors.Join(missing, err)
		pins = append(pins, digest+"  "+name)
	}
	if missing != nil {
		return fmt.Errorf("pin %s in %s: %w", version, file, missing)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("pin %s: %w", version, err)
	}
	pinned, err := WritePins(string(content), version, pins)
	if err != nil {
		return fmt.Errorf("pin %s in %s: %w", version, file, err)
	}
	return os.WriteFile(file, []byte(pinned), 0o644)
}

// WritePins gives the content of setup/pins with other pins; its comment stays. Without a version
// there are none, and the action builds from source.
func WritePins(content, version string, pins []string) (string, error) {
	var b strings.Builder
	for line := range strings.Lines(content) {
		if strings.HasPrefix(line, "#") {
			b.WriteString(line)
		}
	}
	if b.Len() == 0 {
		return "", errors.New("want a file of pins, which begins with a comment on what it is")
	}
	if version == "" {
		return b.String(), nil
	}
	if err := CheckVersion(version); err != nil {
		return "", err
	}
	for _, line := range append([]string{version}, pins...) {
		b.WriteString(line + "\n")
	}
	return b.String(), nil
}
