// Package storage has the checks of volumes, claims and their classes.
package storage

import "github.com/nvidia/aicr-action/internal/matrix/judge"

// Checks lists them.
func Checks() []judge.Check {
	return []judge.Check{
		allowedTopologies, volumeForAnother, volumeForNoNode,
		sharedDisk, claimWithSelector, noProvisioner, secondDefaultClass, snapshotClass, volumeMode,
		volumeRemoved, hugePages, driverWithoutPlugin, csiVolume, flexVolume, trustBundle, classMissing, claimSource, claimMissing,
		attributesClass, volumeMissing, volumeFromBefore, diskOnTwoNodes, claimWaitsForPod, sharedMemory, unknownMedium, volumeOfNoName,
	}
}
