// Package discover says which cells a change needs: recipes and deployers, each with the reasons.
//
// The tiers are those of AICR's KWOK deployer matrix:
//
//  1. every generic overlay (a service, no accelerator) through every deployer;
//  2. every overlay for an accelerator that a change reaches, through helm only: whether the other deployers can deliver a bundle does not
//     depend on the accelerator, and tiers 1 and 3 ask it;
//  3. every overlay with a service, through every deployer.
//
// A change reaches an overlay by a file that has a part in its recipe, before or after the change:
// the overlay, those that it is based on or that apply with it, and their mixins; the values,
// manifests, patches and checks of its components; the charts of those, where the repository has
// charts; and their entries in registry.yaml. Renamed and removed files count, since both versions
// are looked at. The registry and base.yaml have a part in every recipe. They count by what changed
// in them: for the recipes that resolve to something else than before.
//
// What changed is the difference between the working tree, which is what a run reads, and the merge
// base.
package discover
