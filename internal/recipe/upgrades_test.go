package recipe

import (
	"fmt"
	"strings"
	"testing"
)

const header = "apiVersion: aicr.run/v1beta1\nkind: ComponentUpgrades\ncomponent: thing\ntransitions:\n"

const remainder = "    stepsByDeployer: [{steps: [{id: do, description: Do it.}]}]\n"

func transition(from, to, verdict, more string) string {
	return fmt.Sprintf("  - from: %q\n    to: %q\n    verdict: %s\n    summary: what breaks\n%s", from, to, verdict, more)
}

func record(t *testing.T, transitions ...string) *UpgradeRecord {
	t.Helper()
	r, err := ReadUpgrades("upgrades.yaml", "thing", []byte(header+strings.Join(transitions, "")))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRange(t *testing.T) {
	for text, versions := range map[string]map[string]bool{
		">=1.2.0 <1.3.0":     {"1.2.0": true, "v1.2.9": true, "1.3.0": false, "1.1.9": false, "1.3.0-rc.1": true},
		"<=1.2.0":            {"1.2.0": true, "1.2.1": false, "0.1.0": true},
		">1.2.0":             {"1.2.0": false, "1.2.1": true},
		"0.1.0-alpha.12":     {"0.1.0-alpha.12": true, "0.1.0-alpha.8": false, "0.1.0": false},
		"=v1.0.0":            {"1.0.0": true, "1.0.1": false},
		"<0.1.0-alpha.12":    {"0.1.0-alpha.8": true, "0.1.0-alpha.12": false},
		">=1.2.0    <=1.2.0": {"1.2.0": true},
	} {
		r, err := parseRange(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		for version, want := range versions {
			v, err := parseVersion(version)
			if err != nil || r.Has(v) != want {
				t.Errorf("%s has %s: got %v, %v", text, version, !want, err)
			}
		}
	}
	for text, want := range map[string]string{
		"":               "the range is empty",
		"^1.2.0":         "is not a comparator",
		"1.2":            "is not a comparator",
		"1.x.0":          "is not a comparator",
		">=1.2.0 || <1":  "is not a comparator",
		">=1.2.0,<1.3.0": "is not a comparator",
		"1.2.0+build":    "has build metadata",
		"=>1.2.0":        "begins with =>",
		">1.0.0 >=2.0.0": "a second bound on the same side",
		">2.0.0 <1.0.0":  "no version is in the range",
		">=1.0.0 <1.0.0": "no version is in the range",
	} {
		if _, err := parseRange(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"empty":           {"", "upgrades.yaml: the file is empty"},
		"kind":            {strings.Replace(header, "ComponentUpgrades", "Upgrades", 1), `upgrades.yaml:2: kind is "Upgrades"`},
		"component":       {strings.Replace(header, "thing", "other", 1) + transition("<1.0.0", "1.0.0", "manual", remainder), `upgrades.yaml:3: component is "other", and the registry names this file for thing`},
		"field":           {header + transition("<1.0.0", "1.0.0", "manual", remainder+"    verfiedBy: me\n"), "upgrades.yaml:10: "},
		"verdict":         {header + transition("<1.0.0", "1.0.0", "unknown", remainder), `upgrades.yaml:7: verdict is "unknown"; write safe, manual or blocked`},
		"no upper bound":  {header + transition(">=0.9.0", "1.0.0", "manual", remainder), `upgrades.yaml:5: from ">=0.9.0" has no upper bound`},
		"no ceiling":      {header + transition("<1.0.0", ">=1.0.0", "manual", remainder), `upgrades.yaml:6: to ">=1.0.0" needs a lower and an upper bound`},
		"backwards":       {header + transition("<2.0.0", ">=1.0.0 <1.1.0", "manual", remainder), "upgrades.yaml:6: to \">=1.0.0 <1.1.0\" begins before from"},
		"range":           {header + transition("~1", "1.0.0", "manual", remainder), "upgrades.yaml:5: from: "},
		"unverified":      {header + transition("<1.0.0", "1.0.0", "safe", ""), "upgrades.yaml:7: the verdict safe needs verifiedBy"},
		"safe with steps": {header + transition("<1.0.0", "1.0.0", "safe", "    verifiedBy: a run\n"+remainder), "upgrades.yaml:10: the verdict safe has no steps"},
		"no steps":        {header + transition("<1.0.0", "1.0.0", "blocked", ""), "none for argocd, argocd-helm, flux, helm, helmfile"},
		"some steps":      {header + transition("<1.0.0", "1.0.0", "manual", "    stepsByDeployer: [{deployers: [helm, argocd], steps: [{id: a, description: b}]}]\n"), "none for argocd-helm, flux, helmfile"},
		"deployer":        {header + transition("<1.0.0", "1.0.0", "manual", "    stepsByDeployer: [{deployers: [helmm], steps: [{id: a, description: b}]}, {steps: [{id: a, description: b}]}]\n"), `"helmm" is no deployer; did you mean "helm"?`},
		"twice":           {header + transition("<1.0.0", "1.0.0", "manual", "    stepsByDeployer: [{deployers: [helm], steps: [{id: a, description: b}]}, {deployers: [helm], steps: [{id: a, description: b}]}, {steps: [{id: a, description: b}]}]\n"), "helm is in two groups"},
		"two remainders":  {header + transition("<1.0.0", "1.0.0", "manual", "    stepsByDeployer: [{steps: [{id: a, description: b}]}, {steps: [{id: a, description: b}]}]\n"), "a second group without deployers"},
		"no kinds":        {header + transition("<1.0.0", "1.0.0", "manual", remainder+"    affectedResources: [{group: example.com}]\n"), `upgrades.yaml:10: affectedResources of the group "example.com" names no kind`},
		"empty kind":      {header + transition("<1.0.0", "1.0.0", "manual", remainder+"    affectedResources: [{group: example.com, kinds: [Thing, '']}]\n"), "names no kind"},
		"step":            {header + transition("<1.0.0", "1.0.0", "manual", "    stepsByDeployer: [{steps: [{id: a, description: b}, {id: a, description: c}]}]\n"), "a step needs an id, which its group has once"},
	} {
		if _, err := ReadUpgrades("upgrades.yaml", "thing", []byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

// A blocked move is told a version to stop at that its record has: with exclusive bounds it is not the bound. Between
// two records that begin alike there is none.
func TestVerdict_StopAt(t *testing.T) {
	const safe = "    verifiedBy: a run\n"
	for name, c := range map[string]struct {
		transitions []string
		to          string
		stop, says  string
	}{
		"exclusive":         {[]string{transition("<=1.0.0", ">1.0.0 <1.0.5", "safe", safe), transition(">1.0.0 <1.0.5", ">=1.0.5 <2.0.0", "safe", safe)}, "1.1.0", "above 1.0.0", `upgrade to a version of ">1.0.0 <1.0.5" first`},
		"an origin":         {[]string{transition(">0.9.5 <1.0.0", ">=1.0.0 <2.0.0", "safe", safe)}, "1.1.0", "above 0.9.5", `upgrade to a version of ">0.9.5 <1.0.0" first`},
		"for two origins":   {[]string{transition("<0.9.5", ">=1.0.0 <2.0.0", "safe", safe), transition(">=0.9.5 <1.0.0", ">=1.0.0 <2.0.0", "safe", safe)}, "1.1.0", "", "both begin with 1.0.0, so that there is no version to stop at between them"},
		"one after another": {[]string{transition("<=1.0.0", ">1.0.0 <2.0.0", "safe", safe), transition("<1.0.0", ">=1.0.0 <=1.0.0", "safe", safe)}, "1.1.0", "1.0.0", `upgrade to a version of ">=1.0.0 <=1.0.0" first`},
	} {
		rows := CompareUpgrades([]UpgradeComponent{{Name: "thing", Version: "0.9.0"}}, []UpgradeComponent{{Name: "thing", Version: c.to}}, map[string]*UpgradeRecord{"thing": record(t, c.transitions...)})
		if row := rows[0]; row.Verdict != upgradeBlocked || row.StopAt != c.stop || !strings.Contains(row.Explanation, c.says) {
			t.Errorf("%s: got %s, stop at %q: %s", name, row.Verdict, row.StopAt, row.Explanation)
		}
	}
}

// The verdict of a move is a record's only if exactly one is crossed, and describes all of the move.
func TestVerdict(t *testing.T) {
	r := record(t,
		transition(">=2.0.0 <3.0.0", ">=3.0.0 <3.5.0", "blocked", remainder),
		transition("<1.0.0", ">=1.0.0 <=1.4.0", "manual", remainder),
		transition(">=1.2.0 <2.0.0", ">=2.0.0 <2.9.0", "safe", "    verifiedBy: a run\n"),
	)
	for _, c := range []struct {
		from, to string
		verdict  UpgradeVerdict
		reason   UpgradeReason
		stop     string
		breaking string
	}{
		{"v0.9.0", "1.4.0", UpgradeManual, upgradeRecorded, "", "major version"},
		{"1.3.0", "2.1.0", UpgradeSafe, upgradeRecorded, "", "major version"},
		{"2.1.0", "3.0.0", upgradeBlocked, upgradeRecorded, "", "major version"},
		{"0.9.0", "2.0.0", upgradeBlocked, multipleBoundaries, "1.0.0", "major version"},
		{"0.9.0", "3.0.0", upgradeBlocked, multipleBoundaries, "1.0.0", "major version"},
		{"1.1.0", "2.0.0", upgradeBlocked, undefinedOrigin, "1.2.0", "major version"},
		{"1.3.0", "2.9.0", upgradeBlocked, beyondCeiling, "below 2.9.0", "major version"},
		{"0.9.0", "1.5.0", upgradeBlocked, beyondCeiling, "1.4.0", "major version"},
		{"0.8.0", "0.9.0", upgradeUnknown, NoBoundary, "", "minor version below 1.0"},
		{"3.1.0", "3.2.0", upgradeUnknown, NoBoundary, "", ""},
		{"2.0.0", "1.9.0", upgradeUnknown, UpgradeDowngrade, "", "major version"},
		{"1.2", "2.0.0", UpgradeUnversioned, notComparable, "", ""},
		{"1.3.0", "latest", UpgradeUnversioned, notComparable, "", ""},
		{"1.0.0-rc.1", "1.0.0-rc.2", upgradeUnknown, NoBoundary, "", "prerelease"},
	} {
		rows := CompareUpgrades([]UpgradeComponent{{Name: "thing", Version: c.from}}, []UpgradeComponent{{Name: "thing", Version: c.to}}, map[string]*UpgradeRecord{"thing": r})
		if len(rows) != 1 {
			t.Errorf("%s to %s: got %d rows", c.from, c.to, len(rows))
			continue
		}
		row := rows[0]
		if (row.StoppedAt != "") != (c.verdict == upgradeBlocked) {
			t.Errorf("%s to %s: stopped at %q", c.from, c.to, row.StoppedAt)
		}
		if row.Verdict != c.verdict || row.Reason != c.reason || row.StopAt != c.stop || row.Breaking != c.breaking || (row.Record != nil) != (c.reason == upgradeRecorded) || row.Explanation == "" || row.Attention() != (c.verdict != UpgradeSafe) {
			t.Errorf("%s to %s: got %s %s, stop at %q, breaking %q, record %v: %s", c.from, c.to, row.Verdict, row.Reason, row.StopAt, row.Breaking, row.Record, row.Explanation)
		}
	}
	for versions, want := range map[string]string{
		"1.0.0 2.0.0": "1 major", "3.1.0 1.9.9": "2 majors", "1.0.0 1.1.9": "1 minor", "1.0.0 1.8.0": "8 minors", "1.0.0 1.0.1": "1 patch", "1.0.0 1.0.3": "3 patches", "1.0.0-rc.1 1.0.0": "",
	} {
		from, to, _ := strings.Cut(versions, " ")
		if rows := CompareUpgrades([]UpgradeComponent{{Name: "thing", Version: from}}, []UpgradeComponent{{Name: "thing", Version: to}}, nil); rows[0].Jump != want {
			t.Errorf("%s: got %q", versions, rows[0].Jump)
		}
	}
	rows := CompareUpgrades([]UpgradeComponent{{Name: "thing", Version: "1.0.0"}}, []UpgradeComponent{{Name: "thing", Version: "2.0.0"}}, nil)
	if rows[0].Verdict != upgradeUnknown || rows[0].Reason != NoRecord {
		t.Errorf("without a record: got %+v", rows[0])
	}
}

// What is the same has no row; what is only on one side needs no attention; a move of the component
// itself is not what a record is about.
func TestCompare(t *testing.T) {
	at := func(name, version, namespace string, files ...string) UpgradeComponent {
		return UpgradeComponent{Name: name, Version: version, Identity: map[string]string{"namespace": namespace}, Files: map[string][]string{"manifestFiles": files}}
	}
	r := record(t, transition("<2.0.0", ">=2.0.0 <3.0.0", "safe", "    verifiedBy: a run\n"))
	rows := CompareUpgrades(
		[]UpgradeComponent{at("same", "v1.2.0", "a", "x", "y"), at("thing", "1.0.0", "old"), at("moved", "1.0.0", "old"), at("files", "1.0.0", "a", "x"), at("silent", "1.0.0", ""), at("gone", "1.0.0", "a")},
		[]UpgradeComponent{at("same", "1.2.0", "a", "y", "x"), at("thing", "2.0.0", "new"), at("moved", "1.0.0", "new"), at("files", "1.0.0", "a"), at("silent", "1.0.0", "a"), at("come", "1.0.0", "a")},
		map[string]*UpgradeRecord{"thing": r})
	var got []string
	for _, row := range rows {
		got = append(got, fmt.Sprintf("%s %s %s %s %v %v", row.Component, row.Change, row.Verdict, row.Reason, row.Moves, row.Attention()))
	}
	want := []string{
		"come added   [] false", "files identity unknown identity-changed [{manifestFiles x }] true", "gone removed   [] false",
		"moved identity unknown identity-changed [{namespace old new}] true", "thing version unknown identity-changed [{namespace old new}] true",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A deployer gets the steps of its own group, or those for the rest.
func TestSteps(t *testing.T) {
	r := record(t, transition("<1.0.0", "1.0.0", "manual", "    reversible: false\n    stepsByDeployer:\n      - {deployers: [helm, helmfile], steps: [{id: a, description: A, reason: because}, {id: b, description: B}]}\n      - {steps: [{id: c, description: C}]}\n    hooks: [{file: h.yaml, phase: pre}]\n    affectedResources: [{group: g, kinds: [K]}]\n    references: [https://example.com]\n"))
	step := &r.Transitions[0]
	for deployer, want := range map[string]string{"helm": "[{a A because} {b B }]", "flux": "[{c C }]"} {
		if got := fmt.Sprint(step.Steps(deployer)); got != want {
			t.Errorf("%s: got %s, want %s", deployer, got, want)
		}
	}
	if step.Reversible != "false" || len(step.Affected) != 1 || step.References[0] != "https://example.com" || step.Origin.Line != 5 {
		t.Errorf("got %+v", step)
	}
}

// Every crossed record counts, also where the verdict is none of its own; one that is not crossed does not.
func TestAffectedKinds(t *testing.T) {
	affects := func(text string) string { return remainder + "    affectedResources: " + text + "\n" }
	r := record(t,
		transition("<1.0.0", ">=1.0.0 <1.9.0", "manual", affects("[{group: b.example.com, kinds: [Thing, Other]}]")),
		transition(">=1.0.0 <2.0.0", ">=2.0.0 <2.9.0", "blocked", affects("[{group: b.example.com, kinds: [Thing]}, {kinds: [ConfigMap]}]")),
		transition(">=2.0.0 <3.0.0", ">=3.0.0 <3.9.0", "manual", affects("[{group: c.example.com, kinds: [Later]}]")),
	)
	records := map[string]*UpgradeRecord{"thing": r, "same": r}
	for name, c := range map[string]struct{ from, to, want string }{
		"two boundaries":   {"0.9.0", "2.1.0", "[{ ConfigMap [same thing]} {b.example.com Other [same thing]} {b.example.com Thing [same thing]}]"},
		"one":              {"1.1.0", "2.1.0", "[{ ConfigMap [same thing]} {b.example.com Thing [same thing]}]"},
		"beyond the range": {"2.1.0", "4.0.0", "[{c.example.com Later [same thing]}]"},
		"back":             {"2.1.0", "0.9.0", "[]"},
		"none":             {"1.1.0", "1.2.0", "[]"},
		"no version":       {"main", "2.1.0", "[]"},
	} {
		side := func(version string) []UpgradeComponent {
			return []UpgradeComponent{{Name: "thing", Version: version}, {Name: "same", Version: version}}
		}
		if got := fmt.Sprint(AffectedKinds(CompareUpgrades(side(c.from), side(c.to), records))); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}
