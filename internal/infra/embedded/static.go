package embedded

import (
	"os"
	"path/filepath"

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
	return c.guarded && canReadPolicies(c.stack.KubeVersion())
}

func canReadPolicies(version string) bool {
	v, err := semver.NewVersion(version)
	return err == nil && (v.Major() > 1 || v.Minor() >= staticPoliciesFrom)
}

// writeAdmission writes the configuration of the API server's admission, and the policy in a
// separate directory.
func (c *ControlPlane) writeAdmission() error {
	if !c.readsPolicies() {
		return nil
	}
	policy, err := gitops.StaticPolicy()
	if err != nil {
		return err
	}
	dir := filepath.Join(c.dir, "admission")
	const group = "apiserver.config.k8s.io/v1"
	config, err := yaml.Marshal(map[string]any{"apiVersion": group, "kind": "AdmissionConfiguration", "plugins": []any{map[string]any{
		"name":          "ValidatingAdmissionPolicy",
		"configuration": map[string]any{"apiVersion": group, "kind": "ValidatingAdmissionPolicyConfiguration", "staticManifestsDir": dir},
	}}})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "policies.yaml"), policy, 0o600); err != nil {
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
