// Package discover says which cells a change needs: recipes and deployers, each with the reasons.
//
// The tiers are those of AICR's KWOK deployer matrix:
//
//  1. every generic overlay (a service, no accelerator) through every deployer;
//  2. every overlay for an accelerator that a change reaches, through helm only: whether the other
//     deployers can deliver a bundle does not depend on the accelerator; tiers 1 and 3 check it;
//  3. every overlay with a service, through every deployer.
//
// A change reaches an overlay by a file that belongs to its recipe, before or after the change: the
// overlay, those that it is based on or that apply with it, and their mixins; the values,
// manifests, patches and checks of its components; their charts, if the repository has charts; and
// their entries in registry.yaml. Renamed and removed files count, since both versions are
// compared. The registry and base.yaml belong to every recipe. They count by what changed in them:
// for the recipes that resolve to something different.
//
// What changed is the difference between the working tree, which is what a run reads, and the merge
// base.
package discover
