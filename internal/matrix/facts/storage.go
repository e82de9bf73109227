package facts

import "strings"

// ProviderOfDriver is the managed Kubernetes that may have a CSI driver without a recipe; empty for another driver.
func ProviderOfDriver(driver string) string {
	for suffix, provider := range map[string]string{".csi.azure.com": "AKS", ".csi.storage.gke.io": "GKE", ".csi.aws.com": "EKS", ".csi.oraclecloud.com": "OKE", ".linodebs.com": "LKE"} {
		if strings.HasSuffix(driver, suffix) {
			return provider
		}
	}
	return ""
}
