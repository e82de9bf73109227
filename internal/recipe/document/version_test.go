package document

import "testing"

// Only what is newer than every version that is known is read by the newest rules. A version that no
// release had, or that is misspelt, is none.
func TestReadableVersion(t *testing.T) {
	for _, tc := range []struct {
		kind, version string
		ok, note      bool
	}{
		{OverlayKind, "aicr.run/v1alpha2", true, false},
		{OverlayKind, "aicr.run/v1beta2", true, false},
		{OverlayKind, "aicr.run/v1beta3", true, true},
		{OverlayKind, "aicr.run/v1", true, true},
		{OverlayKind, "aicr.run/v2alpha1", true, true},
		{ResultKind, "aicr.run/v2alpha1", true, true},
		{RegistryKind, "aicr.run/v9", true, true},
		{ResultKind, "aicr.run/v1beta1", false, false},
		{OverlayKind, "aicr.run/v1alpha1", false, false},
		{OverlayKind, "aicr.run/v1alpha4", false, false},
		{OverlayKind, "aicr.run/v1apha2", false, false},
		{OverlayKind, "aicr.run/V1", false, false},
		{OverlayKind, "aicr.run/v0", false, false},
		{OverlayKind, "aicr.run/", false, false},
		{OverlayKind, "aicr.run/v1/x", false, false},
		{OverlayKind, "aicr.nvidia.com/v2", false, false},
	} {
		if note, ok := ReadableVersion(tc.kind, tc.version); ok != tc.ok || (note != "") != tc.note {
			t.Errorf("%s of %s: got %v, %q", tc.version, tc.kind, ok, note)
		}
	}
}
