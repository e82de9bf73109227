package embedded

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/Masterminds/semver/v3"
	"sigs.k8s.io/kwok/pkg/apis/internalversion"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/infra/gitops"
)

// The feature gate of admission policies in files, and the first minor version that has it, where
// it is off by default.
const (
	staticPolicies     = "ManifestBasedAdmissionControlConfig"
	staticPoliciesFrom = 36
)

func (c *ControlPlane) admissionConfig() string { return filepath.Join(c.dir, "admission.yaml") }

// readsPolicies reports whether the API server is to read admission policies from files, and can.
func (c *ControlPlane) readsPolicies() bool {
	return (c.guarded || len(c.uncalled) > 0) && canReadPolicies(c.stack.KubeVersion())
}

func canReadPolicies(version string) bool {
	v, err := semver.NewVersion(version)
	return err == nil && (v.Major() > 1 || v.Minor() >= staticPoliciesFrom)
}

// writeAdmission writes the configuration of the API server's admission, and the policies in a
// directory for each plugin.
func (c *ControlPlane) writeAdmission() error {
	if !c.readsPolicies() {
		return nil
	}
	const group = "apiserver.config.k8s.io/v1"
	var plugins []any
	add := func(plugin string, policies []byte) error {
		dir := filepath.Join(c.dir, "admission-"+strings.ToLower(plugin))
		plugins = append(plugins, map[string]any{
			"name":          plugin,
			"configuration": map[string]any{"apiVersion": group, "kind": plugin + "Configuration", "staticManifestsDir": dir},
		})
		return errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "policies.yaml"), policies, 0o600))
	}
	if c.guarded {
		policy, err := gitops.StaticPolicy()
		if err != nil {
			return err
		}
		if err := add("ValidatingAdmissionPolicy", policy); err != nil {
			return err
		}
	}
	if len(c.uncalled) > 0 {
		if err := add("MutatingAdmissionPolicy", c.uncalled); err != nil {
			return err
		}
	}
	config, err := yaml.Marshal(map[string]any{"apiVersion": group, "kind": "AdmissionConfiguration", "plugins": plugins})
	if err != nil {
		return err
	}
	return os.WriteFile(c.admissionConfig(), config, 0o600)
}

// admissionArgs are the API server's arguments for it.
func (c *ControlPlane) admissionArgs() []internalversion.ExtraArgs {
	if !c.readsPolicies() {
		return nil
	}
	return []internalversion.ExtraArgs{
		{Key: "feature-gates", Value: staticPolicies + "=true"},
		{Key: "admission-control-config-file", Value: c.admissionConfig()},
	}
}

// writeAudit has the API server write down who writes what, where programs run for pods: two of them
// may own one object.
func (c *ControlPlane) writeAudit() error {
	if len(c.programs) == 0 {
		return nil
	}
	c.writes = followWrites(c.auditLog())
	return os.WriteFile(c.auditPolicy(), writesPolicy(), 0o600)
}

func (c *ControlPlane) auditPolicy() string { return filepath.Join(c.dir, "audit.yaml") }
func (c *ControlPlane) auditLog() string    { return filepath.Join(c.dir, "audit.log") }

// auditArgs are the API server's arguments for it.
func (c *ControlPlane) auditArgs() []internalversion.ExtraArgs {
	if len(c.programs) == 0 {
		return nil
	}
	return []internalversion.ExtraArgs{{Key: "audit-policy-file", Value: c.auditPolicy()}, {Key: "audit-log-path", Value: c.auditLog()}}
}
