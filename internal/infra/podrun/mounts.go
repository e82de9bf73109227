package podrun

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcmd "k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/kubectl/pkg/util/resource"
)

// mounts are the container's, below a directory that stands for its file system. The process has no
// mount namespace, which not every machine allows: where a mount's path occurs in its arguments and
// environment, the path of the directory is put before it.
type mounts struct {
	root    string
	paths   []string // as the container names them, the longest first
	scratch []string // directories of emptyDirs
	made    []string // files that no volume has, as the container names them
	// wrote are the files of each mount, by their paths in it, as they were written last.
	wrote map[string]map[string][]byte
	// token is the file with the ServiceAccount's token, empty if none is mounted; it is to be
	// renewed before expires. kubeconfig names it, and is in a directory that the process cannot
	// write to.
	token      string
	kubeconfig string
	expires    time.Time
}

// mount writes the container's volumes. Another call writes the files again, and keeps the content
// of emptyDirs. It writes through os.Root, since the process may have created symbolic links in its
// emptyDirs.
func (w *worker) mount(ctx context.Context, c *corev1.Container) (*mounts, error) {
	m := &mounts{root: filepath.Join(w.dir, "root"), wrote: map[string]map[string][]byte{}} // of all containers: unsupported has seen that they agree on what is where
	if err := os.MkdirAll(m.root, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(m.root)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // nothing was written through its descriptor itself
	for _, vm := range c.VolumeMounts {
		at := path.Clean("/" + vm.MountPath)
		v := volume(w.pod, vm.Name)
		files, err := w.files(ctx, m, at, v, c)
		if err != nil {
			return nil, fmt.Errorf("volume %s: %w", vm.Name, err)
		}
		m.paths, m.wrote[at] = append(m.paths, at), files
		if v.EmptyDir != nil {
			m.scratch = append(m.scratch, filepath.Join(m.root, at))
		}
		if err := write(root, at, vm.SubPath, files); err != nil {
			return nil, fmt.Errorf("volume %s: %w", vm.Name, err)
		}
	}
	slices.SortFunc(m.paths, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	if m.token == "" {
		return m, nil
	}
	config, err := w.kubeconfig(filepath.Join(m.root, m.token))
	if err != nil {
		return nil, err
	}
	m.kubeconfig = filepath.Join(w.dir, "kubeconfig")
	return m, os.WriteFile(m.kubeconfig, config, 0o600)
}

// write puts the files of a volume at a mount's path; with a subPath only what is below it.
func write(root *os.Root, at, subPath string, files map[string][]byte) error {
	dir := strings.TrimPrefix(at, "/")
	if subPath != "" {
		subPath = path.Clean(subPath)
		if data, ok := files[subPath]; ok { // a file in place of the mount's path
			if err := root.MkdirAll(path.Dir(dir), 0o700); err != nil {
				return err
			}
			return root.WriteFile(dir, data, 0o600)
		}
	}
	if err := root.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for name, data := range files {
		if subPath != "" {
			below, ok := strings.CutPrefix(name, subPath+"/")
			if !ok {
				continue
			}
			name = below
		}
		file := path.Join(dir, name)
		if err := root.MkdirAll(path.Dir(file), 0o700); err != nil {
			return err
		}
		next := path.Join(path.Dir(file), "..next-"+path.Base(file)) // a program that reads it meanwhile has the old one or the new one
		if err := root.WriteFile(next, data, 0o600); err != nil {
			return err
		}
		if err := root.Rename(next, file); err != nil {
			return fmt.Errorf("replace %s: %w", file, err)
		}
	}
	return nil
}

// files are those of a volume, by their paths in it.
func (w *worker) files(ctx context.Context, m *mounts, at string, v *corev1.Volume, c *corev1.Container) (map[string][]byte, error) {
	switch {
	case v.ConfigMap != nil:
		return w.configMapFiles(ctx, v.ConfigMap.Name, v.ConfigMap.Items, v.ConfigMap.Optional)
	case v.Secret != nil:
		return w.secretFiles(ctx, v.Secret.SecretName, v.Secret.Items, v.Secret.Optional)
	case v.DownwardAPI != nil:
		return w.downward(v.DownwardAPI.Items, c)
	case v.Projected == nil:
		return nil, nil
	}
	all := map[string][]byte{}
	for _, s := range v.Projected.Sources {
		var files map[string][]byte
		var err error
		switch {
		case s.ConfigMap != nil:
			files, err = w.configMapFiles(ctx, s.ConfigMap.Name, s.ConfigMap.Items, s.ConfigMap.Optional)
		case s.Secret != nil:
			files, err = w.secretFiles(ctx, s.Secret.Name, s.Secret.Items, s.Secret.Optional)
		case s.DownwardAPI != nil:
			files, err = w.downward(s.DownwardAPI.Items, c)
		case s.ServiceAccountToken != nil:
			files, err = w.token(ctx, s.ServiceAccountToken, m, at)
		}
		if err != nil {
			return nil, err
		}
		for name, data := range files {
			all[name] = data
		}
	}
	return all, nil
}

func (w *worker) configMapFiles(ctx context.Context, name string, items []corev1.KeyToPath, optional *bool) (map[string][]byte, error) {
	c, err := w.configMap(ctx, name, optional)
	if err != nil || c == nil {
		return nil, err
	}
	data := map[string][]byte{}
	for k, v := range c.Data {
		data[k] = []byte(v)
	}
	for k, v := range c.BinaryData {
		data[k] = v
	}
	return choose("ConfigMap", name, data, items, optional)
}

func (w *worker) secretFiles(ctx context.Context, name string, items []corev1.KeyToPath, optional *bool) (map[string][]byte, error) {
	s, err := w.secret(ctx, name, optional)
	if err != nil || s == nil {
		return nil, err
	}
	return choose("Secret", name, s.Data, items, optional)
}

// choose gives the keys that items name, by their paths; all keys if there are none.
func choose(kind, name string, data map[string][]byte, items []corev1.KeyToPath, optional *bool) (map[string][]byte, error) {
	if len(items) == 0 {
		return data, nil
	}
	chosen := map[string][]byte{}
	for _, item := range items {
		value, ok := data[item.Key]
		if !ok {
			if err := missingKey(kind, name, item.Key, optional); err != nil {
				return nil, err
			}
			continue
		}
		chosen[item.Path] = value
	}
	return chosen, nil
}

func (w *worker) downward(items []corev1.DownwardAPIVolumeFile, c *corev1.Container) (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, item := range items {
		var value string
		var err error
		switch {
		case item.FieldRef != nil:
			value, err = w.field(item.FieldRef.FieldPath)
		case item.ResourceFieldRef != nil:
			value, err = resource.ExtractContainerResourceValue(item.ResourceFieldRef, c)
		}
		if err != nil {
			return nil, err
		}
		files[item.Path] = []byte(value)
	}
	return files, nil
}

// token requests a token of the pod's ServiceAccount, which is valid as long as the pod exists.
func (w *worker) token(ctx context.Context, source *corev1.ServiceAccountTokenProjection, m *mounts, at string) (map[string][]byte, error) {
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: source.ExpirationSeconds, BoundObjectRef: &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: w.pod.Name, UID: w.pod.UID},
	}}
	if source.Audience != "" {
		request.Spec.Audiences = []string{source.Audience}
	}
	account := cmp.Or(w.pod.Spec.ServiceAccountName, "default")
	got, err := w.r.Clients.Kube.CoreV1().ServiceAccounts(w.pod.Namespace).CreateToken(ctx, account, request, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("request a token of ServiceAccount %s: %w", account, err)
	}
	if source.Audience == "" {
		m.token, m.expires = path.Join(at, source.Path), got.Status.ExpirationTimestamp.Time
	}
	return map[string][]byte{source.Path: []byte(got.Status.Token)}, nil
}

