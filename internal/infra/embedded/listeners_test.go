package embedded

import (
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// listeners are the TCP addresses on which a process listens, from Linux's /proc.
func listeners(t testing.TB, pid int) []netip.AddrPort {
	t.Helper()
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	own := map[string]bool{}
	for _, e := range entries {
		// A descriptor may be closed between the two calls.
		if target, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", pid, e.Name())); err == nil {
			own[target] = true
		}
	}
	var all []netip.AddrPort
	for _, table := range []string{"tcp", "tcp6"} {
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, table))
		if err != nil {
			continue // a system without IPv6
		}
		for _, line := range strings.Split(string(raw), "\n")[1:] {
			// sl local_address rem_address st tx:rx tr:when retrnsmt uid timeout inode
			f := strings.Fields(line)
			if len(f) < 10 || f[3] != "0A" || !own["socket:["+f[9]+"]"] {
				continue
			}
			addr, err := procAddress(f[1])
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			all = append(all, addr)
		}
	}
	return all
}

// procAddress reads an address as /proc/net/tcp has it: hexadecimal, in 32-bit words of the host's
// byte order (little-endian here).
func procAddress(text string) (netip.AddrPort, error) {
	host, port, _ := strings.Cut(text, ":")
	raw, err := hex.DecodeString(host)
	if err != nil {
		return netip.AddrPort{}, err
	}
	for word := range slices.Chunk(raw, 4) {
		slices.Reverse(word)
	}
	addr, ok := netip.AddrFromSlice(raw)
	if !ok {
		return netip.AddrPort{}, fmt.Errorf("%q is no address", host)
	}
	n, err := strconv.ParseUint(port, 16, 16)
	return netip.AddrPortFrom(addr.Unmap(), uint16(n)), err
}

func TestProcAddress(t *testing.T) {
	for text, want := range map[string]string{
		"0100007F:1F90": "127.0.0.1:8080", "00000000:0016": "0.0.0.0:22", "00000000000000000000000001000000:0050": "[::1]:80",
		"0000000000000000FFFF00000100007F:0050": "127.0.0.1:80",
	} {
		if got, err := procAddress(text); err != nil || got.String() != want {
			t.Errorf("%s: got %s, %v; want %s", text, got, err, want)
		}
	}
}
