// Package recipe turns a directory of AICR recipes into resolved recipes.
//
// A recipes directory holds a component registry, overlays that each apply to some systems, mixins
// that overlays share, and the Helm values and manifests of the components. The way through the
// package is
//
//	Open ── Store ── Resolve or ResolveName ── Result ── Components (for a bundle) or Hydrate and Select (for a query)
//
// Open reads and checks everything and reports every problem at once, each with its file and line,
// so that nothing is started on recipes that cannot work. Files that a recipe names are looked up
// inside the directory only.
//
// Resolution is a function of the directory and the query: the same input gives the same bytes. Its
// rules, to which comments in this package refer by number, are:
//
//  1. An overlay matches when each of its criteria is unset, "any", or equal to the query's. A query of "any" does not
//     match an overlay that is specific.
//  2. Matches apply in order of the number of criteria they set, then by name.
//  3. Each match adds its chain of bases, root first; no overlay applies twice.
//  4. Later layers win: constraints by name, component fields unless empty, overrides recursively, dependencies as a list,
//     manifest files by appending, validation phases as a whole. The output is sorted by name.
//  5. The registry fills the fields that are still empty.
//  6. The deployment order is topological and, within that, alphabetical.
//  7. Values are components/NAME/values.yaml, then the valuesFile, then the overrides. Maps merge; everything else, null
//     included, replaces.
//  8. The result is a RecipeResult document.
//
// The package knows nothing of bundles and clusters.
package recipe
