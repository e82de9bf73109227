// Package agent runs a phase of validation in the cluster: as a Job with its own ServiceAccount and
// the permissions that its checks need. It creates the Job, waits, reads the results from the log,
// and removes what it created. It runs `aicr snapshot` as a Job in the same way. It must not know
// what a check reads, or how results are printed.
//
// The exported names and their meaning are those of AICR's package pkg/validator/agent, v0.8.16.
// What is added: Config.Rules, Config.Logs, Config.RecipeName, inputs and results as ConfigMaps,
// and Jobs.
package agent

import (
	"errors"
	"fmt"
	"io"
	"path"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes"

	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/verify/validate"
)

// Config holds the configuration for deploying a validation agent Job.
type Config struct {
	// Namespace is where the validation Job is deployed. It must exist.
	Namespace string
	// JobName is the name of the Kubernetes Job.
	JobName string
	// Image is the container image to use. It has the program aicr on its PATH.
	Image string
	// ImagePullSecrets are names of Secrets in Namespace, for images of private registries.
	ImagePullSecrets []string
	// ServiceAccountName is that of the Job's pods; the RBAC objects are named after it.
	ServiceAccountName string
	// Tolerations for scheduling on tainted nodes.
	Tolerations []corev1.Toleration
	// Affinity of the pods. Nil prefers nodes without GPUs (preferCPUNodes).
	Affinity *corev1.Affinity
	// SnapshotConfigMap and RecipeConfigMap are the ConfigMaps with the keys snapshot.yaml and
	// recipe.yaml; EnsureInputs writes them. Without a name there is no such input.
	SnapshotConfigMap string
	RecipeConfigMap   string
	// ResultConfigMap is the ConfigMap in which Jobs stores the results of a run, and from which
	// GetResult reads them once the Job is deleted. Without a name the results are not stored.
	ResultConfigMap string
	// RecipeName is what findings call the recipe, before the line in it. Empty is its path in the
	// container.
	RecipeName string
	// TestPackage is the Go package path whose last element names the test binary: readiness.test
	// for checks/readiness. There is one for each validation phase.
	TestPackage string
	// TestPattern is the pattern of test names to run (passed to -test.run). Empty runs all tests
	// of the phase.
	TestPattern string
	// ExpectedTests is the number of tests expected to run. If it is set and another number ran,
	// the result is a failure.
	ExpectedTests int
	// Timeout for the Job to complete, as the API server enforces it too; default 5 minutes.
	Timeout time.Duration
	// Cleanup determines whether Jobs removes what it created when it ends.
	Cleanup bool
	// Debug enables debug logging of the container, before its results.
	Debug bool

	// Rules are what the checks may do, in every namespace. Nil grants the permissions that the
	// table of checks lists for the phase of TestPackage.
	Rules []rbacv1.PolicyRule
	// Logs is where StreamLogs writes; nil is os.Stderr.
	Logs io.Writer
}

// CleanupOptions controls what resources to remove during cleanup.
type CleanupOptions struct {
	// Enabled determines whether to clean up resources.
	Enabled bool
}

// Deployer manages the deployment and lifecycle of validation agent Jobs.
type Deployer struct {
	clientset kubernetes.Interface
	config    Config
}

// NewDeployer creates a new validation agent Deployer.
func NewDeployer(clientset kubernetes.Interface, config Config) *Deployer {
	if config.Timeout <= 0 {
		config.Timeout = defaultTimeout
	}
	return &Deployer{clientset: clientset, config: config}
}

const defaultTimeout = 5 * time.Minute

// snapshotPathEnv and recipePathEnv are the variables by which the container finds its inputs.
const (
	snapshotPathEnv = "AICR_SNAPSHOT_PATH"
	recipePathEnv   = "AICR_RECIPE_PATH"
	// recipeNameEnv is Config.RecipeName.
	recipeNameEnv = "AICR_RECIPE_NAME"
)

// Everything that is created has these labels. An object without them is another program's: it is
// used, and never changed or deleted.
const (
	nameLabel      = "app.kubernetes.io/name"
	managedByLabel = "app.kubernetes.io/managed-by"
	agentName      = "aicr-agent"
	manager        = "aicr"
)

func labels() map[string]string {
	return map[string]string{nameLabel: agentName, managedByLabel: manager}
}

func own(labels map[string]string) bool {
	return labels[nameLabel] == agentName && labels[managedByLabel] == manager
}

// phase is the validation phase of a test package.
func (c *Config) phase() (validate.Phase, error) {
	last := path.Base(c.TestPackage)
	for _, p := range validate.Phases() {
		if string(p) == last {
			return p, nil
		}
	}
	return "", reason.New(reason.Usage, "test package %q: its last element must be a validation phase: %v", c.TestPackage, validate.Phases())
}

// check refuses a configuration that no cluster could take.
func (c *Config) check() error {
	if _, err := c.phase(); err != nil {
		return err
	}
	if c.Image == "" {
		return reason.New(reason.Usage, "the validation agent has no image; name one that contains aicr")
	}
	for what, name := range map[string]string{"namespace": c.Namespace, "name of the Job": c.JobName} {
		if wrong := validation.IsDNS1123Label(name); len(wrong) > 0 {
			return reason.New(reason.Usage, "the %s of the validation agent cannot be %q: %s", what, name, wrong[0])
		}
	}
	return checkSubdomains(map[string]string{
		"ServiceAccount": c.ServiceAccountName, "snapshot's ConfigMap": c.SnapshotConfigMap, "recipe's ConfigMap": c.RecipeConfigMap, "result's ConfigMap": c.ResultConfigMap,
	}, "snapshot's ConfigMap", "recipe's ConfigMap", "result's ConfigMap")
}

// checkSubdomains refuses names that no object can have; those of optional may be empty.
func checkSubdomains(names map[string]string, optional ...string) error {
	for what, name := range names {
		if name == "" && contains(optional, what) {
			continue
		}
		if wrong := validation.IsDNS1123Subdomain(name); len(wrong) > 0 {
			return reason.New(reason.Usage, "the %s cannot be %q: %s", what, name, wrong[0])
		}
	}
	return nil
}

func contains(all []string, one string) bool {
	for _, s := range all {
		if s == one {
			return true
		}
	}
	return false
}

// failed names what was attempted. A namespace that does not exist and a permission that the caller
// lacks each say what to do.
func failed(doing, namespace string, err error) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsNotFound(err) && namespaceMissing(err):
		return reason.New(reason.ClusterAccess, "%s: the namespace %s does not exist; create it with `kubectl create namespace %s`", doing, namespace, namespace)
	case apierrors.IsForbidden(err):
		return reason.New(reason.ClusterAccess, "%s: your user lacks a permission for that: %w", doing, err)
	}
	return reason.New(reason.ClusterAccess, "%s: %w", doing, err)
}

func namespaceMissing(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	return status.Status().Details.Kind == "namespaces"
}

// named is how messages call an object.
func named(kind, namespace, name string) string {
	return fmt.Sprintf("%s %s/%s", kind, namespace, name)
}
