package addons

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// Installed are the definitions that the cluster lacked, and that were installed for the programs.
func (r *Runner) Installed() []string { return slices.Clone(r.installed) }

// defined reports whether the cluster has a definition. One that the program cannot work with is an
// error: it is the recipe's, and is not changed.
func (r *Runner) defined(ctx context.Context, s Scheduler, want *unstructured.Unstructured) (bool, error) {
	have, err := r.Clients.Dynamic.Resource(infra.CRDResource).Get(ctx, want.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	lacks, err := lacking(have, want)
	if err != nil {
		return false, fmt.Errorf("definition %s: %w", want.GetName(), err)
	}
	if len(lacks) > 0 {
		return false, fmt.Errorf("the recipe's definition %s does not serve %s %s, which needs: %s. Install that version with the recipe, or leave the controller out",
			want.GetName(), s.Name, s.version, strings.Join(lists.AtMost(lacks, 4), ", "))
	}
	return true, nil
}

// lacking is what a definition lacks for a program that has its own: the version that it stores,
// its status, fields and defaults.
func lacking(have, want *unstructured.Unstructured) ([]string, error) {
	var h, w apiextv1.CustomResourceDefinition
	for _, one := range []struct {
		from *unstructured.Unstructured
		to   *apiextv1.CustomResourceDefinition
	}{{have, &h}, {want, &w}} {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(one.from.Object, one.to); err != nil {
			return nil, err
		}
	}
	if h.Spec.Scope != w.Spec.Scope {
		return []string{"the scope " + string(w.Spec.Scope)}, nil
	}
	var all []string
	for i := range w.Spec.Versions {
		v := &w.Spec.Versions[i]
		if !v.Storage {
			continue
		}
		at := slices.IndexFunc(h.Spec.Versions, func(o apiextv1.CustomResourceDefinitionVersion) bool { return o.Name == v.Name && o.Served })
		if at < 0 {
			return []string{"version " + v.Name}, nil
		}
		served := &h.Spec.Versions[at]
		if v.Subresources != nil && v.Subresources.Status != nil && (served.Subresources == nil || served.Subresources.Status == nil) {
			all = append(all, "the subresource status")
		}
		if v.Schema != nil && served.Schema != nil {
			all = append(all, lackingFields("", served.Schema.OpenAPIV3Schema, v.Schema.OpenAPIV3Schema)...)
		}
	}
	return all, nil
}

// templates are fields with the templates of pods and of Jobs, whose fields the API server knows
// and defaults once there are such objects.
var templates = []string{"template", "podTemplateOverrides"}

// lackingFields compares schemas from a path on: a field that is not there would be pruned, and a
// default that is not there would not be set. A schema that keeps unknown fields lacks none.
func lackingFields(path string, have, want *apiextv1.JSONSchemaProps) []string {
	if want == nil {
		return nil
	}
	if want.Items != nil && want.Items.Schema != nil {
		var items *apiextv1.JSONSchemaProps
		if have != nil && have.Items != nil {
			items = have.Items.Schema
		}
		return lackingFields(path+"[]", items, want.Items.Schema)
	}
	keeps := have != nil && have.XPreserveUnknownFields != nil && *have.XPreserveUnknownFields
	var all []string
	for _, name := range slices.Sorted(maps.Keys(want.Properties)) {
		w, at := want.Properties[name], strings.TrimPrefix(path+"."+name, ".")
		var h *apiextv1.JSONSchemaProps
		if have != nil {
			if found, ok := have.Properties[name]; ok {
				h = &found
			}
		}
		if path == "" && name != "spec" && name != "status" {
			continue
		}
		switch {
		case h == nil && have != nil && !keeps:
			all = append(all, "the field "+at)
			continue
		case sets(w.Default) && (h == nil || h.Default == nil || !bytes.Equal(h.Default.Raw, w.Default.Raw)):
			all = append(all, fmt.Sprintf("the default %s of %s", w.Default.Raw, at))
		}
		if !slices.Contains(templates, name) {
			all = append(all, lackingFields(at, h, &w)...)
		}
	}
	return all
}

// sets reports whether a default is more than what a field has that is not set.
func sets(value *apiextv1.JSON) bool {
	return value != nil && !slices.Contains([]string{`""`, "false", "0", "null", "{}", "[]"}, string(bytes.TrimSpace(value.Raw)))
}
