{{/* The controller has the release's own name, the others a suffix. Takes (list $ "component"). */}}
{{- define "cert-manager.componentName" -}}
{{- $fullname := include "simulated.fullname" (index . 0) -}}
{{- if eq (index . 1) "controller" }}{{ $fullname }}{{ else }}{{ printf "%s-%s" $fullname (index . 1) }}{{ end -}}
{{- end -}}
