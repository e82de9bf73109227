package policy

// HelmfileFields are the fields of helmfile that a bundle may have, by their place. Others may run programs or change what is installed.
func HelmfileFields() map[string][]string {
	return map[string][]string{
		"":             {"helmfiles", "repositories", "helmDefaults", "releases"},
		"repositories": {"name", "url", "oci", "plainHttp"},
		"helmDefaults": {"wait", "waitForJobs", "timeout", "createNamespace", "disableValidation", "disableOpenAPIValidation", "plainHttp", "forceConflicts"},
		"releases": {
			"name", "namespace", "chart", "version", "values", "needs", "wait", "waitForJobs", "timeout", "createNamespace", "disableValidation",
			"disableValidationOnInstall", "disableOpenAPIValidation", "plainHttp", "skipDeps", "hooks", "forceConflicts",
		},
	}
}
