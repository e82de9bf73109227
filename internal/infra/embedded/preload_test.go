package embedded

import (
	_ "embed"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/stack"
)

//go:embed testdata/objects/widget_crd.yaml
var widgetCRD string

// What is written into etcd is complete: with the defaults of the API server, and with the status
// that its controllers would write.
func TestPreload(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "widgets.yaml"), []byte(widgetCRD), 0o644); err != nil {
		t.Fatal(err)
	}
	p, err := readPreloadedCRDs(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.records) != 1 || p.records[0].Key != "/registry/apiextensions.k8s.io/customresourcedefinitions/widgets.example.com" || !slices.Equal(p.names, []string{"widgets.example.com"}) {
		t.Fatalf("got %q with the keys of %d records", p.names, len(p.records))
	}
	var got struct {
		Metadata struct{ UID string }
		Spec     struct {
			Names      struct{ ListKind, Singular string }
			Conversion struct{ Strategy string }
		}
		Status struct {
			AcceptedNames  struct{ ListKind string }
			StoredVersions []string
			Conditions     []struct{ Type, Status string }
		}
	}
	if err := json.Unmarshal(p.records[0].Value, &got); err != nil {
		t.Fatal(err)
	}
	if got.Metadata.UID == "" || got.Spec.Names.ListKind != "WidgetList" || got.Spec.Names.Singular != "widget" || got.Spec.Conversion.Strategy != "None" {
		t.Errorf("without the defaults of the API server: %+v", got)
	}
	if got.Status.AcceptedNames.ListKind != "WidgetList" || !slices.Equal(got.Status.StoredVersions, []string{"v2"}) || len(got.Status.Conditions) != 2 {
		t.Errorf("without the status that the API server's controllers write: %+v", got.Status)
	}
}

// Only CRDs can be there from the start: everything else goes through the API server, which checks
// it.
func TestPreload_OnlyCRDs(t *testing.T) {
	for name, row := range map[string]struct{ file, want string }{
		"another kind": {"apiVersion: v1\nkind: Namespace\nmetadata: {name: extra}\n", "Namespace extra is no CRD"},
		"another API":  {strings.Replace(widgetCRD, "/v1\n", "/v1beta1\n", 1), "is no CRD"},
		"no list":      {strings.Replace(widgetCRD, "  versions:", "  versions: none\n  x:", 1), "read the CRD widgets.example.com"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "file.yaml"), []byte(row.file), 0o644); err != nil {
				t.Fatal(err)
			}
			if _, err := readPreloadedCRDs(dir); err == nil || !strings.Contains(err.Error(), row.want) || !strings.Contains(err.Error(), dir) {
				t.Errorf("got %v, want an error with %q and the directory", err, row.want)
			}
		})
	}
}

// A cluster has the CRDs of the controllers that it will get, and no others.
func TestCRDGroups(t *testing.T) {
	for _, row := range []struct {
		controllers []infra.ControllerKind
		want        []stack.Group
	}{
		{nil, nil},
		{[]infra.ControllerKind{infra.ArgoCDControllers}, []stack.Group{stack.GroupArgoCD}},
		{[]infra.ControllerKind{infra.ArgoCDControllers, infra.ApplicationSetControllers}, []stack.Group{stack.GroupArgoCD}},
		{[]infra.ControllerKind{infra.FluxControllers}, []stack.Group{stack.GroupFlux}},
	} {
		if got := crdGroups(row.controllers); !slices.Equal(got, row.want) {
			t.Errorf("%q: got %q, want %q", row.controllers, got, row.want)
		}
	}
}
