package app

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"fairlane/internal/testkit/zhtest"
)

// TestWrongUsageIsReportedInChinese runs wrong command lines: no English word may be in what is said, besides names.
func TestWrongUsageIsReportedInChinese(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	fabric := file("f.yaml", "version: 1\nnodes:\n  - {name: s1, kind: switch, ports: 4}\n  - {name: h1, kind: host}\nlinks:\n  - {a: \"s1:1\", b: \"h1:1\", width: 4x, speed: EDR}\n")
	faulty := file("faulty.yaml", "version: 1\nnodes:\n  - {name: s1, kind: swich}\n")
	topo := file("faulty.topo", "Switch 8 \"S1\"\n[1] \"H9\"[1]\n")
	scenario := file("scenario.yaml", "name: x\nplane: ethernet\nduration: 1h\n")
	for line, names := range map[string]string{
		"calibrate --jobs 0":                                     "jobs",
		"calibrate --profile connectx-0":                         "connectx",
		"calibrate --out x.txt":                                  "compile",
		"evaluate --jobs 0":                                      "",
		"reproduce nope":                                         "",
		"sim run nonesuch":                                       "allreduce dualdc flows10k twoflow",
		"sim run " + scenario:                                    "duration",
		"sim run incast20 --duration much":                       "",
		"sim run incast20 --threads 9":                           "",
		"sim run incast20 --series queues --out x":               "",
		"sim serve ib16 --dir x":                                 "",
		"sim serve incast20 --tenants t.yaml":                    "",
		"sim sweep incast20 --seeds a":                           "",
		"sim sweep incast20 --set model.mtu=1,1":                 "",
		"sim bench --threads 0":                                  "",
		"demo --plane all":                                       "all",
		"demo --tenants t.yaml":                                  "",
		"fabric check --from umad:x":                             "such",
		"fabric check --from ethernet:x":                         "",
		"fabric watch --from file:x":                             "",
		"fabric watch --from ibsim:unix:x --every 1ms":           "",
		"fabric watch --from ibsim:unix:x --count -1":            "",
		"fabric watch --from ibsim:unix:x --traps":               "trap",
		"fabric show --from file:" + fabric + " --between a":     "",
		"fabric show --from file:" + fabric + " --between a,b":   "",
		"fabric show --from file:" + fabric + " --dot x --svg x": "",
		"fabric show --from file:" + fabric + " --output yaml":   "yaml table json",
		"fabric show --from file:" + fabric + " --quick":         "",
		"fabric show lab --quick":                                "",
		"discover --from file:" + faulty:                         "kind",
		"discover --from file:" + topo:                           "",
		"discover --from file:x --m-key-file " + faulty:          "",
		"device cc-key rotate --from ibsim:unix:x --key-file a --old-key-file b --yes --forever":       "",
		"device cc-key rotate --from ibsim:unix:x --key-file a --old-key-file b --yes --failures -1":   "",
		"device cc-key rotate --from ibsim:unix:x --key-file a --old-key-file b --yes --parallel 9999": "",
		"ib-profile show ibta-swich":             "fairlane list",
		"init " + dir:                            "",
		"opensm diff --sm x --from ibsim:unix:x": "",
		"opensm apply --sm x --from ibsim:unix:x --plan p --tenants t": "",
		"import --from x":                          "",
		"import --from a=b:c":                      "mlxconfig dcb ethtool sonic",
		"import --from a=dcb:c":                    "dcb",
		"import --from a=mlxconfig:" + faulty:      "mstconfig",
		"doctor --url ://x":                        "",
		"audit verify --from " + topo:              "invalid character looking for beginning of value",
		"compile --fabric " + dir + " --tenants t": "",
	} {
		var out, said bytes.Buffer
		code := Main(t.Context(), append(strings.Fields(line), "--lang", "zh"), &out, &said)
		if code != 2 {
			t.Errorf("%s: exit code %d: %s%s", line, code, &out, &said)
		}
		text := regexp.MustCompile(`--[a-z][a-z-]*`).ReplaceAllString(said.String(), "")
		zhtest.Text(t, line, text, strings.Fields(names+" fairlane InfiniBand fabric json rate target alpha rtt window queue pfc")...)
	}
}
