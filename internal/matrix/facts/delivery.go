package facts

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result"
)

// Delivery is a delivery into a cluster that has one already: an upgrade, a rollback, or the same bundle once more.
type Delivery struct {
	// What it is, for people: the upgrade from v1.
	What string
	// Back: it is a rollback, so that the upgrade was judged before.
	Back bool
	// Event is the one of Helm's hooks that run before it.
	Event string
	// Before is what ran, nil if that is the same, and Now what is delivered.
	Before, Now *bundle.Bundle
	// Was is the UID that an object had before it; empty if it was not there. Nil before it has arrived.
	Was func(result.Ref) types.UID
	// Replaced, Removed and Left are the objects that it has made again, that are gone, and that are there although
	// nothing renders them any more.
	Replaced, Removed, Left []result.Ref
}
