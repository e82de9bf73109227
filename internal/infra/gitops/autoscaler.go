package gitops

// autoscalerHealth is Argo CD's health of a HorizontalPodAutoscaler, in Lua. Argo CD's own calls one
// Degraded that gets no metrics, or whose target has no selector, and an operation with a PostSync hook
// waits for the health of all objects before it: it would fail again and again. Here nothing serves
// metrics, and no operator writes the selector of its custom resource, whatever the recipe is. What an
// autoscaler says of the scale of a workload still counts. The conditions of autoscaling/v1 are an
// annotation of JSON, which Argo CD's Lua cannot read.
const autoscalerHealth = `hs = {}
hs.status = "Progressing"
hs.message = "the autoscaler has not looked at its target yet"
workload = {Deployment = true, StatefulSet = true, ReplicaSet = true, ReplicationController = true}
if not workload[obj.spec.scaleTargetRef.kind] then
  hs.status = "Healthy"
  hs.message = "the operator of its target is simulated"
  return hs
end
if obj.apiVersion == "autoscaling/v1" then
  if obj.metadata.annotations ~= nil and obj.metadata.annotations["autoscaling.alpha.kubernetes.io/conditions"] ~= nil then
    hs.status = "Healthy"
    hs.message = "no metrics are served here"
  end
  return hs
end
if obj.status ~= nil and obj.status.conditions ~= nil then
  for _, condition in ipairs(obj.status.conditions) do
    if condition.type == "AbleToScale" then
      hs.message = condition.message
      if condition.reason == "FailedGetScale" or condition.reason == "FailedUpdateScale" then
        hs.status = "Degraded"
      elseif condition.status == "True" then
        hs.status = "Healthy"
      end
    end
  end
end
return hs
`
