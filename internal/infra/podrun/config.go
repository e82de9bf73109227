package podrun

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/host"
)

// ownConfig is the path of the configuration file of a program whose container names none.
const ownConfig = "/etc/aicr-action/config.yaml"

// configure gives a program free ports in its configuration file, as place does in its arguments:
// it writes them into the container's own file, or makes one. A file that cannot be read stays as
// it is: the program says what is wrong with it. Paths in the arguments are below the directory at.
func (l *listens) configure(ports *host.Ports, program infra.Program, m *mounts, at string, args []string) ([]string, error) {
	c := program.Config
	if c == nil {
		return args, nil
	}
	root, err := os.OpenRoot(m.root)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // nothing was written through its descriptor itself
	i, file := flagIn(args, c.Flag)
	file = path.Clean("/" + strings.TrimPrefix(file, at))
	config := map[string]any{}
	if i < 0 {
		config["apiVersion"], config["kind"] = c.APIVersion, c.Kind
		file = ownConfig
		args = append(slices.Clone(args), "--"+c.Flag+"="+at+file)
		m.made = []string{file}
	} else {
		raw, err := root.ReadFile(strings.TrimPrefix(file, "/"))
		if errors.Is(err, fs.ErrNotExist) || err == nil && yaml.Unmarshal(raw, &config) != nil {
			return args, nil
		}
		if err != nil {
			return nil, fmt.Errorf("the configuration --%s=%s: %w", c.Flag, file, err)
		}
	}
	for _, setting := range c.Hosts {
		if err := unstructured.SetNestedField(config, "127.0.0.1", strings.Split(setting, ".")...); err != nil {
			return args, nil // the program says what is wrong with it
		}
	}
	if args, err = switchOff(program.Off, args, config); err != nil {
		return args, nil // likewise
	}
	if err := l.settle(ports, program.Listens, args, config); err != nil {
		return nil, fmt.Errorf("the configuration --%s=%s: %w", c.Flag, file, err)
	}
	raw, err := yaml.Marshal(config)
	if err != nil {
		return nil, err
	}
	name := strings.TrimPrefix(file, "/")
	if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return nil, err
	}
	return args, root.WriteFile(name, raw, 0o600)
}

// settle puts free ports into the settings of a configuration.
func (l *listens) settle(ports *host.Ports, listens []infra.Listen, args []string, config map[string]any) error {
	for _, s := range listens {
		if at, _ := flagIn(args, s.Flag); s.Setting == "" || at >= 0 {
			continue // place has seen to it
		}
		fields, value := strings.Split(s.Setting, "."), s.Default
		have, found, err := unstructured.NestedFieldNoCopy(config, fields...)
		if err != nil {
			continue // the program says what is wrong with it
		}
		if text := fmt.Sprint(have); found && have != nil && text != "" {
			value = text
		}
		text, port, err := l.free(ports, value)
		if err != nil {
			return fmt.Errorf("%s: %s: %w", s.Setting, value, err)
		}
		if text == "" {
			continue
		}
		var set any = text
		if !strings.Contains(text, ":") {
			set = int64(port)
		}
		if err := unstructured.SetNestedField(config, set, fields...); err != nil {
			return fmt.Errorf("%s: %w", s.Setting, err)
		}
	}
	return nil
}

// gatesFlag is the flag of feature gates. Programs reject gates in both their arguments and their
// configuration.
const gatesFlag = "feature-gates"

// switchOff switches features off where the others of the program are set.
func switchOff(all []infra.Off, args []string, config map[string]any) ([]string, error) {
	for _, off := range all {
		at, value := flagIn(args, gatesFlag)
		if at < 0 || value == "" {
			if err := unstructured.SetNestedField(config, false, "featureGates", off.Gate); err != nil {
				return args, err
			}
			continue
		}
		args = slices.Clone(args)
		value += "," + off.Gate + "=false" // of two for one gate the last counts
		if strings.Contains(args[at], "=") {
			args[at] = "--" + gatesFlag + "=" + value
		} else {
			args[at+1] = value
		}
	}
	return args, nil
}
