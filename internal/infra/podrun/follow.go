package podrun

import (
	"bytes"
	"context"
	"os"
	"path"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// updateInterval is how often a pod's volumes are compared with the objects that they are of. A
// kubelet takes up to a minute, after which a cell is over.
const updateInterval = time.Second

// follow brings changes of ConfigMaps and Secrets into the volumes of a process, as a kubelet does;
// not into a mount with a subPath. A program that makes its own certificate waits for it there.
func (w *worker) follow(ctx context.Context, m *mounts) {
	c := &w.pod.Spec.Containers[0]
	said := ""
	for sleep(ctx, updateInterval) {
		for _, vm := range c.VolumeMounts {
			v := volume(w.pod, vm.Name)
			if vm.SubPath != "" || !follows(v) {
				continue
			}
			err := w.update(ctx, m, path.Clean("/"+vm.MountPath), v, c)
			if ctx.Err() != nil {
				return
			}
			if err != nil && err.Error() != said {
				said = err.Error()
				w.r.Log.Warn("update a volume of a pod that runs", "pod", w.name(), "volume", vm.Name, "err", err)
			}
		}
	}
}

// follows reports whether a volume can change: one with a token has its own time (renew).
func follows(v *corev1.Volume) bool { return v.ConfigMap != nil || v.Secret != nil }

// followed reports whether a pod has a volume that can change.
func (w *worker) followed() bool {
	for _, vm := range w.pod.Spec.Containers[0].VolumeMounts {
		if v := volume(w.pod, vm.Name); vm.SubPath == "" && follows(v) {
			return true
		}
	}
	return false
}

// update writes the files of a volume that have changed, each at once, and removes those that the
// object no longer has.
func (w *worker) update(ctx context.Context, m *mounts, at string, v *corev1.Volume, c *corev1.Container) error {
	files, err := w.files(ctx, m, at, v, c)
	if err != nil {
		return err
	}
	have, changed := m.wrote[at], map[string][]byte{}
	for name, data := range files {
		if before, ok := have[name]; !ok || !bytes.Equal(before, data) {
			changed[name] = data
		}
	}
	root, err := os.OpenRoot(m.root)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // nothing was written through its descriptor itself
	if err := write(root, at, "", changed); err != nil {
		return err
	}
	for name := range have {
		if _, ok := files[name]; !ok {
			if err := root.Remove(strings.TrimPrefix(path.Join(at, name), "/")); err != nil && !os.IsNotExist(err) {
				return err
			}
		}
	}
	m.wrote[at] = files
	return nil
}
