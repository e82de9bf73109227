package charts

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/Masterminds/semver/v3"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/charts/catalog"
)

// alsoVersions is the annotation in a simulated chart's Chart.yaml that has the other versions of
// its original for which it was written, separated by commas.
const alsoVersions = "aicr.nvidia.com/also-versions"

// SimulatedName is the chart source of the simulated charts.
const SimulatedName = "simulated"

// AnyVersionName is the chart source of the simulated charts in any version that a recipe sets.
const AnyVersionName = "simulated-any-version"

// Simulated is the chart source of charts that stand for originals. Beside the version that a chart
// has, it gives it in those that its annotation alsoVersions lists. With AnyVersion it gives it in
// every version that a recipe may name, and says which one it was written for. No review confirmed
// that the original of such a version still has those workloads and value paths. It is safe for
// concurrent use.
type Simulated struct {
	Source     catalog.Source
	AnyVersion bool
	// Derived are charts that are made of those of Source.
	Derived []Derivation

	mu   sync.Mutex
	made map[catalog.Ref]*chart.Chart
}

var _ catalog.Source = (*Simulated)(nil)

// NewSimulated is the source of a directory of simulated charts, with those that its list of
// derivations makes of them. An error names what is wrong in that list.
func NewSimulated(fsys fs.FS, anyVersion bool) (*Simulated, error) {
	derived, err := readDerived(fsys)
	if err != nil {
		return nil, err
	}
	name := SimulatedName
	if anyVersion {
		name = AnyVersionName
	}
	return &Simulated{Source: catalog.FromFS(fsys, name), AnyVersion: anyVersion, Derived: derived}, nil
}

// FromDir is the source of a directory of charts. If it has the list of derivations of simulated charts,
// as a copy of kwok/charts does, it has those charts too. An error names the directory, or what is
// wrong in the list.
func FromDir(dir string) (catalog.Source, error) {
	source, err := catalog.FromDir(dir)
	if err != nil {
		return nil, err
	}
	derived, err := readDerived(os.DirFS(dir))
	if err != nil || len(derived) == 0 {
		return source, err
	}
	return directory{&Simulated{Source: source, Derived: derived}}, nil
}

// directory is a user's: unlike of what is in the program, it has to have every chart of a recipe.
type directory struct{ *Simulated }

// Name is that of the source.
func (s *Simulated) Name() string { return s.Source.Name() }

// Load gives the chart of a name in the version of ref, or the newest one without a version.
func (s *Simulated) Load(ctx context.Context, ref catalog.Ref) (*chart.Chart, string, error) {
	ch, from, err := s.Source.Load(ctx, ref)
	var missing *catalog.NotFoundError
	if err != nil && !errors.As(err, &missing) {
		return nil, "", err
	}
	if d := s.derived(ref, ch); d != nil {
		return s.derive(ctx, d)
	}
	if missing != nil {
		s.addDerived(ref.Name, missing)
	}
	if err == nil || ref.Version == "" {
		return ch, from, err
	}
	if _, invalid := semver.NewVersion(ref.Version); invalid != nil {
		return nil, "", err // a range, or nothing that a registry could have as a tag
	}
	newest, from, none := s.Load(ctx, catalog.Ref{Name: ref.Name})
	if none != nil {
		return nil, "", err
	}
	listed := wasWrittenFor(newest, ref.Version)
	if !listed && !s.AnyVersion {
		return nil, "", fmt.Errorf("%w; or pass --charts %s: it has this chart as it was written for %s, and the result says so", err, AnyVersionName, newest.Metadata.Version)
	}
	made, err := s.inVersion(newest, catalog.Ref{Name: ref.Name, Version: ref.Version})
	if err != nil {
		return nil, "", fmt.Errorf("chart source %s: chart %s as version %s: %w", s.Name(), ref.Name, ref.Version, err)
	}
	if !listed {
		from = fmt.Sprintf("%s (%s in place of %s)", from, newest.Metadata.Version, ref.Version)
	}
	return made, from, nil
}

// addDerived adds the versions of a chart that are made of others to what an error says that there is.
func (s *Simulated) addDerived(name string, missing *catalog.NotFoundError) {
	var versions []string
	for _, d := range s.Derived {
		if d.Name == name {
			versions = append(versions, d.Name+" "+d.Version)
		}
	}
	if len(versions) > 0 { // else it may name the other charts
		own := slices.DeleteFunc(slices.Clone(missing.Have), func(have string) bool { return !strings.HasPrefix(have, name+" ") })
		missing.Have = append(own, versions...)
	}
}

// derived gives the derivation with the name and version of ref, or, without a version, the newest
// one of a name that Source does not have; nil if there is none.
func (s *Simulated) derived(ref catalog.Ref, have *chart.Chart) *Derivation {
	var found *Derivation
	for i := range s.Derived {
		d := &s.Derived[i]
		switch {
		case have != nil || d.Name != ref.Name:
		case ref.Version == "":
			if found == nil || catalog.Newer(d.Version, found.Version) {
				found = d
			}
		case catalog.SameVersion(d.Version, ref.Version):
			return d
		}
	}
	return found
}

// derive makes a derived chart, once.
func (s *Simulated) derive(ctx context.Context, d *Derivation) (*chart.Chart, string, error) {
	from, where, err := s.Source.Load(ctx, catalog.Ref{Name: d.From})
	if err != nil {
		return nil, "", fmt.Errorf("chart source %s: chart %s %s is made of %s: %w", s.Name(), d.Name, d.Version, d.From, err)
	}
	var crds *chart.Chart
	if d.CRDsOf != "" {
		if crds, _, err = s.Source.Load(ctx, catalog.Ref{Name: d.CRDsOf}); err != nil {
			return nil, "", fmt.Errorf("chart source %s: chart %s %s has the CRDs of %s: %w", s.Name(), d.Name, d.Version, d.CRDsOf, err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	ref := catalog.Ref{Name: d.Name, Version: d.Version}
	if made, ok := s.made[ref]; ok {
		return made, where, nil
	}
	made, err := d.make(from, crds)
	if err != nil {
		return nil, "", fmt.Errorf("chart source %s: make chart %s %s of %s: %w", s.Name(), d.Name, d.Version, d.From, err)
	}
	s.keep(ref, made)
	return made, where, nil
}

func (s *Simulated) keep(ref catalog.Ref, ch *chart.Chart) {
	if s.made == nil {
		s.made = map[catalog.Ref]*chart.Chart{}
	}
	s.made[ref] = ch
}

func wasWrittenFor(ch *chart.Chart, version string) bool {
	return slices.ContainsFunc(strings.Split(ch.Metadata.Annotations[alsoVersions], ","), func(also string) bool {
		return catalog.SameVersion(strings.TrimSpace(also), version)
	})
}

// inVersion is a copy of the chart with another version, made once. The file Chart.yaml has that
// version too, since packing a chart copies its files.
func (s *Simulated) inVersion(ch *chart.Chart, ref catalog.Ref) (*chart.Chart, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if made, ok := s.made[ref]; ok {
		return made, nil
	}
	metadata := *ch.Metadata
	metadata.Version = ref.Version
	text, err := yaml.Marshal(&metadata)
	if err != nil {
		return nil, err
	}
	var files []*loader.BufferedFile
	for _, f := range ch.Raw {
		data := f.Data
		if f.Name == "Chart.yaml" {
			data = text
		}
		files = append(files, &loader.BufferedFile{Name: f.Name, Data: data})
	}
	made, err := loader.LoadFiles(files)
	if err != nil {
		return nil, err
	}
	s.keep(ref, made)
	return made, nil
}
