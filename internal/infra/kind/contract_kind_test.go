//go:build kind

package kind

import (
	"context"
	"fmt"
	"os"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/infra/infratest"
)

// realPlatform is the platform with the engine and the images that test/kindnode provides.
func realPlatform(t *testing.T) *Platform {
	t.Helper()
	node, images := os.Getenv("AICR_ACTION_KIND_NODE_IMAGE"), os.Getenv("AICR_ACTION_KIND_IMAGES")
	if node == "" || images == "" {
		t.Fatal("AICR_ACTION_KIND_NODE_IMAGE and AICR_ACTION_KIND_IMAGES are not set; run: make test-kind")
	}
	raw, err := os.ReadFile("../../../.settings.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var settings struct {
		Kind struct{ RegistryImage string }
	}
	if err := yaml.Unmarshal(raw, &settings); err != nil {
		t.Fatal(err)
	}
	paths := infratest.Cache(t)
	return &Platform{
		Paths: paths, Ports: host.NewPorts(paths.Ports()), Engine: NewEngine(os.Getenv), NodeImage: node, RegistryImage: settings.Kind.RegistryImage, Archive: images,
		Version: infratest.Stack(t, paths).KubeVersion(), Stages: infratest.Stages(t), Operators: infratest.OperatorStages(t), Port: 5500,
	}
}

// The contract of a platform, which embedded is held to as well.
func TestContractInKind(t *testing.T) {
	p := realPlatform(t)
	infratest.Contract(t, p, fmt.Sprintf("contract-%d", os.Getpid()), func(ctx context.Context, name string) error { return p.Remove(ctx, name) })
}
