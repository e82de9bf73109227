package oracle

// hardValues are texts and numbers by the name of the field, that a program expands, cuts, compares or refuses.
func hardValues() map[string][]any {
	texts := func(all ...string) (list []any) {
		for _, s := range all {
			list = append(list, s)
		}
		return list
	}
	paths := texts("a", "a/b", "/a", "../a", "a/../b", "..a", "a..b", "", ".", "a/", "$(P)", "cert.pem")
	return map[string][]any{
		"subPathExpr":              texts("$(P)", "$(NOPE)", "$(EMPTY)", "a/$(P)", "$$(P)", "$(P", "$()", "/$(P)", "$(P)/..", "$(ABS)", "$(UP)", "$(NAME)", "$(a-b)", "$($(P))", "..$(P)", "$(FROM_KEY)", "$(pre_key)"),
		"subPath":                  paths,
		"path":                     paths,
		"mountPath":                texts("/a", "/a/b", "a", "/", "/proc", "/proc/x", "/a:b", "/dev/shm"),
		"image":                    texts("example.com/a:1", "a", "a:", "A/b", "a b", "example.com/a@sha256:1", "example.com/a@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", "a/b/c:v1.0", " a", "a ", "https://example.com/a", "example.com:5000/a", "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", "a:"+"x", "-a", "a--b", "a__b", "a___b", "[::1]:5000/a", "example.com/a:1@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"),
		"reference":                texts("example.com/a:1", "a:", "A", ""),
		"runAsUser":                {int64(0), int64(1), int64(65532), int64(-1)},
		"runAsNonRoot":             {true, false},
		"fieldPath":                texts("metadata.name", "metadata.labels['a']", "metadata.labels['app']", "metadata.annotations['a']", "spec.nodeName", "status.podIP", "status.hostIP", "metadata.uid", "metadata.labels", "spec.host", "status.phase"),
		"resource":                 texts("limits.cpu", "requests.memory", "limits.ephemeral-storage", "requests.hugepages-2Mi", "limits.nvidia.com/gpu", "cpu"),
		"containerName":            texts("main", "init", "nope", ""),
		"divisor":                  texts("1", "1m", "0", "1Mi", "3"),
		"medium":                   texts("", "Memory", "HugePages", "HugePages-2Mi", "HugePages-1Gi", "HugePages-1024Mi", "Disk"),
		"sizeLimit":                texts("1Gi", "0", "1"),
		"os":                       {map[string]any{"name": "linux"}, map[string]any{"name": "windows"}},
		"sysctls":                  {[]any{map[string]any{"name": "kernel.shm_rmid_forced", "value": "1"}}, []any{map[string]any{"name": "net.core.somaxconn", "value": "1"}}, []any{map[string]any{"name": "net/ipv4/tcp_syncookies", "value": "1"}}, []any{map[string]any{"name": "net.ipv4.tcp_rmem", "value": "1 2 3"}}, []any{map[string]any{"name": "net.ipv4.tcp_keepalive_time", "value": "1"}}, []any{map[string]any{"name": "net.ipv4.tcp_notsent_lowat", "value": "1"}}, []any{map[string]any{"name": "kernel.msgmax", "value": "1"}}},
		"hostNetwork":              {true, false},
		"hostPID":                  {true, false},
		"hostIPC":                  {true},
		"hostUsers":                {true, false},
		"setHostnameAsFQDN":        {true},
		"hostname":                 texts("a", "a.b", "x123456789012345678901234567890123456789012345678901234567890"),
		"subdomain":                texts("a", "x123456789012345678901234567890123456789012345678901234567890"),
		"enableServiceLinks":       {false, true},
		"optional":                 {true, false},
		"restartPolicy":            texts("Always", "Never", "OnFailure"),
		"key":                      texts("key", "nope", "a.b", "P"),
		"prefix":                   texts("pre_", "1", "a-", ""),
		"supplementalGroupsPolicy": texts("Strict", "Merge"),
		"imagePullPolicy":          texts("Always", "Never", "IfNotPresent"),
		"recursiveReadOnly":        texts("Enabled", "IfPossible", "Disabled"),
		"defaultMode":              {int64(0), int64(256), int64(511), int64(512), int64(-1)},
		"procMount":                texts("Default", "Unmasked"),
		"seccompProfile":           {map[string]any{"type": "RuntimeDefault"}, map[string]any{"type": "Unconfined"}, map[string]any{"type": "Localhost", "localhostProfile": "a.json"}},
		"port":                     {int64(80), "http", "nope", "80"},
		// Of nodes and volumes.
		"operator":           texts("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Equal"),
		"effect":             texts("NoSchedule", "NoExecute", "PreferNoSchedule", ""),
		"topologyKey":        texts("topology.kubernetes.io/zone", "kubernetes.io/hostname", "nope"),
		"whenUnsatisfiable":  texts("DoNotSchedule", "ScheduleAnyway"),
		"maxSkew":            {int64(1), int64(2), int64(5)},
		"minDomains":         {int64(1), int64(3), int64(5)},
		"nodeTaintsPolicy":   texts("Honor", "Ignore"),
		"nodeAffinityPolicy": texts("Honor", "Ignore"),
		"hostPort":           {int64(80), int64(8080), int64(0)},
		"hostIP":             texts("0.0.0.0", "127.0.0.1", "", "10.0.0.1", "::"),
		"protocol":           texts("TCP", "UDP", "SCTP"),
		"unschedulable":      {true, false},
		"nodeName":           texts("s0", "nope", ""),
		"cpu":                texts("1", "15", "16", "17", "0", "100m"),
		"memory":             texts("1Gi", "63Gi", "64Gi", "65Gi"),
		"accessModes":        {[]any{"ReadWriteOnce"}, []any{"ReadWriteOncePod"}, []any{"ReadWriteMany"}},
		"volumeBindingMode":  texts("Immediate", "WaitForFirstConsumer"),
		"priority":           {int64(0), int64(1000)},
		"preemptionPolicy":   texts("Never", "PreemptLowerPriority"),
	}
}
