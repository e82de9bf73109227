// Package operator has the checks of custom resources, and what their operators make of them.
package operator

import "github.com/nvidia/aicr-action/internal/matrix/judge"

// Checks lists them.
func Checks() []judge.Check {
	return []judge.Check{
		featureRule, jobSetRefused, namesNothing, operatorIdle,
		prometheusRule, monitorLeftOut, keyMissing, alertmanagerConfiguration, alertmanagerConfigRoute,
		certificateRefused, issuerRefused, certificatesShareSecret, issuerAuthority,
		monitorOfNothing, monitorPort, monitorNotSelected, noIssuer, keystorePassword, authority, annotationIssuer,
		gpuConfiguration, dashboard, pluginConfiguration, pluginConfigurations, exporterMetricsRefused, partitionMissing, selectsNoNode,
	}
}
