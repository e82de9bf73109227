package preconditions

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/nvidia/aicr-action/internal/recipe"
)

// sharedStorage: the shared file systems of Slurm, where its values ask for them, need what a claim of each needs.
func sharedStorage(c *recipe.Component) string {
	storage, _ := c.Values["storage"].(map[string]any)
	if c.Name != slurm || storage["enabled"] != true {
		return ""
	}
	for _, key := range slices.Sorted(maps.Keys(storage)) {
		volume, ok := storage[key].(map[string]any)
		if !ok {
			continue
		}
		text := func(field string) string { s, _ := volume[field].(string); return s }
		switch size, err := resource.ParseQuantity(text("size")); {
		case text("storageClassName") == "":
			return fmt.Sprintf("storage.%s has no StorageClass, and a shared file system needs one that is ReadWriteMany; name it with --shared-storage-class", key)
		case len(validation.IsDNS1123Subdomain(text("storageClassName"))) > 0:
			return fmt.Sprintf("storage.%s.storageClassName is %q, which is no name of a StorageClass", key, text("storageClassName"))
		case len(validation.IsDNS1123Subdomain(text("name"))) > 0:
			return fmt.Sprintf("storage.%s.name is %q, which is no name of a PersistentVolumeClaim", key, text("name"))
		case err != nil || size.Sign() <= 0:
			return fmt.Sprintf("storage.%s.size is %q; write a size, e.g. 100Gi", key, text("size"))
		}
	}
	return ""
}
