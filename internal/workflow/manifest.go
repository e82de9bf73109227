package workflow

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"
)

// Manifest says how workflows run inside a cluster.
type Manifest struct{ Image, Namespace, Name string }

// The directory of a Job's workflows, and the largest ConfigMap: the API server takes 1 MiB,
// including metadata.
const (
	mountPath     = "/workflows"
	cachePath     = "/cache" // a volume, so that the Job needs no image with a /tmp that it may write to
	largestConfig = 1000 << 10
)

// Manifest returns, as YAML, the ServiceAccount, the binding, the ConfigMap and the Job that run
// the plan's workflows inside a cluster. Templates keep their paths, relative to the Job's working
// directory. One with an absolute path, or outside of it, is an error.
func (p *Plan) Manifest(m Manifest) (string, error) {
	for field, value := range map[string]string{"namespace": m.Namespace, "name": m.Name} {
		if problems := validation.IsDNS1123Label(value); len(problems) > 0 {
			return "", fmt.Errorf("%s %q: %s", field, value, strings.Join(problems, "; "))
		}
	}
	files := &configFiles{data: map[string]string{}, keys: map[string]string{}}
	args := []string{"workflow", "run", "--in-cluster"}
	for i, w := range p.Workflows {
		at := fmt.Sprintf("%02d-%s", i, filepath.Base(w.File))
		if err := files.add(at, w.File); err != nil {
			return "", err
		}
		args = append(args, at)
		for _, t := range w.Tasks {
			register, ok := t.params.(*registerParams)
			if !ok {
				continue
			}
			if !filepath.IsLocal(register.Template) {
				return "", fmt.Errorf("%s", t.problem(0, "template %s: inside a cluster a template is beside the workflows; want a relative path without ..", register.Template))
			}
			found, err := findTemplate(w.File, register.Template)
			if err != nil {
				return "", err
			}
			if err := files.add(filepath.ToSlash(filepath.Clean(register.Template)), found); err != nil {
				return "", err
			}
		}
	}
	if files.size > largestConfig {
		return "", fmt.Errorf("the workflows and their templates have %d KiB, and a ConfigMap holds %d", files.size>>10, largestConfig>>10)
	}
	var parts []string
	for _, o := range m.objects(files, args) {
		raw, err := yaml.Marshal(o)
		if err != nil {
			return "", err
		}
		parts = append(parts, string(raw))
	}
	return strings.Join(parts, "---\n"), nil
}

// configFiles are the files of a ConfigMap. Its keys have no slashes, so the mount gives each file
// its path.
type configFiles struct {
	data  map[string]string
	keys  map[string]string // by path
	items []corev1.KeyToPath
	size  int
}

func (c *configFiles) add(path, from string) error {
	raw, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if !utf8.Valid(raw) {
		return fmt.Errorf("%s is not UTF-8", from)
	}
	if key, ok := c.keys[path]; ok {
		if c.data[key] != string(raw) {
			return fmt.Errorf("two different files are to be at %s inside the cluster, one of them %s", path, from)
		}
		return nil
	}
	key := fmt.Sprintf("file-%02d", len(c.items))
	c.keys[path], c.data[key] = key, string(raw)
	c.items = append(c.items, corev1.KeyToPath{Key: key, Path: path})
	c.size += len(raw) + len(path)
	return nil
}

func (m Manifest) objects(files *configFiles, args []string) []any {
	meta := metav1.ObjectMeta{Name: m.Name, Namespace: m.Namespace}
	never := int32(0)
	return []any{
		corev1.ServiceAccount{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"}, ObjectMeta: meta},
		rbacv1.ClusterRoleBinding{
			TypeMeta: metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRoleBinding"}, ObjectMeta: metav1.ObjectMeta{Name: m.Namespace + "-" + m.Name},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: m.Name, Namespace: m.Namespace}},
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		},
		corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: meta, Data: files.data},
		batchv1.Job{
			TypeMeta: metav1.TypeMeta{APIVersion: batchv1.SchemeGroupVersion.String(), Kind: "Job"}, ObjectMeta: meta,
			Spec: batchv1.JobSpec{BackoffLimit: &never, Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				ServiceAccountName: m.Name, RestartPolicy: corev1.RestartPolicyNever,
				// Not on a virtual node, where nothing would run.
				Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
					NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "type", Operator: corev1.NodeSelectorOpNotIn, Values: []string{"kwok"}}}}},
				}}},
				Containers: []corev1.Container{{
					Name: "matrix", Image: m.Image, Args: args, WorkingDir: mountPath,
					Env:          []corev1.EnvVar{{Name: "AICR_ACTION_CACHE", Value: cachePath}},
					VolumeMounts: []corev1.VolumeMount{{Name: "workflows", MountPath: mountPath, ReadOnly: true}, {Name: "cache", MountPath: cachePath}},
				}},
				Volumes: []corev1.Volume{{Name: "workflows", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
					LocalObjectReference: corev1.LocalObjectReference{Name: m.Name}, Items: files.items,
				}}}, {Name: "cache", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
			}}},
		},
	}
}
