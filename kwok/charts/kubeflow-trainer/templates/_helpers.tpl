{{/* The name of the manager's objects. */}}
{{- define "kubeflow-trainer.manager" -}}
{{- printf "%s-controller-manager" (include "simulated.fullname" .) -}}
{{- end -}}
