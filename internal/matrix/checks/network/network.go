// Package network has the checks of Services, Ingresses, policies and webhooks.
package network

import (
	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

// Checks lists them.
func Checks() []judge.Check {
	return []judge.Check{
		externalName, ingressWithoutClass,
		calledWithoutPods, noCAInjector, gatewayClassNotServed, gatewayClassMissing, routeWithoutGateway, noListener, gatewayCertificate, routeBackend, webhookCertificate,
		webhookOutside, ingressPathTwice, ingressCertificate, policyCloses, governingService, subdomain,
		noGoverningService, ingressBackend, loadBalancerClass, loadBalancerPort, targetPort, policyPort, policyShutsOut,
		selectsNoPod, calledService, webhookAtLoopback, caBundle, webhookOrder, webhookOfOwnPods, ingressClass,
		refusesItself, loadBalancerWithoutCloud, simulatedConversion, tlsHost, policyTypes, webhookResource, keyPair, addressOfNoService, nodeDNS, networkAttachment, egressWithoutDNS,
	}
}

// ownNamespaces are those of the recipe's objects: what others have is not known.
func ownNamespaces(s *judge.Scope) map[string]bool {
	own := map[string]bool{}
	for i := range s.Expectation.Objects {
		own[s.Expectation.Objects[i].Object.GetNamespace()] = true
	}
	return own
}
