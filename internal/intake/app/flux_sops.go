package app

import (
	"cmp"
	"slices"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/bundle/checkout"
	"github.com/nvidia/aicr-action/internal/bundle/fluxapi"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// decrypted gives an object as Flux applies it, if SOPS has encrypted it: a Secret or ConfigMap has
// its keys, with placeholders for values, since the key is not here. What is encrypted in others may
// decide what runs, and is refused.
func (f *fluxApp) decrypted(o object) (object, error) {
	if !fluxapi.IsEncrypted(o.Node) {
		return o, nil
	}
	if fluxapi.IsEncryptedSOPS(o.Kind()) || fluxapi.IsEncryptedSOPS(o.Name()) || o.Kind() != "Secret" && o.Kind() != "ConfigMap" {
		return o, f.repo.Bad(o, nil, "this object is encrypted by SOPS beyond the data of a Secret or ConfigMap, and its key is not here: encrypt only these (encrypted_regex: ^(data|stringData)$), or run a copy of the path with test values")
	}
	made := checkout.New(o.File, yamlx.Clone(o.Node))
	fluxapi.FillEncrypted(made.Node)
	f.override("%s %s (%s) is encrypted by SOPS, whose key is not here: its values are placeholders", o.Kind(), o.Name(), f.repo.At(o))
	return made, nil
}

// mayDecrypt refuses a Secret that SOPS has encrypted in a Kustomization that does not decrypt: Flux applies nothing of it
// (kustomize-controller, KustomizationReconciler.apply).
func (f *fluxApp) mayDecrypt(o, within object) error {
	if o.Kind() != "Secret" || yamlx.Text(o.Node, "apiVersion") != "v1" || !fluxapi.IsEncrypted(o.Node) || !isKustomization(within) || yamlx.Text(within.Node, "spec", "decryption", "provider") != "" ||
		yamlx.Text(o.Node, "metadata", "annotations", noDecryption) == "disabled" {
		return nil
	}
	return f.repo.Bad(o, nil, "Secret %s is encrypted by SOPS, and Kustomization %s (%s), which applies it, does not decrypt: Flux applies nothing of that Kustomization; set its spec.decryption (provider: sops, and secretRef), or encrypt nothing here", o.Name(), within.Name(), f.repo.At(within))
}

// noDecryption is the annotation, with the value disabled, of an object that Flux does not decrypt.
const noDecryption = "kustomize.toolkit.fluxcd.io/decrypt"

// readable refuses values of a HelmRelease that are in an encrypted object: they decide what is
// installed. The cluster file may say that they exist.
func (f *fluxApp) readable(o object, namespace string, from *yamlv3.Node) error {
	if from == nil {
		return nil
	}
	for _, item := range from.Content {
		kind, name := yamlx.Text(item, "kind"), yamlx.Text(item, "name")
		i := slices.IndexFunc(f.values, func(s object) bool {
			return s.Kind() == kind && s.Name() == name && yamlx.Text(s.Node, "metadata", "namespace") == namespace
		})
		if i < 0 || !fluxapi.IsEncrypted(f.values[i].Node) {
			continue
		}
		key := cmp.Or(yamlx.Text(item, "valuesKey"), "values.yaml")
		if _, said := f.cluster.Of(kind, namespace, name, key); !said {
			return f.repo.BadAt(o, item, "the values of HelmRelease %s are in %s %s (%s), which is encrypted by SOPS, and its key is not here: give it values in --cluster-file: `%s`, and the value of a key under variables (`variables: {%s: VALUE}`); without one it is empty", o.Name(), kind, name, f.repo.At(f.values[i]), existsLine(kind, namespace, name, key), key)
		}
	}
	return nil
}
