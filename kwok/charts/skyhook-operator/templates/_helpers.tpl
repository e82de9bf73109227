{{/* Where the operator and its hook Job go. */}}
{{- define "skyhook-operator.controllerPlacement" -}}
{{- include "simulated.placement" (dict "nodeSelector" .Values.controllerManager.selectors "tolerations" .Values.controllerManager.tolerations) -}}
{{- end -}}