// kubeconfig is how a program finds the API server without a file at the path that client libraries
// have for pods.
func (w *worker) kubeconfig(token string) ([]byte, error) {
	if len(w.r.Clients.Config.CAData) == 0 {
		return nil, errors.New("the certificate of the API server's authority is not known")
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["cluster"] = &clientcmdapi.Cluster{Server: w.r.Clients.Config.Host, CertificateAuthorityData: w.r.Clients.Config.CAData}
	config.AuthInfos["pod"] = &clientcmdapi.AuthInfo{TokenFile: token}
	config.Contexts["pod"] = &clientcmdapi.Context{Cluster: "cluster", AuthInfo: "pod", Namespace: w.pod.Namespace}
	config.CurrentContext = "pod"
	return clientcmd.Write(*config)
}

// workDir is the directory in which the container's process starts, below the root; empty if the
// container names none. It creates a directory that no volume has, as a kubelet does in the image's
// file system, and the process may write to it. It uses os.Root, since the process may have
// replaced the directory by a symbolic link.
func (m *mounts) workDir(asked string) (string, error) {
	if asked == "" {
		return "", nil
	}
	at := path.Clean("/" + asked)
	root, err := os.OpenRoot(m.root)
	if err != nil {
		return "", err
	}
	defer func() { _ = root.Close() }() // nothing was written through its descriptor itself
	if err := root.MkdirAll(path.Join(".", at), 0o700); err != nil {
		return "", fmt.Errorf("the working directory %s: %w", asked, err)
	}
	dir := filepath.Join(m.root, at)
	if at != "/" && !slices.ContainsFunc(m.paths, func(p string) bool { return at == p || strings.HasPrefix(at, p+"/") || strings.HasPrefix(p, at+"/") }) {
		m.scratch = append(m.scratch, dir)
	}
	return dir, nil
}

// within puts the root before each path of a mount in a text: "--config=/etc/x/file" has one,
// "https://host/etc/x" has none.
func (m *mounts) within(text string) string {
	var out strings.Builder
	for i := 0; i < len(text); {
		at := ""
		if text[i] == '/' && (i == 0 || !pathByte(text[i-1])) {
			for _, p := range m.paths {
				rest, ok := strings.CutPrefix(text[i:], p)
				if ok && (rest == "" || rest[0] == '/' || !pathByte(rest[0])) {
					at = p
					break
				}
			}
		}
		if at == "" {
			out.WriteByte(text[i])
			i++
			continue
		}
		out.WriteString(m.root + at)
		i += len(at)
	}
	return out.String()
}

// pathByte reports whether a byte before a slash makes that slash the middle of a path or an
// address.
func pathByte(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || strings.IndexByte("._-/~", b) >= 0
}
