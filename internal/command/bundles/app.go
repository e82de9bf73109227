package bundles

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/charts"
	appdir "github.com/nvidia/aicr-action/internal/intake/app"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// AppDirectory is the directory of an app, which has its lock file.
func AppDirectory(app string) string {
	if info, err := os.Stat(app); err == nil && !info.IsDir() {
		return filepath.Dir(app)
	}
	return app
}

// appPins are the charts from elsewhere that an app names, in an environment if it is a helmfile.
func appPins(ctx context.Context, path, environment string) ([]charts.Pin, error) {
	found, err := appdir.FindApp(ctx, path, nil)
	if err == nil && environment != "" && !found.IsHelmfile() {
		err = fmt.Errorf("--environment is for a helmfile, and %s is none", path)
	}
	if err != nil {
		return nil, reason.Wrap(reason.Usage, err)
	}
	found.Environment = environment
	d, err := bundle.ByName([]string{found.Deployer})
	if err != nil {
		return nil, err
	}
	read, err := found.Open(ctx, d[0])
	if err != nil {
		return nil, reason.Wrap(reason.Usage, err)
	}
	components, _ := read.Components()
	pins := charts.Pins(components)
	for i := range pins {
		pins[i].Ranges = true
	}
	return pins, nil
}
