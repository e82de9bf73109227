package collect

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/coreos/go-systemd/v22/dbus"

	"github.com/nvidia/aicr-action/internal/verify/snapshot"
)

// units are the services that matter to a node.
var units = []string{"containerd.service", "docker.service", "kubelet.service"}

// properties are what is kept of a unit.
var properties = []string{
	"LoadState", "ActiveState", "SubState", "UnitFileState", "FragmentPath", "Restart", "Type", "ExecMainStatus", "CPUAccounting", "MemoryAccounting", "TasksMax", "LimitNOFILE",
	"LimitMEMLOCK", "LimitCORE", "Delegate", "KillMode", "OOMScoreAdjust", "Slice", "NeedDaemonReload",
}

// services asks systemd about the node's services. One that does not exist is left out.
func services(ctx context.Context, o Options) ([]snapshot.Subtype, error) {
	// Where systemd is not the init system, nothing answers on the bus:
	// https://www.freedesktop.org/software/systemd/man/latest/sd_booted.html
	if _, err := os.Stat(o.file("/run/systemd/system")); errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("systemd does not run here")
	}
	if o.Root != "" {
		return nil, errors.New("systemd of another root cannot be asked")
	}
	bus, err := dbus.NewWithContext(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect to systemd: %w", err)
	}
	defer bus.Close()
	var all []snapshot.Subtype
	for _, unit := range units {
		found, err := bus.GetAllPropertiesContext(ctx, unit)
		if err != nil {
			return all, fmt.Errorf("ask systemd about %s: %w", unit, err)
		}
		if s, ok := readUnit(unit, found); ok {
			all = append(all, s)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("systemd has none of %s", strings.Join(units, ", "))
	}
	return all, nil
}

// readUnit keeps what matters of a unit's properties; nothing of a unit that does not exist.
func readUnit(unit string, found map[string]any) (snapshot.Subtype, bool) {
	if found["LoadState"] == "not-found" {
		return snapshot.Subtype{}, false
	}
	kept := data{}
	for _, name := range properties {
		switch v := found[name].(type) {
		case nil:
		case string, bool:
			kept.set(name, v)
		default:
			kept.set(name, fmt.Sprint(v))
		}
	}
	return snapshot.Subtype{Name: unit, Data: kept}, true
}
